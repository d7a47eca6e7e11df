#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`convert --to=perfetto|otlp|otlp-json|pprof`: Google's library reads it, and it agrees with
`thrum tasks`."""

import glob
import gzip
import importlib
import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from asks import THRUM, check, failures, thrum  # noqa: E402

# Without any package of google's the look for this one fails.
HAS_PROTOBUF = importlib.util.find_spec("google") and importlib.util.find_spec("google.protobuf")
if not HAS_PROTOBUF or not shutil.which("protoc"):
    print("skipped: this needs protoc and python3-protobuf")
    sys.exit(77)

REMOTE = 0x200  # a flag of a span: its parent is in another program
PRODUCER = 4    # a kind of spans
BUILD = os.environ["BUILD"]
SOURCE = os.environ["SOURCE"]


def schemas(folder):
    """Compiles the schemas, and returns their modules."""
    source = os.path.join(SOURCE, "tests/thrum/formats")
    names = ["perfetto", "otlp", "pprof"]
    subprocess.run(["protoc", f"--proto_path={source}", f"--python_out={folder}",
                    *(f"{name}.proto" for name in names)], check=True)
    sys.path.insert(0, folder)
    return [importlib.import_module(f"{name}_pb2") for name in names]


def rows(trace, *command):
    lines = thrum(*command, "--format=tsv", trace).split(b"\n")[:-1]
    names = lines[0].decode().split("\t") if lines else []
    return [dict(zip(names, line.split(b"\t"))) for line in lines[1:]]


def tasks_of(trace):
    return {row["task"].decode(): row for row in rows(trace, "tasks") if row["kind"] != b"thread"}


def known(message, name):
    """No field is unknown to the schema: without such fields the message would shrink."""
    before = message.ByteSize()
    message.DiscardUnknownFields()
    check(message.ByteSize() == before, f"{name}: {before} {message.ByteSize()}")


def details(event):
    return {a.name: a.string_value if a.HasField("string_value") else
            a.int_value if a.HasField("int_value") else a.uint_value
            for a in event.debug_annotations}


def slices(events, name):
    """Returns the slices of a track (first event, length, depth)."""
    stack, done, last = [], [], 0
    for time, event in events:
        if event.type == event.SLICE_BEGIN:
            check(time >= last, f"{name}: {event} is before {last}")
            stack.append((event, time))
        elif event.type == event.SLICE_END:
            check(stack != [], f"{name}: {event} ends nothing")
            first, start = stack.pop()
            done.append((first, time - start, len(stack)))
        else:
            continue
        last = time
    check(stack == [], f"{name}: {stack} never end")
    return done


def perfetto(form, trace):
    data = thrum("convert", "--to=perfetto", trace, "-")
    whole = form.Trace.FromString(data)
    known(whole, trace)
    check(all(p.trusted_packet_sequence_id == 1 for p in whole.packet), "a packet of no sequence")
    check(whole.packet[0].sequence_flags == 1, "the first packet doesn't clear the state")
    tracks, events, flows = {}, defaultdict(list), {"flow_ids": [], "terminating_flow_ids": []}
    for packet in whole.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            check(track.uuid not in tracks, f"{trace}: {track} twice")
            check(not track.HasField("parent_uuid") or track.parent_uuid in tracks,
                  f"{trace}: {track} lacks its parent")
            tracks[track.uuid] = track
        elif packet.HasField("track_event"):
            event = packet.track_event
            events[event.track_uuid].append((packet.timestamp, event))
            for name, ids in flows.items():
                ids += [(one, packet.timestamp) for one in getattr(event, name)]
    check(set(events) <= set(tracks), f"{trace}: events on no track")
    pids = {t.process.pid for t in tracks.values() if t.HasField("process")}
    threads = [t.thread for t in tracks.values() if t.HasField("thread")]
    check(pids >= {t.pid for t in threads}, f"{trace}: threads of no process")
    check(len({t.tid for t in threads} - pids) == len(threads), f"{trace}: threads with one number")
    starts, ends = (dict(ids) for ids in flows.values())
    check(len(starts) == len(flows["flow_ids"]) and starts.keys() == ends.keys() and
          all(time <= ends[one] for one, time in starts.items()), f"{trace}: flows")
    wanted, found, counters = tasks_of(trace), Counter(), defaultdict(list)
    for uuid, on_track in events.items():
        track = tracks[uuid]
        for first, length, depth in slices(on_track, f"{trace}: {track}"):
            if list(first.categories) != ["task"]:
                check(track.HasField("thread"), f"{trace}: {first} on {track}")
                continue
            check(depth == 0, f"{trace}: {first} lies in another task")
            found[str(details(first)["task"])] += 1
        if track.HasField("counter"):
            counters[track.name] += [event.counter_value for _, event in on_track]
    check(found == Counter(wanted.keys()), f"{trace}: other tasks")
    return {"tracks": tracks, "flows": starts, "counters": counters, "tasks": found}


def spans_of(whole):
    return [span for resource in whole.resource_spans for scope in resource.scope_spans
            for span in scope.spans]


def attributes(of):
    return {a.key: a.value.string_value if a.value.HasField("string_value") else
            a.value.int_value for a in of.attributes}


def otlp(form, trace, is_one=True):
    """is_one: each trace has one first span here."""
    data = thrum("convert", "--to=otlp", trace, "-")
    whole = form.TracesData.FromString(data)
    known(whole, trace)
    text = json.loads(thrum("convert", "--to=otlp-json", trace, "-"))
    spans = spans_of(whole)
    listed = [span for resource in text["resourceSpans"] for scope in resource["scopeSpans"]
              for span in scope["spans"]]
    check([(s.trace_id.hex(), s.span_id.hex(), s.name, str(s.start_time_unix_nano))
           for s in spans] ==
          [(s["traceId"], s["spanId"], s["name"], s["startTimeUnixNano"]) for s in listed],
          f"{trace}: the JSON has other spans")
    by_id = {span.span_id: span for span in spans}
    check(len(by_id) == len(spans), f"{trace}: two spans have one number")
    for span in spans:
        check(len(span.trace_id) == 16 and len(span.span_id) == 8, f"{trace}: {span}")
        check(span.name and span.start_time_unix_nano <= span.end_time_unix_nano,
              f"{trace}: {span}")
        parent = by_id.get(span.parent_span_id)
        check(span.flags & ~REMOTE == 0x101, f"{trace}: flags {span.flags:x}")
        check(not span.parent_span_id or (parent.trace_id == span.trace_id if parent else
                                          span.flags & REMOTE), f"{trace}: {span}")
        for link in span.links:
            check(by_id[link.span_id].trace_id == link.trace_id, f"{trace}: {link}")
    roots = Counter(span.trace_id for span in spans if span.parent_span_id not in by_id)
    check(set(roots) == {span.trace_id for span in spans} and (not is_one or set(roots.values()) <= {1}),
          f"{trace}: a trace has other than one root")
    wanted = tasks_of(trace)
    messages = [span for span in spans if "thrum.task" not in attributes(span)]
    check(all((span.kind, span.name) == (PRODUCER, "send") for span in messages), f"{trace}: {messages}")
    spans = [span for span in spans if "thrum.task" in attributes(span)]
    for span in spans:
        name = str(attributes(span)["thrum.task"])
        check(name in wanted, f"{trace}: {name} is no task")
    shared = {b"condition", b"lock", b"semaphore", b"mailbox", b"stream", b"switch"}
    check(len(spans) == sum(task["kind"] not in shared for task in wanted.values()),
          f"{trace}: {len(spans)} spans of {len(wanted)} tasks")
    return {span.name: span for span in spans}, by_id


def pprof(form, trace):
    done = subprocess.run([THRUM, "convert", "--to=pprof", trace, "-"], capture_output=True,
                          check=False)
    if b"without zlib" in done.stderr:
        return {}
    check(done.returncode == 0, f"{trace}: {done.stderr!r}")
    profile = form.Profile.FromString(gzip.decompress(done.stdout))
    known(profile, trace)
    strings = profile.string_table
    check(strings[0] == "" and len(set(strings)) == len(strings), f"{trace}: strings")
    check([strings[t.type] for t in profile.sample_type] == ["runs", "running", "waiting"] and
          strings[profile.default_sample_type] == "running", f"{trace}: {profile.sample_type}")
    functions = {f.id: strings[f.name] for f in profile.function}
    check(0 not in functions and len(functions) == len(profile.function), f"{trace}: functions")
    locations = {place.id: functions[place.line[0].function_id] for place in profile.location}
    check(0 not in locations and len(locations) == len(profile.location), f"{trace}: locations")
    stacks = Counter()
    for sample in profile.sample:
        check(len(sample.value) == 3, f"{trace}: {sample}")
        stacks[";".join(locations[i] for i in reversed(sample.location_id))] += sample.value[1]
    runs = [int(run["length"]) for run in rows(trace, "stats", "--by=run", "--top=1000000")]
    check(sum(sample.value[0] for sample in profile.sample) >= len(runs), f"{trace}: runs")
    check(sum(stacks.values()) >= sum(runs), f"{trace}: {sum(stacks.values())}, {sum(runs)}")
    waited = sum(int(task["end"]) - int(task["start"]) for task in tasks_of(trace).values()
                 if task["end"].isdigit()) - sum(runs)
    check(sum(sample.value[2] for sample in profile.sample) >= waited, f"{trace}: {waited}")
    return stacks


def go_pprof(trace, folder):
    """Go's own tool reads it."""
    path = os.path.join(folder, "profile.pb.gz")
    if not pprof_is_there(trace, path):
        return
    if not shutil.which("go"):
        print("skipped: go is missing, its pprof isn't asked")
        return
    done = subprocess.run(["go", "tool", "pprof", "-sample_index=waiting", "-top", path],
                          capture_output=True, check=False,
                          env={**os.environ, "HOME": folder, "PPROF_TMPDIR": folder})
    check(done.returncode == 0 and b"GET /user/#" in done.stdout and b"File: server" in done.stdout, f"pprof: {done}")


