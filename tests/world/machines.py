#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Four processes over TCP, as on four machines where the kernel allows that: a request is followed through all
of them by its headers traceparent, and each time says how well it is known."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from obeys import check, finish, folder, run  # noqa: E402

STATION = os.path.join(os.environ["BUILD"], "tests/world/programs/station")
NAMES = ["web", "cart", "stock", "bank"]
SLOW, STUCK = 7, 12
PART = 10 ** 12  # between the ids of two processes

# A machine of its own: another start, another clock, another name.
AS_ANOTHER = ('mount --bind "$0" /proc/sys/kernel/random/boot_id && hostname "rack-$1" && shift && exec "$@"')


def unshare(name, hours):
    file = os.path.join(folder.name, name + ".boot")
    with open(file, "w", encoding="ascii") as boot:
        boot.write("%08x-1111-2222-3333-444455556666\n" % (hours + 1))
    rights = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    ahead = str(hours * 3600)
    return ["unshare", *rights, "--mount", "--uts", "--time", "--monotonic", ahead, "--boottime", ahead,
            "sh", "-c", AS_ANOTHER, file, name]


def is_apart():
    try:
        return subprocess.run([*unshare("try", 1), "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


apart = is_apart()


def start(i, port, count):
    """Starts a station that asks the one at a port."""
    name = NAMES[i]
    under = unshare(name, i) if apart else []
    path = os.path.join(folder.name, name + ".thrum")
    return subprocess.Popen([*under, STATION, name, port, str(count), str(SLOW), str(STUCK)],
                            stdout=subprocess.PIPE, text=True, env={**os.environ, "THRUM_TRACE": path})


port, processes = "0", []
for i in (3, 2, 1):
    processes.append(start(i, port, 0))
    port = processes[-1].stdout.readline().strip()
    check(port, "a port of", NAMES[i])
processes.append(start(0, port, STUCK))
check(all(process.wait(60) == 0 for process in reversed(processes)), "all end")
paths = [os.path.join(folder.name, name + ".thrum") for name in NAMES]

# ---- The tasks of all -------------------------------------------------------------------------------------


def table(*arguments):
    status, text, errors = run(*arguments, "--format=tsv", *paths)
    check(status == 0, arguments, errors)
    rows = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


tasks = table("tasks", "--together")
check(list(tasks[0])[-1] == "error", "error is the last column", tasks[0])
for i, name in enumerate(NAMES):
    own = [task for task in tasks if int(task["task"]) // PART == i]
    requests = [task for task in own if task["label"].startswith(name + " ")]
    check(len(requests) == STUCK, "requests of", name, requests)
    check([task["state"] for task in requests] == ["resolved"] * (STUCK - 1) + ["pending"], name, requests)
    told = {task["error"] != "" for task in own}
    check(told == {apart and i > 0}, "errors of", name, own)
    check(not apart or i == 0 or all(int(task["error"]) < 50e6 for task in own), "narrow errors", name, own[-1])

# ---- One request, by its keys ------------------------------------------------------------------------------

events = table("dump", "--together", "--event=link-send,link-receive")
traces = {}
for event in events:
    key = bytes.fromhex(event["text"]).decode()
    if "answered" not in key:
        links = traces.setdefault(key.split("-")[0], [])
        links.append((event["event"], int(event["task"]) // PART, key, event))
check(len(traces) == STUCK, "a trace for each request", len(traces))
for links in traces.values():
    way = sorted((part, kind) for kind, part, _, _ in links)
    check(way == [(0, "link-send"), (1, "link-receive"), (1, "link-send"), (2, "link-receive"),
                  (2, "link-send"), (3, "link-receive")], "the way of a request", way)
    for _, part, key, sent in (link for link in links if link[0] == "link-send"):
        received = [other for kind, _, other_key, other in links if kind == "link-receive" and other_key == key]
        check(len(received) == 1, "one receives", key)
        took = int(received[0]["time"]) - int(sent["time"])
        error = int(sent["error"] or 0) + int(received[0]["error"] or 0)
        check(took >= -error, "no message arrives before it was sent", took, error)

# ---- Causes ------------------------------------------------------------------------------------------------

status, text, errors = run("why", *paths)
check(status == 1 and f"“web {STUCK}” never resolves" in text, "the victim", status, text, errors)
for words in "vacuum", "“disk”; nobody resolves it", f"“stock {STUCK}", f"“bank {STUCK}":
    check(words in text, "the cause", words, text)
for i, name in enumerate(NAMES[1:], 1):
    check((f"clock of {name}@rack-{name} ± " in text) == apart, "its clock", name, text)

status, text, errors = run("why", "--slow=web *", *paths)
check(status == 0 and f"“web {SLOW}”" in text.splitlines()[0], "the slowest", text, errors)
check(f"“bank {SLOW}”" in text or "bank #" in text, "who is slow", text)
# The way there and the way back of one message are only measured together.
check("is on the network" in text and ("(there and back; either way alone is ± " in text) == apart, "ways", text)
status, text, errors = run("why", "--slow=web *", "--format=json", *paths)
answer = json.loads(text)
deepest = max((share["stack"] for share in answer["shares"]), key=len)
check(deepest == [name + " #" for name in NAMES], "the way of the time", deepest)
network = [part for part in answer["path"] if part["doing"] == "network"]
check(network and all(("error" in part) == apart for part in network), "errors of ways", network)
work = sum(share["took"] for share in answer["shares"] if share["stack"] == deepest and share["doing"] == "runs")
check(work > 70e6, "the work of the last one", work)

# ---- Times -------------------------------------------------------------------------------------------------

for command in ("tasks", "--together"), ("stats", "--together"), ("dump", "--together"):
    status, text, errors = run(*command, *paths)
    check(status == 0 and text.count("clock of ") == (3 if apart else 0), command, text[:400], errors)
if not apart:
    print("skipped: no clocks of its own for each process; they are on one machine")
finish()
