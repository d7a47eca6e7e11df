#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`convert --to`: the JSON is valid, its parts fit together, and agrees with `thrum tasks`."""

import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from asks import THRUM, ask, check, failures  # noqa: E402

BUILD = os.environ["BUILD"]
SOURCE = os.environ["SOURCE"]


def convert(form, trace):
    return json.loads(ask("convert", f"--to={form}", trace, "-").stdout.decode("utf-8"))


def rows(trace, *command):
    lines = ask(*command, "--format=tsv", trace).stdout.split(b"\n")[:-1]
    names = lines[0].decode().split("\t") if lines else []
    return [dict(zip(names, line.split(b"\t"))) for line in lines[1:]]


def ns(event):
    return round(event["ts"] * 1000)


def nest(events, name, begins, at, frame):
    """Returns the slices (frame, length), of which each lies within the one around it."""
    stack, done, last = [], [], None
    for event in events:
        time = at(event)
        check(last is None or time >= last, f"{name}: {event} is before {last}")
        last = time
        if begins(event):
            stack.append((frame(event), time))
        else:
            check(stack != [], f"{name}: {event} ends nothing")
            opened, start = stack.pop()
            check(frame(event) in (None, opened), f"{name}: {event} ends {opened}")
            done.append((opened, time - start, len(stack)))
    check(stack == [], f"{name}: {stack} never end")
    return done


def chrome(trace):
    events = convert("chrome", trace)["traceEvents"]
    by_phase = defaultdict(list)
    for event in events:
        by_phase[event["ph"]].append(event)
    check(set(by_phase) <= set("MBEbesfC"), f"{trace}: {set(by_phase)}")
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in by_phase["M"] if e["name"] == "thread_name"}
    threads = defaultdict(list)
    for event in events:
        if event["ph"] in "BE":
            threads[event["pid"], event["tid"]].append(event)
    check(set(threads) <= set(lanes), f"{trace}: threads without a name")
    ran, spans = Counter(), Counter()
    for tid, own in threads.items():
        for (cat, task, name), length, depth in nest(
                own, f"{trace} thread {tid}", lambda e: e["ph"] == "B", ns,
                lambda e: (e["cat"], e.get("args", {}).get("task"), e["name"])
                if e["ph"] == "B" else None):
            if cat == "span":
                spans[name] += length
            if cat == "run":
                ran[task] += length
                check(depth == 0, f"{trace}: a run within another slice")
    tasks = [t for t in rows(trace, "tasks") if t["kind"] != b"thread"]
    want = Counter()
    for run in rows(trace, "stats", "--by=run", "--top=1000000"):
        want[run["task"].decode()] += int(run["length"])
    for task in tasks:
        name = task["task"].decode()
        check(ran[name] == want[name], f"{trace}: {name} ran {ran[name]}, not {want[name]}")
    wanted = Counter()
    for use in rows(trace, "stats", "--by=lane"):
        if use["use"] == b"span":
            wanted[use["reason"].decode("utf-8", "replace")] += int(use["total"])
    check(all(spans[name] == wanted[name] for name in wanted), f"{trace}: {spans}, not {wanted}")
    begins, ends = ({e["id"]: e for e in by_phase[phase]} for phase in "be")
    check(len(begins) == len(by_phase["b"]) and begins.keys() == ends.keys(),
          f"{trace}: tasks don't begin and end once")
    check({t["task"].decode() for t in tasks} == begins.keys(), f"{trace}: other tasks")
    for key, event in begins.items():
        check(event["ts"] <= ends[key]["ts"] and event["name"] == ends[key]["name"],
              f"{trace}: {event} {ends[key]}")
    starts, finishes = ({e["id"]: e for e in by_phase[phase]} for phase in "sf")
    check(len(starts) == len(by_phase["s"]) == len(by_phase["f"]) and
          starts.keys() == finishes.keys(), f"{trace}: an arrow lacks an end")
    check(all(e["ts"] <= finishes[key]["ts"] for key, e in starts.items()),
          f"{trace}: an arrow goes back")
    counters = defaultdict(list)
    for event in by_phase["C"]:
        counters[event["pid"], event["name"]].append(event["args"]["value"])
    check(lanes.keys() >= {(e["pid"], e["tid"]) for phase in "sf" for e in by_phase[phase]}, f"{trace}: arrows")
    processes = {e["pid"]: e["args"]["name"] for e in by_phase["M"] if e["name"] == "process_name"}
    check({pid for pid, _ in lanes} | {e["pid"] for e in events} == set(processes), f"{trace}: {processes}")
    return {"tasks": begins, "arrows": starts, "counters": counters, "slices": threads, "ends": finishes,
            "processes": processes, "lanes": lanes}


