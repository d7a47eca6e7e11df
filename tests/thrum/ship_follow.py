#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What a server keeps is followed while it comes: all of it, and it is told what was missed."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

if missing():
    print("skipped:", missing())
    sys.exit(77)

recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
os.mkdir(recordings)
server = Server()
agent = Command("ship", recordings, "--to", server.url(), "--state", state, "--max-size", "1M")


def record(name, size="1M"):
    program = Program("recordings/" + name, size)
    agent.wait_for(f".{name}.")
    wait_until("the first packet", lambda: run("info", server.url("/" + name))[0] == 0)
    return program


def follow(name, *options):
    return Command("dump", "--follow", "--format=tsv", *options, server.url("/" + name))


def dump(where):
    return run("dump", "--format=tsv", where)[1]


def events(text):
    """Without their times, which are more exact at the end, when the clock's rate is known better."""
    return [line.split("\t")[1:] for line in text.splitlines()]


# A program is followed to its end, also while the server is away. Definitions come with what needs them.
web = record("web")
reader = follow("web")
reader.wait_for("started")
web.tell("task 2 GET /user")
reader.wait_for("GET /user")
status, text, errors = run("top", server.url("/web"), "--once", "--interval=1s", "--format=tsv")
check(status == 0 and "GET /user" in text and "started" in text, "top", text, errors)
web.tell("gauge late/counter 7")
reader.wait_for("late/counter")
server.kill()
agent.wait_for("tries again")
web.tell("task 1 meanwhile")
server.start()
reader.wait_for("meanwhile")
web.tell("task 1 last")
web.end()
check(reader.wait() == 0, "the end of a reader", reader.output)
check(events(reader.output) == events(dump(web.path)), "all is followed", reader.output)

# A reader that sleeps while the server forgets is told how much it missed.
busy = record("busy", "256K")
reader, watcher = follow("busy"), follow("busy")
for each in reader, watcher:
    each.wait_for("started")
reader.process.send_signal(signal.SIGSTOP)
for i in range(150):
    busy.tell(f"observe latency {i} 2000")
watcher.wait_for("latency")
busy.tell("task 1 behind")
watcher.wait_for("behind")
reader.process.send_signal(signal.SIGCONT)
reader.wait_for("overwritten")
busy.end()
check(reader.wait() == 0 and watcher.wait() == 0, "the end of readers")

# Only what is recent.
recent = record("recent")
reader = follow("recent?last=1h")
recent.tell("task 1 now")
reader.wait_for("now")
recent.process.kill()
check(reader.wait() == 0, "the end of a killed program")
# A reader that is interrupted leaves at once, also while the server is away.
slow = record("slow")
reader = follow("slow")
reader.wait_for("started")
server.kill()
slow.tell("task 1 nobody sees it")
reader.process.terminate()
check(reader.wait() == -signal.SIGTERM, "an interrupted reader", reader.output)
slow.end()
agent.end()
finish()