def pprof_is_there(trace, path):
    return subprocess.run([THRUM, "convert", "--to=pprof", trace, path], capture_output=True,
                          check=False).returncode == 0


def server(forms, folder):
    path = os.path.join(folder, "server.thrum")
    subprocess.run([os.path.join(BUILD, "examples/server"), "--requests", "20"],
                   env={**os.environ, "THRUM_TRACE": path}, stdout=subprocess.DEVNULL, check=True)
    found = perfetto(forms[0], path)
    for part, rows in found.items():
        check(rows, f"server: no {part}")
    spans, by_id = otlp(forms[1], path)
    lookup = next(span for name, span in spans.items() if name.startswith("lookup "))
    request = by_id[lookup.parent_span_id]
    check(request.name.startswith("GET /") and not request.parent_span_id, f"server: {request}")
    check({attributes(link)["thrum.link"] for link in request.links} ==
          {"is made by", "is sent by"}, f"server: {request.links}")
    stacks = pprof(forms[2], path)
    check(not stacks or any("GET /user/#;lookup user #" in stack for stack in stacks),
          f"server: {stacks}")
    go_pprof(path, folder)
    check(any(event.name == "http/status" for event in request.events), f"server: {request}")


def several(forms, folder):
    subprocess.run([os.path.join(BUILD, "examples/shop"), "hang"], cwd=folder, check=False,
                   capture_output=True)
    parts = [os.path.join(folder, f"{name}.thrum") for name in ("web", "stock", "database")]
    path = os.path.join(folder, "shop.thrums")
    thrum("bundle", "-o", path, *parts)
    found = perfetto(forms[0], path)
    names = {t.process.process_name for t in found["tracks"].values() if t.HasField("process")}
    check(names == {"web", "stock", "database"}, f"shop: {names}")
    check({t.thread.thread_name for t in found["tracks"].values() if t.HasField("thread")} == {"shop"}, "shop: threads")
    pprof(forms[2], path)
    spans, by_id = otlp(forms[1], path)
    way, span = [], spans["select item 5"]
    while span:
        way.append(span.name)
        span = by_id.get(span.parent_span_id)
    check(way == ["select item 5", "count item 5", "GET /item/5"], f"shop: {way}")
    # Each service's own spans have the same numbers, if they are sent one by one.
    for part in parts:
        for name, span in otlp(forms[1], part, False)[0].items():
            if name in way:
                check(span.trace_id == spans[name].trace_id, f"shop: {name} in {part}")