def speedscope(trace):
    whole = convert("speedscope", trace)
    frames = [frame["name"] for frame in whole["shared"]["frames"]]
    ran, below = Counter(), Counter()
    for profile in whole["profiles"]:
        check(profile["type"] == "evented" and profile["unit"] == "nanoseconds", f"{trace}: form")
        for frame, length, depth in nest(
                profile["events"], f"{trace} {profile['name']}", lambda e: e["type"] == "O",
                lambda e: e["at"], lambda e: frames[e["frame"]]):
            (below if depth else ran)[frame] += length
        check(all(0 <= e["at"] <= profile["endValue"] for e in profile["events"]),
              f"{trace}: an event out of the profile")
    return frames, ran, below


def write_mirage(folder, name, body):
    """Writes a trace of mirage-profile."""
    size = 30 + len(body)
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(struct.pack("<I16sIHI", 0xc1fc1fc1,
                               bytes.fromhex("05883b8d521a487bb397456ab150680c"), size * 8, 0,
                               size * 8) + body)
    return path


def long_made(folder):
    """A task's flow comes from where it was made, however often its maker ran until it began."""
    body = b"".join(struct.pack("<QBqqB", 1000, 0, 0, task, 1) for task in (1, 2))
    body += struct.pack("<QBq", 2000, 7, 1) + struct.pack("<QBqqB", 2500, 0, 1, 3, 1)
    body += b"".join(struct.pack("<QBq", 3000 + 10 * i, 7, 2 - i % 2) for i in range(500))
    body += struct.pack("<QBq", 9000, 7, 3) + struct.pack("<QBq", 9500, 7, 1)
    found = chrome(write_mirage(folder, "long.ctf", body))
    flows = [(event["ts"], found["ends"][key]["ts"]) for key, event in found["arrows"].items()
             if event["cat"] == "spawn"]
    check((1.5, 8.0) in flows, f"long: {flows}")


def hostile(folder):
    """A trace of mirage-profile whose labels are no plain text."""
    labels = [b'a"b\\c', b"\xff\xfe\xc3", b"\x01\x1b[31m\x07\x7f", b"a\tb\nc\r", b"x" * 70000,
              "日本語🐫".encode(), b"</script>", b"%s%n"]
    body = b""
    for i, label in enumerate(labels):
        body += struct.pack("<QBqqB", 1000 + i, 0, 0, i + 1, 1)
    for i, label in enumerate(labels):
        body += struct.pack("<QBq", 2000 + i, 5, i + 1) + label + b"\0"
    for i, label in enumerate(labels):
        body += struct.pack("<QBq", 3000 + 100 * i, 7, i + 1)
    body += struct.pack("<QBQ", 3950, 8, 720)  # a garbage collection across several runs
    path = write_mirage(folder, "hostile.ctf", body)
    names = {event["name"] for event in chrome(path)["tasks"].values()}
    want = {label.decode("utf-8", "replace") for label in labels}
    want = {name if "\ufffd" not in name else "\ufffd" * 3 for name in want}
    check(want <= names, f"labels are lost: {[name[:40] for name in want - names]}")
    check(want <= set(speedscope(path)[0]), "speedscope: labels are lost")


def server(folder):
    path = os.path.join(folder, "server.thrum")
    subprocess.run([os.path.join(BUILD, "examples/server"), "--requests", "20"],
                   env={**os.environ, "THRUM_TRACE": path}, stdout=subprocess.DEVNULL, check=True)
    found = chrome(path)
    for part in ("tasks", "arrows", "counters", "slices"):
        check(found[part], f"server: no {part}")
    kinds = {event["cat"] for event in found["arrows"].values()}
    check(kinds == {"spawn", "wait", "read", "message"}, f"server: arrows {kinds}")
    frames, ran, below = speedscope(path)
    check(len(frames) > 2 and sum(ran.values()) > 0, f"server: {frames}")
    # Requests lie below whoever made them, and nowhere else.
    requests = {frame for frame in frames if frame.startswith("GET /")}
    check(requests and requests <= set(below) and not requests & set(ran), f"server: {ran}")
    return path


