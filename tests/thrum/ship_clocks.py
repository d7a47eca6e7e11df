#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Agents compare the clocks of machines that send each other nothing: the common time is right within its
stated error. The machines are this one with other clocks, in namespaces of their own."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

BOOT = "/proc/sys/kernel/random/boot_id"
S = 10**9
if missing():
    print("skipped:", missing())
    sys.exit(77)


def machine(number, ahead):
    """A prefix of a command that lets it run on a machine whose clock is ahead by so many seconds."""
    boot = os.path.join(folder.name, f"boot{number}")
    with open(boot, "w", encoding="utf-8") as file:
        file.write(f"{number}1111111-2222-3333-4444-555555555555\n")
    return ("unshare", "--time", "--mount", "--monotonic", str(ahead), "sh", "-c",
            f'mount --bind {boot} {BOOT} && exec "$@"', "sh")


tried = shutil.which("unshare") and subprocess.run([*machine(9, 5), "cat", BOOT], capture_output=True, text=True)
if not tried or not tried.stdout.startswith("91111111"):
    print("skipped: this user may not give a program another clock")
    sys.exit(77)

AHEAD = {"web": 1000, "stock": 250000, "database": 0}
# The rights that doc/fleet.md names are enough.
with open(os.path.join(os.environ["SOURCE"], "doc/fleet.md"), encoding="utf-8") as text:
    rights = {(who, what): subjects for who, what, subjects in
              re.findall(r"^    (agent|maker) (publishes|subscribes): +(.+)$", text.read(), re.M)}
publishes = rights["agent", "publishes"] + " " + rights["maker", "publishes"]
users = ", ".join(f"{{user: rack{i}, password: secret, permissions: {{publish: "
                  f"{publishes.replace('HOST', f'rack{i}').split()}, subscribe: "
                  f"{rights['agent', 'subscribes'].replace('HOST', f'rack{i}').split()}, "
                  f"allow_responses: true}}}}" for i in range(len(AHEAD)))
server = Server(config=f"authorization: {{users: [{{user: all, password: secret}}, {users}]}}\nno_auth_user: all\n")
programs, agents = {}, {}


def ship(name):
    """Starts the agent of a machine."""
    i = list(AHEAD).index(name)
    agents[name] = Command("ship", os.path.join(folder.name, name), "--to", server.url().replace(
        "//", f"//rack{i}:secret@"), "--host", f"rack{i}", "--state", os.path.join(folder.name, "state" + name),
                           under=machine(i + 1, AHEAD[name]))


for number, (name, ahead) in enumerate(AHEAD.items()):
    os.mkdir(os.path.join(folder.name, name))
    programs[name] = Program(f"{name}/{name}", under=machine(number + 1, ahead))
    ship(name)
    agents[name].wait_for(f".{name}.")

# One machine's time of day is wrong by an hour: that doesn't matter.
with open(programs["stock"].path, "r+b") as file:
    head, now = file.read(4096), time.time_ns()
    place = next(at for at in range(0, 4096, 8) if abs(struct.unpack_from("<q", head, at)[0] - now) < 120 * S)
    file.seek(place)
    file.write(struct.pack("<q", now - 3600 * S))


def pings():
    """The machines that have asked, and the number of what was stored."""
    state = server.ask("$JS.API.STREAM.INFO.THRUM_PACKETS", '{"subjects_filter": "thrum.rec.*.clock"}')
    return json.loads(state).get("state", {}).get("subjects") or {}


# At least two of them ask the one that answers; if two began to answer at once, all ask. The one that doesn't
# ask may be killed, and another one takes its place.
wait_until("pings", lambda: len(pings()) >= 2 and min(pings().values()) >= 2)
quiet = next((name for i, name in enumerate(AHEAD) if f"thrum.rec.rack{i}.clock" not in pings()), "database")
agents[quiet].process.kill()
agents[quiet].wait()
before = sum(pings().values())
ship(quiet)
wait_until("more pings", lambda: sum(pings().values()) > before and len(pings()) >= 2)

told = {name: program.tell("task 1 GET /" + name) - AHEAD[name] * S for name, program in programs.items()}
for name, program in programs.items():
    program.end()
    agents[name].wait_for("its program has ended")
    check(agents[name].end() == 0, agents[name].output)

# Two of the machines, and all: both times by way of the one that answers.
for pattern in "rack[01]/*", "*":
    bundle = os.path.join(folder.name, "all.thrums")
    status, text, errors = run("info", "--format=json", server.url("/" + pattern))
    error = int(re.search(r'"clock-error":(\d+)', text).group(1))
    print(f"{pattern}: error {error / 1e6:.3f} ms")
    # CLOCK_REALTIME alone gives 2 s.
    check(0 < error < S, "the stated error", text, errors)
    status, _, errors = run("bundle", server.url("/" + pattern), "-o", bundle)
    text = run("info", "--format=json", bundle)[1]
    check(status == 0 and re.search(rf'"clock-error":{error}\b', text), "a bundle", text, errors)
    status, text, errors = run("dump", "--format=tsv", "--event=label", server.url("/" + pattern))
    times = {label.split("/")[1]: int(line.split("\t")[0]) for line in text.splitlines()
             for label in re.findall(r"GET /\w+", line)}
    check(len(times) == (3 if pattern == "*" else 2), "events", text, errors)
    first = min(times, key=lambda name: told[name])
    for name, at in times.items():
        off = (at - times[first]) - (told[name] - told[first])
        # A program needs a moment from reading its clock to the event.
        check(abs(off) < 2 * error + 0.5 * S, name, "is off by", off, "ns, of", error)
        print(f"  {name}: off by {off / 1e6:.3f} ms")
status, text, errors = run("fleet", "list", "--findings", server.url())
check(status == 0 and len(re.findall("^clock of .* ± [0-9.]+ [mµ]?s$", text, re.M)) >= 2, text, errors)
check(text.endswith("no findings\n"), "findings of what is well", text, errors)
status, text, errors = run("fleet", "list", "--findings", "--format=tsv", server.url())
rows = [dict(zip(text.splitlines()[0].split("\t"), line.split("\t"))) for line in text.splitlines()[1:]]
check(status == 0 and len(rows) == 3 and all(row["findings"] == "0" and row["worst"] == "" for row in rows), text,
      errors)
check(sum(0 < int(row["clock-error"]) < S for row in rows) >= 2, "errors of clocks", text)
# top has them below each table, and looks only once as nothing more is stored.
status, text, errors = run("fleet", "top", "--findings", "--count=2", "--interval=100ms", server.url())
check(status == 0 and text.count("no findings\n") == 2, text, errors)
check(text.count("clock of ") == 2 * len(set(re.findall("clock of .*", text))) > 0, text)
server.kill()
finish()
