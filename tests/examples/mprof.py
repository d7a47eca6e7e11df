#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The page about mirage-profile: its C is that of the example, and the example records all of it."""

import os
import re
import subprocess
import sys
import tempfile

import tutorial

EVENTS = ("create", "label", "should-resolve", "wait", "signal", "read", "resolve", "suspend", "resume", "counter",
          "span-begin", "span-end")


def code_faults(text, code):
    """Yields the rows whose code isn't the example's."""
    rows = re.findall(r"^\| (?!MProf|---)(.*?) \| `(.*)` \|$", text, re.MULTILINE)
    if len(rows) < 20:
        yield "the table has lost rows"
    lines = [line.strip() for line in code.split("\n")]
    for name, line in rows:
        if line not in lines and not (";" not in line and line in code):
            yield f"{name}: the example has no line\n{line}"


def run_faults(folder):
    """Runs the example and yields the events that it didn't record."""
    file = os.path.join(folder, "mprof.thrum")
    subprocess.run([os.path.join(tutorial.BUILD, "examples", "mprof"), file], check=True,
                   stdout=subprocess.DEVNULL)
    dump = subprocess.run([os.path.join(tutorial.BUILD, "thrum"), "dump", "--format=tsv", file],
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    seen = {line.split("\t")[2] for line in dump.splitlines()}
    for event in EVENTS:
        if event not in seen:
            yield f"no event {event} was recorded"


def main():
    with open(os.path.join(tutorial.SOURCE, "doc", "mprof.md"), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(tutorial.SOURCE, "examples", "mprof.c"), encoding="utf-8") as file:
        code = file.read()
    if not list(code_faults(text, code.replace("thrum_stop();", "stop();"))):
        sys.exit("the test accepts other code")
    with tempfile.TemporaryDirectory() as folder:
        faults = list(code_faults(text, code)) + list(run_faults(folder))
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
