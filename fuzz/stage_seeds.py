#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/stage/: actions on a stage, in the bytes that fuzz/stage.c reads."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
(FRAME, GROW, FORGET, ADD, REMOVE, POINT, DRAG, WHEEL, COMMAND, LINK, SEARCH, TYPE,
 PANEL) = range(13)
CREATE, LABEL, SHOULD, READ, WAIT, RESOLVE, SWITCH, SIGNAL = 0, 1, 2, 3, 4, 6, 10, 11
ROUNDS, FOLLOW, FINDINGS = 128, 16, 64


def pixels(*values):
    return b"".join((value + 10).to_bytes(2, "big") for value in values)


def event(kind, task, other=0, step=3):
    return bytes((kind, other << 4 | task, step))


def grow(part, *events, how=FOLLOW):
    return bytes((GROW, part, how | len(events))) + b"".join(events)


def frame(ms=16):
    return bytes((FRAME,)) + pixels(600, 400) + bytes((ms,))


def drag(x1, y1, x2, y2, how=0):
    return bytes((DRAG, how)) + pixels(x1, y1, x2, y2, x2, y2)


def wheel(how, x, y, dx, dy):
    return bytes((WHEEL, how)) + pixels(x, y, dx + 150, dy + 500)


def typed(text):
    return b"\xff" + text + b"\0"


# Eight tasks that run in turns, a pause of 3 ms after each five.
BEGIN = bytes((0xff, 5 << 3 | 4, 1))
TASKS = grow(0, *(event(CREATE, 1, task) for task in range(2, 8)),
             *(event(LABEL, task) for task in range(2, 8)), event(SHOULD, 3),
             event(WAIT, 3, 4), event(SIGNAL, 5, 4), how=FINDINGS)
SEEDS = {
    "dragged": BEGIN + frame() + drag(400, 300, 200, 350) + frame() + wheel(2, 300, 300, 0, -300)
    + frame() + wheel(0, 300, 300, 100, 20) + drag(300, 20, 500, 20) + frame() + wheel(
        1, 400, 300, 20, 0) + drag(300, 300, 500, 300, 1) + frame(),
    "live": BEGIN + TASKS + frame() + grow(0, event(SWITCH, 3), event(RESOLVE, 3, 3),
                                           how=FOLLOW | ROUNDS) + bytes((0xe3, 0x25))
    + frame() + bytes((FORGET, 0, 100)) + frame() + grow(0, event(SWITCH, 2)),
    "two": BEGIN + TASKS + bytes((ADD, 0xbf, 0x1d, 3)) + frame() + drag(300, 200, 300, 250)
    + bytes((LINK, 7, 1)) + frame() + bytes((LINK, 9 | 16, 1, 180)) + bytes((LINK, 7 | 16, 0))
    + frame() + wheel(2, 300, 350, 0, 200) + bytes((REMOVE, 0)) + frame(),
    "typed": BEGIN + TASKS + bytes((TYPE, 1)) + typed(b"t=0..90000&fold=1&sel=3&row=0.5")
    + frame() + bytes((TYPE, 0)) + typed("5 µs + 20 µs".encode()) + frame(100)
    + bytes((SEARCH,)) + typed(b"e") + bytes((COMMAND, 11, COMMAND, 12)) + frame(),
    "keys": BEGIN + TASKS + frame() + b"".join(bytes((COMMAND, i)) + frame(40)
                                               for i in range(24)),
    "panel": BEGIN + TASKS + frame() + bytes((LINK, 2, 0, 0)) + b"".join(
        bytes((PANEL, 0, 3, task, how)) for task in range(1, 8) for how in (0, 1, 2))
    + b"".join(bytes((PANEL, 0, 1, 0xc1)) + pixels(10, 290, 300) + bytes((table, 0)) + typed(b"e")
               for table in range(7)),
}

os.makedirs(os.path.join(HERE, "seeds", "stage"), exist_ok=True)
for name, data in SEEDS.items():
    with open(os.path.join(HERE, "seeds", "stage", name), "wb") as seed:
        seed.write(data)
