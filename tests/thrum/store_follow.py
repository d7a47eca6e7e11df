#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum store --follow: tables have what a server has got, once, however often it is killed."""

import os
import shutil
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

for arguments, words in ((["web.thrum"], "nats://SERVER"), (["nats://host", "nats://other"], "one nats"),
                         (["nats://host?to=10:00"], "leave to= out"), (["--every=0", "nats://host"], "longer than 0")):
    status, _, errors = run("store", "--follow", "-o", os.path.join(folder.name, "none"), *arguments)
    check(status == 64 and words in errors, arguments, errors)
if missing():
    print("skipped:", missing())
    sys.exit(77)

recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
tables, once = os.path.join(folder.name, "tables"), os.path.join(folder.name, "once")
os.mkdir(recordings)
server = Server()
agent = Command("ship", recordings, "--to", server.url(), "--state", state)


def follow():
    return Command("store", "--follow", "--every=100ms", "-o", tables, server.url())


def files(where):
    """The files of all tables, and their content."""
    found = {}
    for at, _, names in os.walk(where):
        for name in names:
            if name.endswith(".parquet"):
                with open(os.path.join(at, name), "rb") as file:
                    found[os.path.relpath(os.path.join(at, name), where)] = file.read()
    return found


def is_stored():
    """Whether the tables are those that are made at once of all that the server has now."""
    shutil.rmtree(once, ignore_errors=True)
    status, _, errors = run("store", server.url(), "-o", once)
    check(status == 0, errors)
    return files(tables) == files(once)


web = Program("recordings/web")
stock = Program("recordings/stock")
store = follow()
# It is killed at any time, and so at each step.
for i in range(8):
    web.tell(f"task 1 GET /{i}")
    stock.tell(f"task 1 item {i}")
    web.tell("resolve")
    count = len(files(tables))
    wait_until("more files", lambda: i > 0 or len(files(tables)) > count)
    store.process.kill()
    store.process.wait()
    store = follow()
server.kill()
web.tell("task 1 meanwhile")
store.wait_for("tries again")
server.start()
stock.process.kill()
web.end()
agent.wait_for("program has ended")
agent.wait_for("program has ended")
wait_until("all is stored once", is_stored)
names = {name.split("/")[-1].split("-")[0] for name in files(tables)}
check(names == {"web", "stock"}, names)
# It goes on where it was, with a program that comes later.
check(store.end() == 0, store.output)
store = follow()
late = Program("recordings/late")
wait_until("a later program", lambda: any("/late-" in name for name in files(tables)))
late.end()
agent.wait_for("late.thrum: its program has ended")
wait_until("it is stored once, too", is_stored)
# A recording comes hours after its events: its readings of CLOCK_REALTIME are changed.
os.mkdir(os.path.join(folder.name, "outage"))
past = Program("outage/past")
past.tell("task 1 hours ago")
past.tell("resolve")
past.end()
with open(past.path, "r+b") as recording:
    head = recording.read(4096)
    for place in range(0, 4096, 8):
        reading = struct.unpack_from("<q", head, place)[0]
        if abs(reading - time.time_ns()) < 120e9:
            recording.seek(place)
            recording.write(struct.pack("<q", reading - 3 * 3600 * 10**9))
status, _, errors = run("ship", "--once", past.path, "--to", server.url(), "--state", state + "-past")
check(status == 0, errors)
wait_until("what came late", lambda: any("/past-" in name for name in files(tables)))
wait_until("all of it", is_stored)
slots = {name.split("slot=")[1][:16] for name in files(tables) if "/past-" in name}
check(all(slot < time.strftime("%Y-%m-%dT%H-%M", time.gmtime(time.time() - 7200)) for slot in slots), "when", slots)
check(store.end() == 0, store.output)
agent.end()
server.kill()
finish()
