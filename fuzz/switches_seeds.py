#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/switches/: records of context switches and tracepoints as the kernel writes them."""

import os
import struct

LOST, EXIT, SAMPLE, SWITCH = 2, 4, 9, 14
POINTS = 370  # the number of the first tracepoint in switches.c
OUT, PREEMPTED = 1 << 13, 1 << 14


def record(type_, misc, time, body=b""):
    """A record of thread 7 with its sample_id: TID, TIME, CPU."""
    body += struct.pack("<IIQII", 7, 7, time, 0, 0)
    return struct.pack("<IHH", type_, misc, 8 + len(body)) + body


def sample(time, by, raw):
    """A sample of a tracepoint with its data."""
    body = struct.pack("<IIQIII", by, by, time, 0, 0, len(raw)) + raw
    return struct.pack("<IHH", SAMPLE, 0, 8 + len(body)) + body


def wake(time, by, flags, tid):
    """A sample of sched_waking, which tells that thread `by` wakes thread `tid`."""
    return sample(time, by, struct.pack("<HBBi16siii", POINTS, flags, 0, by, b"waker", tid, 120, 0))


def irq(time, use, number, name=b""):
    """A sample of an interrupt, hard or soft, its beginning with a name or its end."""
    return sample(time, 7, struct.pack("<HBBiIII", POINTS + use, 0, 0, 7, number, 0, len(name) << 16 | 20) + name)


def request(time, use, letters):
    """A sample of a request to a block device."""
    return sample(time, 7, struct.pack("<HBBiI4xQIIH10s4x", POINTS + use, 0, 0, 7, 8 << 20, 2048, 8, 4096, 0, letters))


def fault(time, more):
    """A sample of a page fault: the numbers that it has more tell its kind."""
    return struct.pack("<IHHIIQII", SAMPLE, 0, 32 + 8 * more, 7, 7, time, 0, 0) + bytes(8 * more)


SEEDS = {
    "wakes": record(SWITCH, OUT, 100) + wake(120, 8, 0, 7) + wake(130, 8, 8, 7) +
             wake(140, 8, 0, 9) + record(SWITCH, 0, 200),
    "interrupts": irq(100, 1, 24, b"disk") + irq(110, 2, 24) + irq(120, 3, 1) + irq(130, 4, 1) + irq(140, 5, 0) +
                  irq(150, 6, 0) + irq(160, 1, 25, b"a name that is longer than its data")[:-3],
    "requests": request(100, 7, b"WS") + request(110, 8, b"WS") + request(120, 7, b"FF") + request(130, 7, b"?"),
    "faults": record(SWITCH, 0, 90) + fault(100, 0) + fault(110, 1) + fault(120, 0) + fault(130, 2) + fault(140, 3),
    "format": b"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n",
    "fields": b"field:dev_t dev;\toffset:8;\tsize:4;\nfield:sector_t sector;\toffset:16;\tsize:8;\n"
              b"field:unsigned int bytes;\toffset:28;\tsize:4;\nfield:char rwbs[10];\toffset:34;\tsize:10;\n"
              b"field:int irq;\toffset:4096;\tsize:4096;\nfield:__data_loc char[] name;\toffset:12;\tsize:4;\n"
              b"field:unsigned int vec;\toffset:99999999999;\tsize:0;\nfield:];field:[];field:x",
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