def several(folder):
    """Each part of a bundle is a process, with its own lanes and counters, and messages lead from one to another."""
    subprocess.run([os.path.join(BUILD, "examples/shop"), "hang"], cwd=folder, check=False, capture_output=True)
    subprocess.run([os.path.join(BUILD, "tests/thrum/programs/counts")], check=True,
                   env={**os.environ, "THRUM_TRACE": os.path.join(folder, "counts.thrum")})
    names = ["web", "stock", "database", "counts"]
    path = os.path.join(folder, "shop.thrums")
    ask("bundle", "-o", path, *(os.path.join(folder, f"{name}.thrum") for name in names))
    found = chrome(path)
    pids = {name: pid for pid, name in found["processes"].items()}
    check(sorted(pids) == sorted(names), f"shop: {pids}")
    check(set(found["lanes"].values()) == {"shop", "counts"}, f"shop: {found['lanes']}")
    check((pids["counts"], "http/open") in found["counters"], f"shop: {found['counters'].keys()}")
    ways = {(found["processes"][event["pid"]], found["processes"][found["ends"][key]["pid"]])
            for key, event in found["arrows"].items() if event["cat"] == "message"}
    check(ways == {("web", "stock"), ("stock", "database")}, f"shop: messages {ways}")
    frames, ran, _ = speedscope(path)
    check({"GET /item/5", "count item 5", "select item 5"} <= set(frames) and sum(ran.values()) > 0, f"shop: {frames}")


def every(folder):
    path = os.path.join(folder, "every.thrum")
    subprocess.run([os.path.join(BUILD, "tests/thrum/programs/every"), path], check=True)
    chrome(path)
    speedscope(path)


def endless(folder):
    """Spans that never end: only so many are shown, as each run interrupts them all."""
    path = os.path.join(folder, "endless.thrum")
    subprocess.run([os.path.join(BUILD, "tests/thrum/programs/endless"), path], check=True)
    for form in ("chrome", "speedscope", "perfetto"):
        said = ask("convert", f"--to={form}", path, os.path.join(folder, "endless")).stderr
        check(re.search(rb": 13[67] spans are left out", said), f"{form}: {said}")
    begun = sum(e["ph"] == "B" for e in convert("chrome", path)["traceEvents"])
    check(200 < begun < 200 * 2 * 65, f"{begun} slices begin")


def empty(folder):
    path = os.path.join(folder, "empty.ctf")
    with open(path, "wb") as file:
        body = struct.pack("<QBQ", 1000, 8, 10)
        size = (30 + len(body)) * 8
        file.write(struct.pack("<I16sIHI", 0xc1fc1fc1,
                               bytes.fromhex("05883b8d521a487bb397456ab150680c"), size, 0, size) +
                   body)
    chrome(path)
    speedscope(path)


def arguments(folder, trace):
    there = os.path.join(folder, "there.json")
    ask("convert", "--to=chrome", trace, there)
    ask("convert", "--to=speedscope", trace, there)
    with open(there, encoding="utf-8") as file:
        check("profiles" in json.load(file), "a file isn't replaced")
    check(b"in the way" in ask("convert", "--to=chrome", trace, trace, status=2).stderr,
          "a trace is replaced")
    check(b"No such file" in ask("convert", "--to=chrome", trace,
                                   os.path.join(folder, "none/x.json"), status=2).stderr,
          "a folder that isn't there")
    check(b"perfect" in ask("convert", "--to=perfect", trace, "-", status=64).stderr, "--to")
    check(b"--symbols" in ask("convert", "--to=chrome", "--symbols", trace, "-",
                                status=64).stderr, "--to and --symbols")
    with open(trace, "rb") as file:
        piped = ask("convert", "--to=speedscope", "-", "-", stdin=file)
    check(json.loads(piped.stdout)["shared"] == convert("speedscope", trace)["shared"], "pipe")


with tempfile.TemporaryDirectory() as here:
    arguments(here, server(here))
    several(here)
    every(here)
    long_made(here)
    hostile(here)
    endless(here)
    empty(here)
    for one in glob.glob(os.path.join(SOURCE, "tests/read/data/mirage/*.ctf")):
        if subprocess.run([THRUM, "tasks", one], capture_output=True, check=False).returncode == 0:
            chrome(one)
            speedscope(one)
sys.exit(1 if failures else 0)
