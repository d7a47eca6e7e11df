#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum ship: what programs record is in the server once, whoever is killed, and traces are read there."""

import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
os.mkdir(recordings)
# Nobody writes to it, and nobody waits for that.
os.mkfifo(os.path.join(recordings, "pipe.thrum"))

# Errors that need no server.
status, _, errors = run("ship", recordings)
check(status == 64 and "needs --to" in errors, errors)
status, _, errors = run("ship", recordings, "--to", "http://host")
check(status == 64 and "nats://SERVER" in errors, errors)
status, _, errors = run("ship", recordings, "--to", "nats://host/web")
check(status == 64 and "not recordings" in errors, errors)
status, _, errors = run("ship", recordings, "--to", "nats://user:secret@host?bogus=1")
check(status == 64 and "nats://host?bogus=1: " in errors and "secret" not in errors, errors)
status, _, errors = run("info", "nats://host/web?last=soon")
check(status == 2 and "10m" in errors, errors)
status, _, errors = run("info", "nats://user:secret@127.0.0.1:1/web")
check(status == 2 and "thrum: nats://127.0.0.1:1/web: " in errors and "secret" not in errors, errors)
status, _, errors = run("ship", recordings, "--to", "nats://127.0.0.1:1", "--state", state, "--once")
check(status == 2, "a pipe in the folder", errors)
status, _, errors = run("info", "nats://127.0.0.1:1/web")
check(status == 2 and re.search("built without NATS|can't be reached|needs the library", errors), errors)
if missing():
    print("skipped:", missing())
    sys.exit(77)


def record(name, size="1M"):
    return Program("recordings/" + name, size)


def dump(where, *options):
    """The events, without the line that names the trace."""
    status, text, errors = run("dump", "--format=tsv", *options, where)
    check(status == 0, "dump", where, errors)
    return text


def has_come(name, words):
    """Before its first packet a recording is no trace, and dump fails."""
    return words in run("dump", server.url("/" + name))[1]


def ship(*arguments):
    return Command("ship", *arguments, "--to", server.url(), "--state", state)


server = Server()
agent = ship(recordings)

# A packet that isn't full comes after a moment, and the definitions that it needs come with it.
web = record("web")
agent.wait_for(".web.")
web.tell("task 3 GET /user")
wait_until("an open packet", lambda: has_come("web", "GET /user"))
web.tell("gauge late/counter 7")
wait_until("a late definition", lambda: has_come("web", "late/counter"))
_, about, _ = run("info", server.url("/web"))
check("still recording" in about, "a live recording", about)
_, counters, _ = run("stats", "--counters", server.url("/web"))
check(re.search(r"late +7", counters), "counters", counters)

# The agent is killed and starts again, and so is the program. All is there once.
agent.process.kill()
agent.process.wait()
for i in range(300):
    web.tell(f"task 1 killed {i}")
agent = ship(recordings)
web.process.kill()
web.process.wait()
agent.wait_for("web.thrum: its program has ended")
check(dump(web.path) == dump(server.url("/web")), "after SIGKILL all events are the same")
_, about, _ = run("info", server.url("/web"))
check("killed or crashed" in about, "how it ended", about)

# The server is gone for a while. A small ring goes round meanwhile: that is counted and shown.
small, large = record("small", "256K"), record("large", "4M")
agent.wait_for(".large.")
server.kill()
agent.wait_for("tries again")
for i in range(200):
    small.tell(f"observe latency {i} 1000")
    large.tell(f"task 1 outage {i}")
server.start()
agent.wait_for("stores again")
small.end()
agent.wait_for("small.thrum: its program has ended")
agent.wait_for("overwritten before")
large.end()
agent.wait_for("large.thrum: its program has ended")
check(dump(large.path) == dump(server.url("/large")), "an outage costs nothing while there is room")
_, about, _ = run("info", "--format=json", server.url("/small"))
check(re.search(r'"(lost|gaps)":[1-9]', about), "losses are shown", about)

# Times.
old, before = record("old"), int(time.time())
agent.wait_for(".old.")
old.tell("task 1 early")
wait_until("the early task", lambda: has_come("old", "early"))
time.sleep(2.1 - time.time() % 1)
border = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime())
time.sleep(1.1)
old.tell("task 1 afterwards")
wait_until("the late task", lambda: has_come("old", "afterwards"))
early, late = (dump(server.url(f"/old?{which}={border}"), "--event=label") for which in ("to", "from"))
check("early" in early and "afterwards" not in early, "up to a time", early)
check("afterwards" in late, "from a time on", late)
check("afterwards" in dump(server.url("/old?last=1h")), "the last hour")
status, _, errors = run("info", server.url("/old?to=2000-01-01"))
check(status == 2 and "of that time" in errors, errors)
status, _, errors = run("info", server.url("/nobody"))
check(status == 2 and "no recording that matches" in errors, errors)

