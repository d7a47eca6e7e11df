#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""systemd takes the agent's unit, which leaves it little; and the agent needs no system call that the unit forbids."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing  # noqa: E402
from obeys import Command, Program, THRUM, check, failures, finish, folder  # noqa: E402

MOST = 2.5  # of systemd's 10 points for what a service could do
if not shutil.which("systemd-analyze"):
    print("skipped: systemd-analyze is missing")
    sys.exit(77)
with open(os.path.join(os.environ["SOURCE"], "data/systemd/thrum-ship.service"), encoding="utf-8") as file:
    unit = file.read().replace("/usr/bin/thrum", THRUM)


def analyze(*arguments):
    done = subprocess.run(["systemd-analyze", "--no-pager", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def verify(name, text):
    path = os.path.join(folder.name, name + ".service")
    with open(path, "w", encoding="utf-8") as to:
        to.write(text)
    return path, *analyze("verify", "--man=no", path)


path, status, output = verify("thrum-ship", unit)
if status and "No such file" not in output and "thrum-ship.service" not in output:
    print("skipped: systemd-analyze can't run here:", output.strip().replace("\n", " "))
    sys.exit(77)
check(status == 0 and "thrum-ship" not in output, "the unit", output)
_, status, output = verify("bad", unit.replace("PrivateDevices=", "PrivateDevice="))
check("PrivateDevice" in output, "a unit with an unknown key passes", output)

status, output = analyze("security", "--offline=true", f"--threshold={int(MOST * 10)}", path)
print(output.splitlines()[-1].strip())
check(status == 0, "a service could do too much", output)
check(analyze("security", "--offline=true", "--threshold=1", path)[0] != 0, "no threshold")


def calls_of(name):
    """The system calls of a set, with those of the sets in it."""
    found = set()
    for line in analyze("syscall-filter", name)[1].splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith("#"):
            found |= calls_of(word) if word.startswith("@") else {word}
    return found


rules = re.findall("^SystemCallFilter=(~?)(.*)$", unit, re.M)
allowed = set()
for leaves_out, sets in rules:
    for name in sets.split():
        allowed = allowed - calls_of(name) if leaves_out else allowed | calls_of(name)
check("read" in allowed and "mount" not in allowed and "chown" not in allowed, "the sets of system calls")
reason = "" if shutil.which("strace") else "strace is missing"
reason = reason or (os.environ["SANITIZE"] != "none" and "sanitizers make calls of their own") or missing()
if reason:
    print("skipped: what the agent calls,", reason)
    sys.exit(1 if failures else 77)
server, program, log = Server(), Program("web"), os.path.join(folder.name, "calls")
agent = Command("ship", folder.name, "--to", server.url(), "--state", os.path.join(folder.name, "state"),
                under=("strace", "-f", "-o", log))
agent.wait_for(".web.")
program.tell("task 1 GET /")
program.end()
agent.wait_for("its program has ended")
# strace holds a signal back, and its child would stay.
with open(log, encoding="utf-8") as lines:
    calls = lines.read()
os.kill(int(calls.split()[0]), 15)
agent.wait()
made = set(re.findall(r"^\d+ +(\w+)\(", calls, re.M))
check(len(made) > 20 and "futex" in made, "calls", made)
check(made <= allowed, "calls that the unit forbids:", made - allowed)
server.kill()
finish()
