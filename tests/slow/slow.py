#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`thrum why --slow` names the cause of what is slow in the programs here, and `thrum diff` that of
the difference from their twins.

expect/NAME.txt holds what is expected of programs/NAME.c:

    slow: PATTERN           of labels
    says: TEXT              in the sentence on the main cause
    never: TEXT             not in it
    diff: TEXT              in the main difference between the twin and the program

Two recordings of the same program with other ids, and with times that differ a little, have no
differences.
"""

import glob
import os
import re
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
            for key in ("slow", "says", "never", "diff")}


def main():
    files = sorted(glob.glob(os.path.join(HERE, "expect", "*.txt")))
    for path in files:
        name, expected = os.path.basename(path)[:-len(".txt")], read(path)
        with tempfile.TemporaryDirectory() as folder:
            bad, good = record(folder, name), record(folder, name, "healthy")
            output = thrum([0], "why", f"--slow={expected['slow'][0]}", bad)
            cause = (output.split("\n") + [""])[1]
            for text in expected["says"]:
                check(text in cause, f"{name}: --slow doesn't say: {text}\n{output}")
            for text in expected["never"]:
                check(text not in cause, f"{name}: --slow says: {text}\n{output}")
            output = thrum([1], "diff", good, bad)
            first = re.search(r"(?m)^The main difference:\n((?:.+\n)*)", output)
            for text in expected["diff"]:
                check(first and text in first.group(1), f"{name}: diff doesn't say: {text}\n{output}")
            for same in (["ids=7"], ["jitter=1"], ["jitter=2", "ids=9"]):
                for twin, trace in ([], bad), (["healthy"], good):
                    other = record(folder, name, *twin, *same)
                    output = thrum([0], "diff", trace, other)
                    check("No differences" in output, f"{name} {twin} {same}: {output}")
    check(len(files) >= 19, f"only {len(files)} programs")
    if failures:
        sys.exit(f"{len(failures)} failures")


main()
