#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/switches/: records of context switches as the kernel writes them."""

import os
import struct

LOST, EXIT, SAMPLE, SWITCH = 2, 4, 9, 14
OUT, PREEMPTED = 1 << 13, 1 << 14


def record(type_, misc, time, body=b""):
    """A record of thread 7 with its sample_id: TID, TIME, CPU."""
    body += struct.pack("<IIQII", 7, 7, time, 0, 0)
    return struct.pack("<IHH", type_, misc, 8 + len(body)) + body


def wake(time, by, flags, tid):
    """A sample of sched_waking, which tells that thread `by` wakes thread `tid`."""
    raw = struct.pack("<HBBi16siii", 375, flags, 0, by, b"waker", tid, 120, 0)
    body = struct.pack("<IIQIII", by, by, time, 0, 0, len(raw)) + raw
    return struct.pack("<IHH", SAMPLE, 0, 8 + len(body)) + body


SEEDS = {
    "wakes": record(SWITCH, OUT, 100) + wake(120, 8, 0, 7) + wake(130, 8, 8, 7) +
             wake(140, 8, 0, 9) + record(SWITCH, 0, 200),
    "format": b"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n",
    "switches": record(SWITCH, OUT, 100) + record(SWITCH, 0, 200) +
                record(SWITCH, OUT | PREEMPTED, 300) + record(SWITCH, 0, 400) +
                record(EXIT, 0, 500, struct.pack("<IIIIQ", 7, 1, 8, 1, 500)),
    "lost": record(SWITCH, OUT, 100) + record(LOST, 0, 150, struct.pack("<QQ", 1, 12)) +
            record(SWITCH, 0, 200),
    "short": record(LOST, 0, 150) + record(EXIT, 0, 160) + struct.pack("<IHH", SWITCH, 0, 8),
}

here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, "seeds", "switches")
os.makedirs(folder, exist_ok=True)
for name, content in SEEDS.items():
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
