#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/switches/: records of context switches as the kernel writes them."""

import os
import struct

LOST, EXIT, SWITCH = 2, 4, 14
OUT, PREEMPTED = 1 << 13, 1 << 14


def record(type_, misc, time, body=b""):
    """A record of thread 7 with its sample_id: TID, TIME, CPU."""
    body += struct.pack("<IIQII", 7, 7, time, 0, 0)
    return struct.pack("<IHH", type_, misc, 8 + len(body)) + body


SEEDS = {
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
