#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A server keeps more recordings than can be one trace."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

MOST, EARLY, LATE = 64, 66, 2

if missing():
    print("skipped:", missing())
    sys.exit(77)


def record(name):
    os.mkdir(os.path.join(folder.name, name))
    program = Program(name + "/web")
    program.tell("task 1 of " + name)
    program.end()
    return program.path


paths = [record(f"early{i}") for i in range(EARLY)]
time.sleep(2.1)
since = time.strftime("?from=%Y-%m-%dT%H:%M:%SZ", time.gmtime())
paths += [record(f"late{i}") for i in range(LATE)]
server = Server()
status, _, errors = run("ship", "--once", *paths, "--to", server.url(), "--state", os.path.join(folder.name, "state"))
check(status == 0, "ship", errors)

# One trace of all is refused. One of a time has what is of that time.
status, _, errors = run("dump", server.url())
check(status == 2 and f"{EARLY + LATE} recordings of that time match" in errors and "shorter time" in errors, errors)
status, text, errors = run("dump", server.url("/" + since))
check(status == 0 and "early" not in text, "a part", errors)
check(all(f"of late{i}" in text for i in range(LATE)), "all of that part", text)
status, _, errors = run("dump", server.url("/none"))
check(status == 2 and "no recording that matches" in errors, errors)
status, _, errors = run("dump", server.url("/?to=2026-01-01T00:00"))
check(status == 2 and "of that time" in errors, errors)

# The fleet's findings are those of as many as can be one trace.
left = f"not looked at: {EARLY + LATE - MOST} recordings"
status, text, errors = run("fleet", "list", "--findings", server.url())
check(status == 0 and text.count(" web ") == EARLY + LATE and left in text, "list", text, errors)
status, text, errors = run("fleet", "top", "--findings", "--count=1", "--interval=100ms", server.url())
check(status == 0 and left in text, "top", text, errors)
status, text, errors = run("fleet", "list", "--findings", server.url("/" + since))
check(status == 0 and "not looked at" not in text, "list of a time", text, errors)


def stored(where):
    """The recordings of which there are tasks."""
    return {name for _, _, names in os.walk(os.path.join(folder.name, where, "tasks")) for name in names}


# Each recording is stored by itself, however many there are of one program.
status, _, errors = run("store", server.url(), "-o", os.path.join(folder.name, "once"))
check(status == 0 and len(stored("once")) == EARLY + LATE, "store", len(stored("once")), errors)
check("at most 64 recordings are one trace: " in errors, "what the tables lack", errors)
store = Command("store", "--follow", "--every=100ms", "-o", os.path.join(folder.name, "follow"), server.url())
wait_until("all are stored", lambda: stored("follow") == stored("once"))
check(store.end() == 0 and "tries again" not in store.output, "store --follow", store.output)
server.kill()
finish()
