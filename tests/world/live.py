#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Programs that run are followed as one trace: each event once, in its turn, until the last program ends."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from obeys import Command, Program, check, finish, run  # noqa: E402

programs = [Program(name) for name in ("web", "stock", "database")]
paths = [program.path for program in programs]
OPTIONS = "--together", "--format=tsv", "--event=label"
dump = Command("dump", "--follow", *OPTIONS, *paths)
for i in range(4):
    for program in programs:
        program.tell(f"task 1 turn {i} of {program.pid}")
        dump.wait_for(f"turn {i} of {program.pid}")
# One is killed, and the others go on.
programs[1].process.kill()
programs[1].process.wait()
for i in range(200):
    for program in programs[::2]:
        program.tell(f"task 1 later {i}")
for program in programs[::2]:
    program.end()
check(dump.wait() == 0, "the end", dump.output)

status, text, errors = run("dump", *OPTIONS, *paths)


def labels(dumped):
    """Without times: how fast the clocks are is known better at the end."""
    return [row.split("\t")[1:] for row in dumped.splitlines()]


rows = labels(dump.output)
check(status == 0 and len(rows) > 400 and sorted(rows) == sorted(labels(text)), "all, once", errors)
turns = [row for row in rows if "turn " in row[5]]
check(turns == [row for row in labels(text) if "turn " in row[5]] and len(turns) == 12, "their order", turns)
finish()
