#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What is recorded is read once: agents are killed at each step, messages come again late, are lost or forged."""

import os
import re
import shutil
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Proxy, Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

if missing():
    print("skipped:", missing())
    sys.exit(77)

recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
os.mkdir(recordings)
started = time.monotonic()
# It forgets after a moment which messages it has, so that those that come again are stored again.
server = Server()
check('"error"' not in server.ask(
    "$JS.API.STREAM.CREATE.THRUM_PACKETS",
    '{"name": "THRUM_PACKETS", "subjects": ["thrum.rec.>"], "storage": "file", "retention": "limits", '
    '"num_replicas": 1, "duplicate_window": 100000000}'), "a stream that forgets")


def dump(where):
    status, text, errors = run("dump", "--format=tsv", where)
    check(status == 0, "dump", where, errors)
    return text


def state_of(stream):
    return server.about(stream).get("state", {})


# The agent is killed when it has sent so many messages, and the last of them is stored or not.
proxy = Proxy(server)
web = Program("recordings/web")
for step in range(1, 15):
    proxy.left, proxy.loses_last, proxy.stop = step, step % 3 == 0, None
    web.tell(f"task 2 step {step}")
    web.tell(f"gauge counter/{step} {step}")
    agent = Command("ship", recordings, "--to", proxy.url(), "--state", state)
    proxy.stop = agent.process.kill
    wait_until(f"the agent's end at step {step}", lambda: agent.process.poll() is not None)
    agent.wait()
print(f"{time.monotonic() - started:.1f} s: each step")
agent = Command("ship", recordings, "--to", server.url(), "--state", state)
agent.wait_for(".web.")
web.end()
agent.wait_for("web.thrum: its program has ended")
check(dump(web.path) == dump(server.url("/web")), "killed at each step")
check(dump(web.path).count("step 14") == 2, "the last step")
check(agent.end() == 0, agent.output)

# An agent that has lost its positions sends all again; later than the server knows that it has it.
before = state_of("THRUM_PACKETS")["messages"]
shutil.rmtree(state)
status, _, errors = run("ship", recordings, "--to", server.url(), "--state", state, "--once")
check(status == 0, errors)
check(state_of("THRUM_PACKETS")["messages"] > before, "stored again", before, state_of("THRUM_PACKETS"))
check(dump(web.path) == dump(server.url("/web")), "read once")
print(f"{time.monotonic() - started:.1f} s: twice")

# Messages of others. A reader that doesn't know better takes none of them for an event.
key = re.search(r"sends it as (\S+)", errors).group(1)
recording = key.rsplit(".", 1)[1]
for subject, body, header in (
        (f"thrum.rec.{key}.0", "no header", ""),
        (f"thrum.rec.{key}.0", "x" * 100, "Thrum-Piece: 1 0 999999 0 65536 1 2"),
        (f"thrum.rec.{key}.0", "x" * 100, "Thrum-Piece: 1 0 1 4294967295 4096 1 2"),
        (f"thrum.rec.{key}.0", "x" * 100, "Thrum-Piece: 1 -1 0 0 0 0 0"),
        (f"thrum.rec.{key}.18446744073709551615", "x" * 3000,
         "Thrum-Piece: 1 18446744073709551615 77 0 4096 -5 9223372036854775807"),
        ("thrum.rec.evil.web.zz.0", "x", "Thrum-Piece: 1 0 1 0 4096 1 2"),
        ("thrum.def.evil.web.zz.0", "x" * 5000, "Thrum-Count: 1 0"),
        (f"thrum.def.evil.web.{recording}.0", "\0" * 64, "Thrum-Count: 1 1 1 1 1 1"),
        (f"thrum.def.{key}.4000000000", "x" * 64, ""),
        (f"thrum.def.{key}.2047", "\0\0\0\0\xff\xff\xff\x7f" + "x" * 64, ""),
        ("thrum.def.evil", "x", "")):
    check('"seq"' in server.ask(subject, body, header), subject)
check(dump(web.path) == dump(server.url("/web")), "among forged messages")
status, text, errors = run("fleet", "list", "--format=tsv", server.url())
check(status == 0 and len(text.splitlines()) == 2 and "evil" not in text, text, errors)
status, _, errors = run("store", server.url(), "-o", os.path.join(folder.name, "tables"))
check(status == 0, "store among forged messages", errors)
print(f"{time.monotonic() - started:.1f} s: forged")

# Definitions that the server has lost: names are missing, and no event is.
parts = int(re.search(r"\d+", server.ask("$JS.API.STREAM.PURGE.THRUM_TABLES", f'{{"filter": "thrum.def.{key}.1"}}')
                      .split("purged")[1]).group())
check(parts == 1, "one part less", parts)
status, text, errors = run("dump", "--format=tsv", server.url("/web"))
check(status == 0 and "step 14" in text, "without some definitions", errors)
check(text.count("\n") > 30, "no event is missing", text)

# A program of the same name, with the same number, on a machine that calls itself the same.
with open(web.path, "rb") as file:
    pid_at = file.read(4096).find(struct.pack("<I", web.process.pid))
again = Program("recordings/again")
again.tell("task 1 by the next one")
again.end()
with open(again.path, "r+b") as file:
    file.seek(pid_at)
    check(struct.unpack("<I", file.read(4))[0] == again.process.pid, "the number's place")
    file.seek(pid_at)
    file.write(struct.pack("<I", web.process.pid))
os.replace(again.path, web.path)
status, _, errors = run("ship", recordings, "--to", server.url(), "--state", state, "--once")
check(status == 0 and key.rsplit(".", 1)[0] in errors and key not in errors, "another recording", errors)
status, text, _ = run("fleet", "list", "--format=tsv", server.url("/web"))
rows = [line.split("\t") for line in text.splitlines()[1:]]
check(len(rows) == 2 and rows[0][:3] == rows[1][:3], "two of one name", rows)
text = dump(server.url("/web"))
check("step 14" in text and "by the next one" in text, "both are read")

# A machine's clock is wrong by a day, or is set while it records: the recording is the same.
for name, seconds in (("late", -86400), ("early", 86400), ("set", 3600)):
    other = Program("recordings/" + name)
    agent = Command("ship", recordings, "--to", server.url(), "--state", state)
    agent.wait_for(f".{name}.")
    other.tell("task 1 before")
    # The first reading of CLOCK_REALTIME is another one; the recorder reads it again after a second.
    with open(other.path, "r+b") as file:
        head, now = file.read(4096), time.time_ns()
        place = next(at for at in range(0, 4096, 8) if abs(struct.unpack_from("<q", head, at)[0] - now) < 120e9)
        file.seek(place)
        file.write(struct.pack("<q", struct.unpack_from("<q", head, place)[0] + seconds * 10**9))
    time.sleep(1.1 if name == "set" else 0)
    other.tell("task 1 afterwards")
    other.end()
    agent.wait_for(f"{name}.thrum: its program has ended")
    text = dump(server.url("/" + name))
    check(text == dump(other.path) and "before" in text and "afterwards" in text, name, text)
    check(agent.end() == 0, agent.output)
print(f"{time.monotonic() - started:.1f} s")
server.kill()
finish()
