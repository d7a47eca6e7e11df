#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/scene/: the seeds of both readers, each with four ways to look at it."""

import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
FROM = {"mirage_trace": ("labels", "ops", "ring"), "thrum_trace": ("gap", "one_lane", "two_lanes")}


def look(start, end, row, width, height, projection, flags, command, task):
    return struct.pack("<qqHHHBBBB6x", start, end, row, width, height, projection, flags, command,
                       task)


LOOKS = (look(0, 0, 0, 1600, 900, 0, 0x8e, 0, 0)
         + look(1000, 100000, 0, 800, 600, 1, 0x2b, 1, 1)
         + look(0, 0, 1, 1200, 300, 64, 0x40, 9, 0)
         + look(500, 5, 0, 390, 456, 5, 0x71, 17, 3))

os.makedirs(os.path.join(HERE, "seeds", "scene"), exist_ok=True)
for folder, names in FROM.items():
    for name in names:
        with open(os.path.join(HERE, "seeds", folder, name), "rb") as seed:
            data = seed.read()
        with open(os.path.join(HERE, "seeds", "scene", name), "wb") as seed:
            seed.write(data + LOOKS)
