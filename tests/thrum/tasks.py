#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`tasks` and `stats` agree with each other, format by format, and hostile labels harm none."""

import glob
import json
import os
import re
import struct
import sys
import tempfile
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from asks import ask, check, failures, thrum  # noqa: E402

SOURCE = os.environ["SOURCE"]
COLUMNS = "task parent kind site start end last state became label failure lane".split()
IDS = {"task", "parent", "start", "end", "last", "became", "lane"}
EXTRA = ["life", "running", "waiting"]


def unescape(cell):
    special = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}
    return re.sub(rb"\\(x..|.)", lambda m: special.get(m[1]) or bytes([int(m[1][1:], 16)]), cell)


def tsv(*arguments):
    lines = thrum(*arguments, "--format=tsv").split(b"\n")
    check(lines.pop() == b"", f"{arguments}: the last line has no end")
    names = lines[0].decode().split("\t")
    rows = [[unescape(cell) for cell in line.split(b"\t")] for line in lines[1:]]
    for row in rows:
        check(len(row) == len(names), f"{arguments}: {row}")
    return names, rows


def records(*arguments):
    """The rows as dictionaries of text; those of json are the same."""
    names, rows = tsv(*arguments)
    as_text = [{n: c for n, c in zip(names, row) if c != b""} for row in rows]
    as_json = [json.loads(line) for line in thrum(*arguments, "--format=json").splitlines()]
    check(len(as_text) == len(as_json), f"{arguments}: tsv and json differ in number")
    for text, values in zip(as_text, as_json):
        check(list(text) == list(values), f"{arguments}: {text} {values}")
        for name, cell in text.items():
            value = values[name]
            if isinstance(value, str):
                # Python's decoder replaces a broken character as a whole.
                if b"\xef\xbf\xbd" not in value.encode():
                    check(value.encode() == cell, f"{arguments}: {name} {value!r} {cell!r}")
            else:
                check(float(value) == float(cell), f"{arguments}: {name} {value} {cell}")
    return as_text


