#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/history/: slots and sketches, each behind its place; and the beginnings of files."""

import os
import struct

NOW = 1700000000
SECONDS, MINUTES, HOURS = 300, 1440, 720


def place(ring, time):
    first, slots, length = ((0, SECONDS, 1), (SECONDS, MINUTES, 60), (SECONDS + MINUTES, HOURS, 3600))[ring]
    return first + time // length % slots, time - time % length


def sketch(shift, cells):
    room = [0] * (24 - len(cells))
    return struct.pack("<HH24h24I", len(cells), shift, *[c[0] for c in cells], *room, *[c[1] for c in cells], *room)


def slot(ring, time, content, span=10**9, count=3, total=60.0, least=5, most=31, last=0):
    at, start = place(ring, time)
    return struct.pack("<HQQQdqqq", at, start, span, count, total, least, most, last) + content


def header(version=1, series=1):
    return struct.pack("<8sII48x", b"THRUMHIS", version, series)


SMALL = sketch(0, [(5, 1), (24, 1), (31, 1)])
SEEDS = {
    "rings": b"".join(slot(ring, NOW - 3, SMALL) for ring in range(3)),
    "future": b"".join(slot(ring, NOW + 10**7, SMALL) for ring in range(3)) + slot(0, 2**64 - 1, SMALL),
    "full": slot(0, NOW, sketch(0, [(i, 2**32 - 1) for i in range(-12, 12)])),
    "wide": slot(0, NOW, sketch(11, [(-1, 1), (0, 2)])) + slot(1, NOW, sketch(3, [(-120, 1), (119, 1)])),
    "outside": slot(0, NOW, sketch(0, [(-961, 1)])) + slot(0, NOW - 1, sketch(11, [(32767, 1)]))
    + slot(0, NOW - 2, sketch(0, [(960, 1)])) + slot(0, NOW - 3, sketch(12, [(0, 1)])),
    "unsorted": slot(0, NOW, sketch(0, [(5, 1), (5, 1), (3, 1)])),
    "huge": slot(0, NOW, SMALL, 2**64 - 1, 2**64 - 1, 1e300, -2**63, 2**63 - 1)
    + slot(1, NOW, SMALL, 1, 2**64 - 1, 1e39, -2**63, 2**63 - 1) + slot(2, NOW, SMALL, total=float("nan")),
    "crossed": slot(0, NOW, SMALL, least=9, most=3),
    "empty": header(series=0),
    "version": header(version=2),
    "many": header(series=2**32 - 1),
    "cut": header() + struct.pack("<120sII", b"a", 0, 0),
    "kind": header() + struct.pack("<120sII", b"a", 9, 0) + bytes(200),
}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds", "history")
    os.makedirs(folder, exist_ok=True)
    for seed, content in SEEDS.items():
        with open(os.path.join(folder, seed), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
