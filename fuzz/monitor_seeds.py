#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/monitor/: the recordings of fuzz/seeds/thrum_trace, with a page of counters."""

import os
import struct

BLOCKS, WORDS = 31, 16
NAME, VALUES, SUMS, BUCKETS = 1, 2, 3, 4


def page(blocks):
    """A page of counters: see src/format/counters.h."""
    tags = [part << 16 | number for part, number, _ in blocks]
    words = b"".join(content.ljust(8 * WORDS, b"\0") for _, _, content in blocks)
    return (struct.pack(f"<{BLOCKS}II", *tags, *[0] * (BLOCKS - len(tags)), 1) +
            words).ljust(4096, b"\0")


def name(kind, path):
    return struct.pack("<II", kind, 0) + path


COUNTERS = page([
    (NAME, 0, name(0, b"pool/idle")), (NAME, 1, name(1, b"net/bytes")),
    (NAME, 2, name(2, b"net/latency-us")), (VALUES, 0, struct.pack("<qq", 7, 99)),
    (SUMS, 2, struct.pack("<qqqq", 100, 3, 90, 1)), (BUCKETS + 0, 2, struct.pack("<4q", 0, 0, 0, 2)),
    (BUCKETS + 3, 2, struct.pack("<q", 1))])

here = os.path.dirname(os.path.abspath(__file__))
os.makedirs(f"{here}/seeds/monitor", exist_ok=True)
for seed in ("one_lane", "two_lanes", "replaced"):
    with open(f"{here}/seeds/thrum_trace/{seed}", "rb") as file:
        content = bytearray(file.read())
    content += b"\0" * (-len(content) % 4096)
    struct.pack_into("<Q", content, 16, len(content) + 4096)           # the whole size
    struct.pack_into("<QQ", content, 32 + 2 * 16, len(content), 4096)  # the counters' section
    with open(f"{here}/seeds/monitor/{seed}", "wb") as file:
        file.write(content + COUNTERS)
