#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Several recordings of a server are followed as one trace, those that come later, too: each event once."""

import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

if missing():
    print("skipped:", missing())
    sys.exit(77)

BOOT_AT = 568  # in the header
recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
os.mkdir(recordings)
server = Server()
agent = Command("ship", recordings, "--to", server.url(), "--state", state)


def record(name):
    program = Program("recordings/" + name)
    wait_until(name, lambda: run("info", server.url("/" + name))[0] == 0)
    return program


web, stock = record("web"), record("stock")
reader = Command("dump", "--follow", "--format=tsv", "--event=label", server.url("/?last=10m"))
only = Command("dump", "--follow", "--format=tsv", "--event=label", server.url("/?last=10m&to=2100-01-01"))
for i in range(3):
    for name, program in ("web", web), ("stock", stock):
        program.tell(f"task 1 {name} {i}")
        reader.wait_for(f"{name} {i}")
# A program that began later, and as if on another machine, whose clock nobody has compared; and one more with the
# name of another.
errors = Command("dump", "--follow", "--format=json", "--event=label", server.url("/?last=10m"))
errors.wait_for("web 2")
late = Program("late")
with open(late.path, "r+b") as file, open(web.path, "rb") as same:
    file.seek(BOOT_AT)
    check(same.read(4096)[BOOT_AT:BOOT_AT + 8] == file.read(8), "the place of the machine's number")
    file.seek(BOOT_AT)
    file.write(b"another1")
os.rename(late.path, os.path.join(recordings, "late.thrum"))
late.tell("task 1 late 0")
reader.wait_for("late 0")
errors.wait_for("late 0")
told = [(label in line, '"error":null' in line, '"error":' in line) for line in errors.output.splitlines()
        for label in ("web 2", "late 0") if label in line]
check(told == [(True, False, False), (True, True, True)], "an unknown error", errors.output)
errors.end()
os.rename(os.path.join(recordings, "web.thrum"), os.path.join(recordings, "moved.thrum"))
again = Program("recordings/web")
again.tell("task 1 again 0")
reader.wait_for("again 0")
# While the server is away, and after it, all go on.
server.kill()
agent.wait_for("tries again")
for name, program in ("web", web), ("late", late):
    program.tell(f"task 1 {name} meanwhile")
server.start()
# In any order: the clock of `late` isn't compared with the other.
for _ in range(2):
    reader.wait_for("meanwhile")
# One that has ended leaves the others.
stock.end()
# More come than can be one trace.
for i in range(70):
    old = Program(f"old{i}")
    old.tell("task 1 an old one")
    old.end()
for i in range(70):
    os.rename(os.path.join(folder.name, f"old{i}.thrum"), os.path.join(recordings, f"old{i}.thrum"))
for i in range(60):
    reader.wait_for("an old one")
wait_until("all", lambda: run("fleet", "list", "--format=tsv", server.url("/old*"))[1].count("\n") == 71)
late.tell("task 1 late last")
reader.wait_for("late last")
for program in web, late, again:
    program.end()
check(reader.wait() == 0, "the end", reader.output)
check(only.wait() == 0, "with an end it isn't followed", only.output)
labels = collections.Counter(line.split("\t")[6] for line in reader.output.splitlines()[1:])
told = [label for label in labels if label.split(" ")[-1] in ("0", "1", "2", "meanwhile", "last")]
check(len(told) == 11 and all(labels[label] == 1 for label in told), "each once", labels)
check(labels["an old one"] == 60, "at most 64", labels)
processes = {re.split("[/@-]", name)[0] for name in labels if "/" in name}
check(processes - {f"old{i}" for i in range(70)} == {"web", "stock", "late"}, "the processes' names", labels)
check(len({name.split("/")[0] for name in labels if name.startswith("web") and "/" in name}) == 2, "names", labels)
agent.end()
server.kill()
finish()