# The list of what is there.
status, text, errors = run("fleet", "list", "--format=tsv", server.url())
names, *rows = [line.split("\t") for line in text.splitlines()]
rows = {row[1]: dict(zip(names, row)) for row in rows}
check(status == 0 and set(rows) == {"web", "small", "large", "old"}, text, errors)
check(rows["web"]["state"] == "gone" and rows["large"]["state"] == "exited", text)
check(rows["old"]["pid"] == old.pid and int(rows["large"]["bytes"]) > 0, text)
check(int(rows["web"]["packets"]) == 2 and int(rows["large"]["packets"]) > 0, text)
check(int(rows["small"]["overwritten"]) > 0 and rows["large"]["overwritten"] == "0", text)
status, text, _ = run("fleet", "list", server.url("/w*"))
check(status == 0 and len(text.splitlines()) == 2 and " web " in text, text)
status, text, _ = run("fleet", "list", "--format=json", server.url("/?to=2000-01-01"))
check(status == 0 and not text, text)
check("records" in rows["web"] and rows["large"]["record-rate"] == rows["large"]["findings"] == "" or
      rows["large"]["record-rate"] == "0", "what has ended has no rate", text)
status, text, _ = run("fleet", "top", "--count=2", "--interval=1.5s", server.url())
check(status == 0 and len(text.splitlines()) == 10 and "records/s" in text, text)
status, _, errors = run("fleet", "top", "--format=tsv", server.url())
check(status == 64 and "is for list" in errors, errors)
status, _, errors = run("fleet", "fell", server.url())
check(status == 64 and "list and top" in errors, errors)

# Each recording has files of its own in the tables.
status, _, errors = run("store", server.url("/?last=1h"), "-o", os.path.join(folder.name, "tables"))
names = {name.split("-")[0] for _, _, names in os.walk(os.path.join(folder.name, "tables")) for name in names}
check(status == 0 and names == {"web", "small", "large", "old"}, names, errors)

# Several recordings are one trace.
_, about, errors = run("info", "--format=json", server.url("/?last=1h"))
check('"lanes":' in about, "all together", about, errors)
check(agent.end() == 0 and "its program goes on" in agent.output, agent.output)
old.end()

# A recording that is stored isn't sent again, and a copy never is.
copy = os.path.join(folder.name, "copy.thrum")
run("snapshot", old.path, "-o", copy)
status, _, errors = run("ship", copy, "--to", server.url(), "--state", state, "--once")
check(status == 2 and "copy" in errors, errors)
status, _, errors = run("ship", recordings, "--to", server.url(), "--state", state, "--once",
                        "--host", "rack1.example")
check(status == 0 and errors.count("sends it") == 1 and "old.thrum: sends it as rack1_example.old" in errors, errors)
check("early" in dump(server.url("/rack1*/old")), "by the host's name")

# The server loses what it kept: what recordings still have is sent again.
def forget():
    server.kill()
    shutil.rmtree(server.store)
    server.start()


held = record("held")
agent = ship(recordings)
# Also by the agent of another machine, which finds the streams made already.
elsewhere = os.path.join(folder.name, "elsewhere")
os.mkdir(elsewhere)
other = Command("ship", elsewhere, "--to", server.url(), "--state", state + "-elsewhere", "--host", "rack2")
far = Program("elsewhere/far")
other.wait_for(".far.")
far.tell("task 1 far away")
wait_until("another machine's task", lambda: has_come("far", "far away"))
agent.wait_for(".held.")
held.tell("task 1 before")
wait_until("the first task", lambda: "before" in run("dump", server.url("/held"))[1])
forget()
held.tell("task 1 afterwards")
agent.wait_for("it has lost what it kept")
wait_until("all tasks", lambda: "afterwards" in run("dump", server.url("/held"))[1])
held.end()
agent.wait_for("held.thrum: its program has ended")
wait_until("all is sent again", lambda: run("dump", "--format=tsv", server.url("/held"))[1] == dump(held.path))
wait_until("the other machine's", lambda: has_come("far", "far away"))
# One stream alone is made again, too, and then all is sent.
for stream in "THRUM_TABLES", "THRUM_PACKETS":
    check("true" in server.ask("$JS.API.STREAM.DELETE." + stream), "no stream", stream)
    far.tell("task 1 without " + stream)
    wait_until(stream, lambda: has_come("far", "far away") and has_come("far", "without " + stream))
far.end()
other.wait_for("far.thrum: its program has ended")
# Two agents noticed that, one after the other, and all is sent again for each.
wait_until("all but once", lambda: run("dump", "--format=tsv", server.url("/far"))[1] == dump(far.path))
check(other.end() == 0, other.output)
wait_until("one that had ended", lambda: run("info", server.url("/large"))[0] == 0 and
           dump(large.path) == dump(server.url("/large")))