def percentile(values, percent):
    return sorted(values)[-(-len(values) * percent // 100) - 1]


def sorts(trace, count):
    """Each column sorts, with what is empty at the end."""
    for column in COLUMNS + EXTRA:
        shown = thrum("tasks", f"--sort={column}", trace).decode(errors="replace")
        check(shown.count("\n") == count + (count > 0), f"--sort={column}: {shown}")
        if column in EXTRA:
            continue
        cells = [row.get(column, b"") for row in records("tasks", f"--sort={column}", trace)]
        there = [int(c) if column in IDS else c.lower() for c in cells if c != b""]
        check(cells[len(there):] == [b""] * (count - len(there)), f"{column}: empty ones first")
        check(there == sorted(there), f"--sort={column}: {there}")
        back = [row.get(column, b"") for row in records("tasks", "-r", f"-s{column}", trace)]
        check([c.lower() for c in back[:len(there)]] ==
              [c.lower() for c in sorted(cells[:len(there)], reverse=True,
                                         key=int if column in IDS else bytes.lower)],
              f"--sort={column} --reverse")


def filters(trace, tasks):
    for state, count in Counter(t["state"] for t in tasks).items():
        found = records("tasks", f"--state={state.decode()}", trace)
        check(len(found) == count, f"--state={state}")
    for kind, count in Counter(t["kind"] for t in tasks).items():
        found = records("tasks", f"--kind={kind.decode()}", trace)
        check(len(found) == count, f"--kind={kind}")
    duration = json.loads(thrum("info", "--format=json", trace))["duration"]
    for start, end in ((0, 0), (1000, 20000), (24000, 25000), (2 ** 60, 2 ** 61)):
        if start > duration:
            ask("tasks", f"--start={start}", trace, status=2)
            continue
        alive = [t["task"] for t in tasks
                 if int(t["start"]) <= end and int(t.get("end", 2 ** 63)) >= start]
        found = records("tasks", f"--start={start}", f"--end={end}", trace)
        check([t["task"] for t in found] == alive, f"{trace}: tasks alive in {start}..{end}")
        found = records("tasks", f"--start={start}", f"--duration={end - start}", trace)
        check([t["task"] for t in found] == alive, f"{trace}: tasks alive from {start} on")
        found = records("tasks", "--no-simplify", f"--end={end}", trace)
        check(all(int(t["start"]) <= end for t in found), f"{trace}: --no-simplify --end={end}")
    check(len(records("tasks", "--label=*", trace)) == len(tasks), "--label=*")
    check(records("tasks", "--label=no such label", trace) == [], "--label without any")


def numbers(trace, tasks):
    """stats computes from lives what Python does, task by task."""
    lives = defaultdict(list)
    for task in tasks:
        if "end" in task and task["kind"] != b"preexisting":
            lives[task["kind"]].append(int(task["end"]) - int(task["start"]))
    kinds = records("stats", "--by=kind", trace)
    check({k["kind"]: int(k["tasks"]) for k in kinds} == Counter(t["kind"] for t in tasks),
          f"{trace}: tasks by kind")
    for kind in kinds:
        values = lives[kind["kind"]]
        check(bool(values) == ("life-p50" in kind), f"{trace}: {kind}")
        expected = {"total": sum, "min": min, "max": max, "mean": lambda v: sum(v) // len(v),
                    "p50": lambda v: percentile(v, 50), "p90": lambda v: percentile(v, 90),
                    "p99": lambda v: percentile(v, 99)}
        for name, function in expected.items():
            if values:
                check(int(kind[f"life-{name}"]) == function(values), f"{trace}: {kind} {name}")
    labels = records("stats", trace)
    for count in ("tasks", "pending", "resolved", "failed", "cancelled", "became", "stuck"):
        check(sum(int(k[count]) for k in kinds) == sum(int(k[count]) for k in labels),
              f"{trace}: {count} by kind and by label")
    ran = sum(int(k.get("running-total", 0)) for k in kinds)
    lanes = records("stats", "--by=lane", trace)
    check(ran == sum(int(lane["total"]) for lane in lanes if lane["use"] == b"running"),
          f"{trace}: what tasks ran isn't what lanes ran")
    for table in ("site", "counter", "run"):
        records("stats", f"--by={table}", trace)
    runs = [int(run["length"]) for run in records("stats", "--by=run", "-n5", trace)]
    check(runs == sorted(runs, reverse=True) and len(runs) <= 5, f"{trace}: {runs}")


def is_harmless(text):
    """Nothing that steers a terminal: control characters, or the direction of writing."""
    steering = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
    return not re.search(steering, text.decode())


def whole(trace):
    tasks = records("tasks", trace)
    check(tsv("tasks", trace)[0] == [*COLUMNS, "error"], f"{trace}: columns")
    if len(tasks) < 200:
        sorts(trace, len(tasks))
    filters(trace, tasks)
    numbers(trace, tasks)
    for command in ("tasks", "stats"):
        check(is_harmless(thrum(command, trace)), f"{trace}: {command} steers the terminal")
    return len(tasks)


def mirage(events):
    """One packet of mirage-profile's layout."""
    body = b"".join(events)
    size = 30 + len(body)
    return struct.pack("<I16sIHI", 0xc1fc1fc1, bytes.fromhex("05883b8d521a487bb397456ab150680c"),
                       size * 8, 0, size * 8) + body


def hostile():
    labels = [b"<script>alert(1)</script>", b"\x1b[31mred\x1b]0;title\x07", b"\xe2\x80\xaeover",
              b"\xff\xfe\xc3", b"a\tb\nc\rd\\e\"f'g", b"=1+1", b"", b" ", b"%s%n%99999d", b"#-#",
              b"x" * 20000, "日本語🐫".encode(), b"\xc2\x9b31m", b"../../etc/passwd",
              b"0x" + b"f" * 900]
    events = []
    for i, label in enumerate(labels):
        events.append(struct.pack("<QBqqB", 1000 + i, 0, 0, i + 1, 1))
        events.append(struct.pack("<QBq", 1000 + i, 5, i + 1) + label + b"\0")
        events.append(struct.pack("<QBqq", 2000 + 100 * i, 3, 0, i + 1) + label + b"\0")
        events.append(struct.pack("<QBqq", 2000 + 100 * i, 11, 0, i) + label + b"\0")
    events.sort(key=lambda event: event[:8][::-1])
    return mirage(events), labels


def made_up(folder):
    trace, labels = hostile()
    path = os.path.join(folder, "hostile.ctf")
    with open(path, "wb") as file:
        file.write(trace)
    check(whole(path) == len(labels) + 1, "hostile labels: not all tasks")
    got = [t.get("label", b"") for t in records("tasks", path)][-len(labels):]
    check(got == labels, f"hostile labels change: {got}")
    check(is_harmless(thrum("stats", "--histogram=*", path)), "the histogram steers the terminal")

    path = os.path.join(folder, "empty.ctf")
    with open(path, "wb") as file:
        file.write(mirage([struct.pack("<QBQ", 1000, 8, 10)]))
    check(records("tasks", path) == [] and thrum("tasks", path) == b"", "tasks of a trace without")
    check(b"no tasks" in thrum("stats", path), "stats of a trace without tasks")
    for table in ("label", "kind", "site", "counter", "run"):
        check(records("stats", f"--by={table}", path) == [], f"{table}s of a trace without tasks")


def patterns(folder):
    names = ["port-1", "port-22", "Port-3", "report", "port-x"]
    events = []
    for i, name in enumerate(names):
        events.append(struct.pack("<QBqqB", 1000 + i, 0, 0, i + 1, 1))
        events.append(struct.pack("<QBq", 1000 + i, 5, i + 1) + name.encode() + b"\0")
    path = os.path.join(folder, "ports.ctf")
    with open(path, "wb") as file:
        file.write(mirage(events))
    for pattern, count in (("port-1", 1), ("port-*", 4), ("port-#", 3), ("*port*", 5), ("", None),
                           ("port-?", 3), ("port", 0)):
        if count is not None:
            found = records("tasks", f"--label={pattern}", path)
            check(len(found) == count, f"--label={pattern}: {found}")
    groups = {k["label"]: int(k["tasks"]) for k in records("stats", path) if "label" in k}
    check(groups == {b"port-#": 2, b"Port-#": 1, b"report": 1, b"port-x": 1}, f"{groups}")


def table_of_options():
    rows = [line.split("\t") for line in thrum("help", "--table").decode().splitlines()]
    words = {(row[0], row[1]): row[3].split("|") for row in rows}
    check(words["tasks", "sort"] == COLUMNS + EXTRA + ["error"], "--sort: not the table's columns")
    trace = os.path.join(SOURCE, "tests/read/data/mirage/ops.ctf")
    for by in words["stats", "by"]:
        first = tsv("stats", f"--by={by}", trace)[0][0]
        check(first == ("task" if by == "run" else by), f"--by={by}: {first}")


with tempfile.TemporaryDirectory() as here:
    made_up(here)
    patterns(here)
table_of_options()
for one in ("ops", "labels", "ring"):
    whole(os.path.join(SOURCE, f"tests/read/data/mirage/{one}.ctf"))
data = os.environ.get("THRUM_MIRAGE_DATA") or next(
    iter(glob.glob(os.path.join(SOURCE, "../*/data/mirage"))), None)
real = glob.glob(os.path.join(data, "*.ctf")) if data else []
for one in real:
    whole(one)
if not real:
    print("skipped: no real traces in data/mirage beside the checkout (THRUM_MIRAGE_DATA)")
sys.exit(1 if failures else 0)
