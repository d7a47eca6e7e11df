#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/counters/: one page of counters each."""

import os
import struct

NAME, VALUES, SUMS, BUCKETS = 1, 2, 3, 4
LEAST, MOST = (1 << 63) - 1, -(1 << 63)


def page(blocks, version=1):
    tags = [part << 16 | number for part, number, _ in blocks] + [0] * (31 - len(blocks))
    bytes_of = [block if isinstance(block, bytes) else struct.pack("<16q", *block, *[0] * (16 - len(block)))
                for _, _, block in blocks]
    return struct.pack("<31II", *tags, version) + b"".join(bytes_of).ljust(31 * 128, b"\0")


def name(number, kind, path):
    return NAME, number, struct.pack("<II120s", kind, 0, path)


TREE = [name(0, 1, b"http/requests/get"), name(1, 1, b"http/requests"), name(2, 0, b"http/open"),
        name(17, 0, b"alone"), (VALUES, 0, [5, 7, -2]), (VALUES, 0, [30]), (VALUES, 1, [0, 9])]
SIZES = [name(3, 2, b"size/in"), name(4, 2, b"size/out"), (SUMS, 3, [123, 3, 90, 1]), (SUMS, 4, [0, LEAST, MOST]),
         (BUCKETS, 3, [0, 0, 0, 1]), (BUCKETS + 3, 3, [4, 1]), (BUCKETS + 64, 4, [0, 2]), (BUCKETS + 124, 4, [1])]
ODD = [name(5, 9, b"kind"), name(6, 0, b"//a//b/"), name(6, 0, b"twice"), name(5000, 0, b"number"), name(7, 0, b""),
       (NAME, 8, b"\0" * 8 + b"x" * 120), (BUCKETS + 62, 6, [1]), (200, 3, [1])]


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds", "counters")
    os.makedirs(folder, exist_ok=True)
    seeds = {"tree": page(TREE), "sizes": page(SIZES), "odd": page(ODD + TREE), "version": page(TREE, 2),
             "cut": page(TREE + SIZES)[:3000], "two": page(TREE) + page(SIZES)}
    for seed, content in seeds.items():
        with open(os.path.join(folder, seed), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