def run_traced(path, name, *headers):
    """Records requests that came with these headers, and returns those that they sent: a list of three each."""
    sent = subprocess.run([os.path.join(BUILD, "tests/thrum/programs/traced"), path, name, *headers],
                          stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    return [sent[at:at + 3] for at in range(0, len(sent), 3)]


def joined(forms, folder):
    """Spans have the numbers that headers of other tracers give, also when they come back."""
    trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    front, back, both = (os.path.join(folder, name) for name in ("front.thrum", "back.thrum", "both.thrums"))
    (sent,) = run_traced(front, "front", f"00-{trace}-{caller}-01")
    run_traced(back, "back", *sent)
    thrum("bundle", "-o", both, front, back)
    text = os.path.join(folder, "both.json")
    with open(text, "wb") as file:
        for part in (front, back):
            file.write(thrum("convert", "--to=otlp-json", part, "-"))
    again = os.path.join(folder, "again.thrums")
    comes_back = "json-c" not in subprocess.run([THRUM, "import", text, "-o", again], stderr=subprocess.PIPE,
                                                check=False, text=True).stderr
    for path, is_one in ((front, True), (both, True), *(((again, False),) if comes_back else ())):
        spans, by_id = otlp(forms[1], path, is_one)
        check({span.trace_id.hex() for span in by_id.values()} == {trace}, f"{path}: other traces")
        check((spans["front 0"].parent_span_id.hex(), spans["front 0"].flags) == (caller, 0x301),
              f"{path}: {spans['front 0']}")
        way = [by_id[bytes.fromhex(header.split("-")[2])] for header in sent]
        check([span.name for span in way] == ["one", "send", "send"], f"{path}: {way}")
        check([by_id[span.parent_span_id].name for span in way] == ["front 0", "two", "two"], f"{path}: {way}")
        if path != front:
            check([spans[f"back {i}"].parent_span_id for i in range(3)] == [span.span_id for span in way],
                  f"{path}: {spans}")
    # A program that got no header has the trace of the header that it sent; with several there is no such trace.
    (sent,) = run_traced(front, "alone")
    spans, by_id = otlp(forms[1], front, False)
    traces = {header.split("-")[1]: by_id[bytes.fromhex(header.split("-")[2])] for header in sent}
    check(len(traces) == 3 and all(span.trace_id.hex() == name and not span.parent_span_id
                                   for name, span in traces.items()), f"alone: {traces}")
    check(spans["alone"].trace_id.hex() not in traces, f"alone: {spans['alone']}")


def hostile(forms, folder):
    """A trace of mirage-profile whose labels are no plain text, and whose ids are any numbers."""
    labels = [b'a"b\\c', b"\xff\xfe\xc3", b"\x01\x1b[31m", b"x" * 70000, "日本語".encode()]
    body = b""
    for i, label in enumerate(labels):
        body += struct.pack("<QBqqB", 1000 + i, 0, 0, -2 - i, 1)
        body += struct.pack("<QBq", 1000 + i, 5, -2 - i) + label + b"\0"
    size = 30 + len(body)
    path = os.path.join(folder, "hostile.ctf")
    with open(path, "wb") as file:
        file.write(struct.pack("<I16sIHI", 0xc1fc1fc1,
                               bytes.fromhex("05883b8d521a487bb397456ab150680c"), size * 8, 0,
                               size * 8) + body)
    perfetto(forms[0], path)
    pprof(forms[2], path)
    spans, _ = otlp(forms[1], path)
    want = {label.decode("utf-8", "replace") for label in labels}
    want = {name if "\ufffd" not in name else "\ufffd" * 3 for name in want}
    check(want <= set(spans), f"labels are lost: {[name[:40] for name in want - set(spans)]}")


with tempfile.TemporaryDirectory() as here:
    forms_here = schemas(here)
    server(forms_here, here)
    several(forms_here, here)
    joined(forms_here, here)
    hostile(forms_here, here)
    every = os.path.join(here, "every.thrum")
    subprocess.run([os.path.join(BUILD, "tests/thrum/programs/every"), every], check=True)
    for one in [every, *glob.glob(os.path.join(SOURCE, "tests/read/data/mirage/*.ctf"))]:
        if subprocess.run([THRUM, "tasks", one], capture_output=True, check=False).returncode == 0:
            perfetto(forms_here[0], one)
            otlp(forms_here[1], one)
            pprof(forms_here[2], one)
sys.exit(1 if failures else 0)
