#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum attach starts and stops the recording of a process that has libthrum, or says why not."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from obeys import PATIENCE, check, finish, folder, run, Command  # noqa: E402

PROGRAMS = os.path.join(os.environ["BUILD"], "tests/thrum/programs")
NOT_YET = 3


class Asleep:
    """tests/thrum/programs/asleep.c, or another program that answers bytes with bytes"""

    def __init__(self, *command, **options):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("THRUM_")}
        self.process = subprocess.Popen(command or [os.path.join(PROGRAMS, "asleep")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                        env=environment, cwd=folder.name, **options)
        self.pid = str(self.process.pid)
        self.process.stdout.read(1)

    def tell(self, command):
        self.process.stdin.write(command.encode())
        check(self.process.stdout.read(1) == b"d", "no answer to", command)

    def attach(self, *arguments):
        """Asks, without waiting for long."""
        return run("attach", self.pid, "--wait=1ms", *arguments)

    def stop(self):
        """Stops the recording: it does so at its next event."""
        stopping = Command("attach", self.pid, "--stop", f"--wait={PATIENCE}s")
        while stopping.process.poll() is None:
            self.tell("e")
        return stopping.process.returncode, stopping.process.stdout.read()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


def path(name):
    return os.path.join(folder.name, name)


def labels(name):
    status, text, errors = run("dump", "--format=tsv", "--event=label", path(name))
    check(status == 0, errors)
    return [line.split("\t")[6] for line in text.splitlines()[1:]]


# A process that sleeps starts at its next event, which is recorded.
asleep = Asleep()
status, text, errors = asleep.attach("--start", "-o", path("first.thrum"), "--size=1M")
check(status == NOT_YET and "asked" in errors and "at its next event" in errors, status, errors)
check(not os.path.exists(path("first.thrum")), "it has started without an event")
asleep.tell("e")
check("event" in labels("first.thrum"), "the first event is not recorded")
status, _, errors = asleep.attach("--start")
check(status == 1 and "records already, to " + path("first.thrum") in errors, status, errors)
status, _, errors = asleep.attach("-o", path("copy.thrum"))
check(status == 0 and "event" in labels("copy.thrum"), status, errors)
status, text = asleep.stop()
check(status == 0 and "has stopped recording to " + path("first.thrum") in text, status, text)
before = labels("first.thrum")
asleep.tell("e")
check(labels("first.thrum") == before, "it records after the stop")
check("stopped" in run("dump", path("first.thrum"))[1].splitlines()[0], "another end")
status, text = asleep.stop()
check(status == 1 and "nothing is being recorded" in text, status, text)

# In a signal's handler; the later request counts.
asleep.attach("--start", "-o", path("wrong.thrum"))
asleep.attach("--start", "-o", path("handler.thrum"), "--size=1M", "--full=discard")
asleep.tell("s")
check("in a handler" in labels("handler.thrum") and not os.path.exists(path("wrong.thrum")),
      os.listdir(folder.name))
check(asleep.stop()[0] == 0, "it does not stop")

# A child has not been asked. ThreadSanitizer knows no children of system calls.
for number, way in enumerate("f" if "thread" in os.environ["SANITIZE"] else "fc"):
    asleep.attach("--start", "-o", path(f"child{number}.thrum"), "--size=1M")
    asleep.tell(way)
    check(not os.path.exists(path(f"child{number}.thrum")), "a child has started", way)
    asleep.attach("--start", "-o", path(f"child{number}.thrum"), "--size=1M")
    asleep.tell("e")
    asleep.tell(way)
    check("in a child" not in labels(f"child{number}.thrum"), "a child records", way)
    check(asleep.stop()[0] == 0, "it does not stop")

# Counters only.
asleep.attach("--start", "-o", path("counters.thrum"), "--counters-only")
asleep.tell("e")
status, text, errors = run("stats", "--counters", path("counters.thrum"))
check("turns" in text, text, errors)
check(asleep.stop()[0] == 0, "it does not stop")

# A file that can't be written.
asleep.attach("--start", "-o", path("missing/x.thrum"))
asking = Command("attach", asleep.pid, "--start", f"--wait={PATIENCE}s",
                 "-o", path("missing/x.thrum"))
while asking.process.poll() is None:
    asleep.tell("e")
text = asking.process.stdout.read()
check(asking.process.returncode == 2 and "no such file" in text, text)
check(run("attach", asleep.pid)[0] == 1, "it records")
check(asleep.end() == 0, "it has failed")
check(run("attach", asleep.pid, "--start")[0] == 2, "the process has ended")

# Others.
other = Asleep(os.path.join(PROGRAMS, "version99"))
status, _, errors = other.attach("--start")
check(status == 2 and "version 99" in errors, status, errors)
check(other.end() == 0, "it was written to")
other = subprocess.Popen(["sleep", "1000"])
status, text, errors = run("attach", str(other.pid), "--start")
check(status in (1, 2) and "has no recorder that can be asked" in errors, status, errors)
other.kill()
other.wait()
for arguments in (["1", "--start", "--stop"], ["x"], ["1", "--size=x", "--start"]):
    check(run("attach", *arguments)[0] == 64, arguments)

# In a mount namespace of its own, the file's name is the process's.
if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
    print("skipped: unshare is not possible, so no other file system is tried")
    finish()
asleep = Asleep("unshare", "--mount", os.path.join(PROGRAMS, "asleep"))
status, _, errors = asleep.attach("--start", "-o", "x.thrum")
check(status == 64 and "begins with /" in errors, status, errors)
asking = Command("attach", asleep.pid, "--start", f"--wait={PATIENCE}s",
                 "-o", path("inside.thrum"))
while asking.process.poll() is None:
    asleep.tell("e")
text = asking.process.stdout.read()
check(f"of its own file system: here it is /proc/{asleep.pid}/root{path('inside.thrum')}" in text,
      text)
check(asleep.end() == 0, "it has failed")
finish()