# The times off the processor, which --sched adds when the program has ended, come, too, and so do the lanes of
# the machine: more packets than the recording had room for.
for name, program, events in (("sched", "crowded", "--event=off-cpu"), ("kernel", "kernel", "--event=span-begin")):
    told = os.path.join(recordings, name + ".thrum")
    status, _, errors = run("record", "--" + name, "--size=256K", "-o", told, "--", os.path.join(
        os.environ["BUILD"], "tests/thrum/programs", program))
    if status == 0:
        wanted = dump(told, events)
        wait_until(name, lambda: wanted and wanted in run(
            "dump", "--format=tsv", events, server.url("/" + name))[1])
        agent.wait_for(name + ".thrum: its program has ended")
    else:
        # --kernel has --sched in it, which may be refused.
        check("--" + name + ": " in errors or "--sched: " in errors, errors)
        print("not tried: ", errors)


# Positions are kept as long as the recording.
def positions():
    return set(name for name in os.listdir(state) if name.endswith(".position"))


def position_of(recording):
    with open(recording, "rb") as file:
        head = file.read(4096)
    return next(name for name in positions() if bytes.fromhex(name[:32]) in head)


kept = positions()
os.unlink(held.path)
wait_until("one position less", lambda: len(positions()) == len(kept) - 1)
# A new name changes nothing, and a recording that another one replaces is gone.
kept, replaced = positions(), position_of(web.path)
os.rename(large.path, os.path.join(recordings, "renamed.thrum"))
os.rename(small.path, web.path)
wait_until("no position of what was replaced", lambda: replaced not in positions())
check(replaced in kept and positions() == kept - {replaced}, kept, positions())
check(agent.end() == 0 and "renamed.thrum: sends it" not in agent.output, agent.output)
for name, days in (("month", 31), ("week", 7)):
    with open(os.path.join(state, name + ".position"), "w", encoding="utf-8") as file:
        os.utime(file.fileno(), (time.time() - days * 86400,) * 2)
status, _, errors = run("ship", recordings, "--to", server.url(), "--state", state, "--once")
check(status == 0 and "week.position" in positions() and "month.position" not in positions(), positions(), errors)

# A recording that is damaged meanwhile doesn't keep the others.
os.mkdir(os.path.join(folder.name, "more"))
agent = ship(os.path.join(folder.name, "more"))
good = Program("more/good")
agent.wait_for(".good.")
bad = Program("more/bad")
agent.wait_for(".bad.")
with open(bad.path, "r+b") as file:
    file.write(bytes(8))
agent.wait_for("bad.thrum: it can't be read any more")
bad.end()
good.tell("task 1 afterwards")
good.end()
agent.wait_for("good.thrum: its program has ended")
check("afterwards" in dump(server.url("/good")), "beside a damaged one")
check(agent.end() == 2, "an agent that couldn't send all", agent.output)
server.kill()

# Rights, as doc/fleet.md names them. Nobody may do what he has no right to.
with open(os.path.join(os.environ["SOURCE"], "doc/fleet.md"), encoding="utf-8") as file:
    rights = dict(re.findall(r"^    (agent|maker|reader) publishes: +(.+)$", file.read(), re.M))
rights["agent"] += " " + rights.pop("maker")
users = ", ".join(
    f"{{user: {user}, password: secret, permissions: {{subscribe: ['_INBOX.>'], publish: "
    f"{[right.replace('HOST', 'rack') for right in what.split()]}}}}}" for user, what in rights.items())
server = Server("guarded", f"authorization: {{users: [{users}]}}\n")


def guarded(user, rest=""):
    return server.url(rest).replace("//", f"//{user}:secret@")


def ship_as(user, host):
    return run("ship", old.path, "--to", guarded(user), "--host", host, "--state", f"{state}-{user}-{host}",
               "--once")


status, _, errors = ship_as("agent", "rack")
check(status == 0, "the agent's rights", errors)
status, text, errors = run("fleet", "list", guarded("reader"))
check(status == 0 and " old " in text, "the reader's rights", text, errors)
check("early" in dump(guarded("reader", "/old")), "the reader's rights")
picture = os.path.join(folder.name, "old.svg")
status, _, errors = run("render", guarded("reader"), "-o", picture)
with open(picture, encoding="utf-8") as file:
    text = file.read()
check(status == 0 and f"127.0.0.1:{server.port}" in text and "secret" not in text, "no password in a picture", errors)
status, _, errors = ship_as("agent", "other")
check(status == 2 and "right" in errors and "secret" not in errors, "another host", errors)
status, _, errors = run("fleet", "list", server.url())
check(status == 2 and "reached" in errors, "without a password", errors)
server.kill()
finish()
