#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`thrum why --slow` names the cause of what is slow in the programs here.

expect/NAME.txt holds what is expected of programs/NAME.c:

    slow: PATTERN           of labels
    says: TEXT              in the sentence on the main cause
    diff: TEXT              in the main difference from the twin
"""

import glob
import os
import subprocess
import sys
import tempfile

THRUM = os.environ["THRUM"]
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.environ["BUILD"], "tests", "slow", "programs")
failures = []


def check(right, message):
    if not right:
        print(message)
        failures.append(message)


def record(folder, name, *arguments):
    trace = os.path.join(folder, "-".join([*arguments, "trace"]).replace("=", "-"))
    subprocess.run([os.path.join(PROGRAMS, f"slow-{name}"), trace, *arguments], check=True,
                   timeout=60)
    return trace


def thrum(statuses, *arguments):
    done = subprocess.run([THRUM, *arguments], capture_output=True, text=True, check=False,
                          timeout=60)
    check(done.returncode in statuses,
          f"thrum {' '.join(arguments)}: status {done.returncode}: {done.stderr}")
    return done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(": ", 1) for line in file if not line.startswith("#")]
    return {key: [text for other, text in lines if other == key]
            for key in ("slow", "says", "diff")}


def main():
    files = sorted(glob.glob(os.path.join(HERE, "expect", "*.txt")))
    for path in files:
        name, expected = os.path.basename(path)[:-len(".txt")], read(path)
        with tempfile.TemporaryDirectory() as folder:
            bad = record(folder, name)
            output = thrum([0], "why", f"--slow={expected['slow'][0]}", bad)
            cause = (output.split("\n") + [""])[1]
            for text in expected["says"]:
                check(text in cause, f"{name}: --slow doesn't say: {text}\n{output}")
    check(len(files) >= 18, f"only {len(files)} programs")
    if failures:
        sys.exit(f"{len(failures)} failures")


main()
