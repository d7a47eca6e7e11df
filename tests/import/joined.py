#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A recording and traces of other tools are one trace: with spans of OpenTelemetry that a header links to it, with
bundles of several services, with Chrome's events, and with the kernel's scheduler."""

import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/import/driver"))
from recorded import record  # noqa: E402

THRUM = os.environ["THRUM"]
TRACED = os.path.join(os.environ["BUILD"], "tests/thrum/programs/traced")
KERNEL = os.path.join(os.environ["BUILD"], "tests/thrum/programs/kernel")
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SERVER, CLIENT = 2, 3  # kinds of spans
failed = []


def run(*arguments, status=0):
    done = subprocess.run([THRUM, *arguments], capture_output=True, text=True, check=False, errors="replace")
    expect(done.returncode == status, f"{arguments}: {done.returncode} {done.stderr}")
    return done


def expect(condition, message):
    if not condition:
        failed.append(message)


def spans(service, *of_it):
    """A service's spans, as its exporter sends them: (number, parent, kind, name, start, end)."""
    return {"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
            "scopeSpans": [{"spans": [
                {"traceId": TRACE, "spanId": number, "parentSpanId": parent, "name": name, "kind": kind,
                 "startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}
                for number, parent, kind, name, start, end in of_it]}]}


def write_import(name, content, *options):
    with open("input", "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    done = subprocess.run([THRUM, "import", "input", "-o", name, *options], capture_output=True, text=True, check=False)
    if "built without json-c" in done.stderr:
        print("skipped: json-c is missing")
        sys.exit(77)
    expect(done.returncode == 0, f"{name}: {done.stderr}")


def try_commands(*traces, native, imported, hangs=0):
    """Each command shows the tasks of both."""
    listed = run("tasks", "--format=tsv", "--together", *traces).stdout
    expect(native in listed and imported in listed, f"tasks of {traces}:\n{listed}")
    run("why", "--together", *traces, status=hangs)
    run("render", "--together", *traces, "-o", "picture.svg", "--width=3000")
    with open("picture.svg", encoding="utf-8") as file:
        expect("<svg" in file.read(200), f"render of {traces}")
    done = subprocess.run([THRUM, "html", "--together", *traces, "-o", "page.html"], capture_output=True, text=True,
                          check=False)
    if "without its page" not in done.stderr and "without zlib" not in done.stderr:
        expect(done.returncode == 0 and os.path.getsize("page.html") > 10000, f"html of {traces}: {done.stderr}")
    run("bundle", *traces, "-o", "all.thrums")
    expect(run("tasks", "--format=tsv", "all.thrums").stdout == listed, f"a bundle of {traces} differs")


def try_spans():
    before = time.time_ns()
    sent = subprocess.run([TRACED, "front.thrum", "front", f"00-{TRACE}-{CALLER}-01"], stdout=subprocess.PIPE,
                          check=True, text=True).stdout.split()
    asked = sent[0].split("-")[2]
    after = time.time_ns()
    # One service; it works for the recorded program, and hangs.
    store = spans("store", ("a1a1a1a1a1a1a1a1", asked, SERVER, "find item", after, 0),
                  ("a2a2a2a2a2a2a2a2", "", SERVER, "other", after, after + 3 * 10**9))
    write_import("store.thrum", {"resourceSpans": [store]})
    done = run("why", "front.thrum", "store.thrum", status=1)
    expect("2 traces taken as one, with 1 message between them" in done.stderr, f"store: {done.stderr}")
    expect("find item" in done.stdout, f"why: {done.stdout}")
    dumped = run("dump", "front.thrum", "store.thrum").stdout
    links = [line for line in dumped.splitlines() if f"{TRACE}-{asked}" in line]
    expect(["link-send" in line for line in links] == [True, False], f"links: {links}")
    try_commands("front.thrum", "store.thrum", native="front 0", imported="find item", hangs=1)
    # Exported again, it is one trace.
    text = json.loads(run("convert", "--to=otlp-json", "all.thrums", "-").stdout)
    whole = [span for one in text["resourceSpans"] for span in one["scopeSpans"][0]["spans"]]
    above = next(span["parentSpanId"] for span in whole if span["name"] == "find item")
    expect(above == asked and {span["traceId"] for span in whole if span["name"] != "other"} == {TRACE},
           f"exported: {whole}")
    # Two services are a bundle: the caller of the recorded program, and whom it asked.
    caller = spans("caller", (CALLER, "", CLIENT, "click", before, after + 2000))
    store = spans("store", ("a1a1a1a1a1a1a1a1", asked, SERVER, "find item", after, after + 1000))
    write_import("both.thrums", {"resourceSpans": [caller, store]})
    done = run("tasks", "front.thrum", "both.thrums")
    expect("2 traces taken as one, with 2 messages between them" in done.stderr, f"both: {done.stderr}")
    try_commands("front.thrum", "both.thrums", native="front 0", imported="click")
    # Messages within a bundle don't join it with a recording that has nothing to do with it.
    write_import("apart.thrums", {"resourceSpans": [
        spans("a", ("b1b1b1b1b1b1b1b1", "", SERVER, "one", before, after)),
        spans("b", ("b2b2b2b2b2b2b2b2", "b1b1b1b1b1b1b1b1", SERVER, "two", before, after))]})
    expect("no message goes from one" in run("why", "front.thrum", "apart.thrums", status=64).stderr, "apart")


def try_chrome():
    write_import("chrome.thrum", [{"ph": "X", "pid": 1, "tid": 1, "ts": 10, "dur": 90, "name": "paint"}])
    try_commands("front.thrum", "chrome.thrum", native="front 0", imported="paint")
    # Nobody knows how their times compare.
    for command in ("dump", "tasks"):
        lines = run(command, "--format=json", "--together", "front.thrum", "chrome.thrum").stdout.splitlines()
        for line in map(json.loads, lines):
            expect(("error" in line) == (line["lane"] > 0) and line.get("error") is None, f"{command}: {line}")
        lines = run(command, "--format=tsv", "--together", "front.thrum", "chrome.thrum").stdout.splitlines()
        expect(all(line.endswith("\t") for line in lines[1:]), f"{command}: {lines}")


def try_kernel():
    before, after = record(THRUM, KERNEL, "run.thrum")
    lines = []
    for at, ended, begins in ((0, ("swapper/0", 0), ("cron", 4711)), (1000, ("cron", 4711), ("swapper/0", 0))):
        now = (before + after) // 2 + at
        lines.append(f"    {ended[1]} [000] {now // 10**9}.{now % 10**9:09}: sched:sched_switch: prev_comm={ended[0]} "
                     f"prev_pid={ended[1]} prev_prio=120 prev_state=S ==> next_comm={begins[0]} "
                     f"next_pid={begins[1]} next_prio=120\n")
    write_import("sched.thrum", "".join(lines), "--beside=run.thrum")
    try_commands("run.thrum", "sched.thrum", native="thread", imported="cron 4711")
    dumped = run("dump", "--format=tsv", "--together", "run.thrum", "sched.thrum").stdout
    at = next(int(line.split("\t")[0]) for line in dumped.splitlines() if "cron 4711" in line)
    expect(0 <= at < after - before, f"cron runs at {at}")


with tempfile.TemporaryDirectory() as here:
    os.chdir(here)
    try_spans()
    try_chrome()
    try_kernel()
    os.chdir("/")
print("\n".join(failed))
sys.exit(1 if failed else 0)
