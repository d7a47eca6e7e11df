# SPDX-License-Identifier: ISC
"""A program that records what a test tells it to, and commands that look at it meanwhile."""

import atexit
import os
import select
import subprocess
import sys
import tempfile
import time

THRUM = os.environ["THRUM"]
PROGRAM = os.path.join(os.environ["BUILD"], "tests/thrum/programs/obeys")
PATIENCE = 60  # s, also under a sanitizer on a machine that is busy

folder = tempfile.TemporaryDirectory()
failures = []


def check(right, *what):
    if not right:
        print("wrong:", *what)
        failures.append(what)


def finish():
    sys.exit(1 if failures else 0)


class Program:
    """tests/thrum/programs/obeys.c"""

    def __init__(self, name="obeys", size="1M", under=()):
        self.path = os.path.join(folder.name, name + ".thrum")
        self.process = subprocess.Popen(
            [*under, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "THRUM_TRACE": self.path, "THRUM_SIZE": size})
        self.pid = str(self.process.pid)
        self.tell("gauge started 1")

    def tell(self, line):
        """Tells it to do something, and returns the time in ns at which it began to."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


class Command:
    """thrum with some arguments, which runs on beside the test."""

    def __init__(self, *arguments, under=()):
        self.process = subprocess.Popen([*under, THRUM, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, bufsize=1)
        atexit.register(self.process.kill)
        self.output = self.pending = ""

    def read(self, seconds):
        """Returns the next line, or "" if there is none in time or at the end."""
        end = time.monotonic() + seconds
        while "\n" not in self.pending:
            left = max(end - time.monotonic(), 0)
            if not select.select([self.process.stdout], [], [], left)[0]:
                return ""
            more = os.read(self.process.stdout.fileno(), 65536).decode()
            self.pending += more or "\n"
            if not more:
                break
        line, _, self.pending = self.pending.partition("\n")
        self.output += line + "\n" if line else ""
        return line

    def wait_for(self, text):
        """Returns the next line that contains the text."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            line = self.read(1)
            if text in line and line:
                return line
            if not line and self.process.poll() is not None:
                break
        status = self.process.poll()
        self.process.kill()
        sys.exit(f"no {text!r} (exit status {status}): {self.output!r}")

    def end(self):
        """Interrupts it. Returns its exit status."""
        self.process.terminate()
        return self.wait()

    def wait(self):
        rest, _ = self.process.communicate(timeout=PATIENCE)
        self.output += self.pending + rest
        return self.process.returncode


def run(*arguments):
    """Runs thrum to its end. Returns its status, its output and its errors."""
    done = subprocess.run([THRUM, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr
