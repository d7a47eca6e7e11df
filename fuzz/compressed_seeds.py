#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/compressed/ from the seeds of thrum_trace: frames of zstd (RFC 8878), whole,
damaged, and some that grow."""

import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")
MAGIC = b"\x28\xb5\x2f\xfd"


def block(kind, size, content, is_last):
    return struct.pack("<I", is_last | kind << 1 | size << 3)[:3] + content


def frame(content, tail=b""):
    """A frame without its size and checksum, with a window of 8 MiB, of blocks that aren't packed."""
    pieces = [content[at:at + 65536] for at in range(0, len(content), 65536)] or [b""]
    blocks = [block(0, len(piece), piece, i + 1 == len(pieces)) for i, piece in enumerate(pieces)]
    return MAGIC + b"\x00\x68" + b"".join(blocks) + tail


def bomb(byte, blocks, begin=b""):
    """A frame whose blocks of 128 KiB are one byte each."""
    first = block(0, len(begin), begin, 0) if begin else b""
    return MAGIC + b"\x00\x68" + first + b"".join(
        block(1, 131072, bytes([byte]), i + 1 == blocks) for i in range(blocks))


def main():
    folder = os.path.join(HERE, "compressed")
    os.makedirs(folder, exist_ok=True)
    traces = os.path.join(HERE, "thrum_trace")
    smallest = min((os.path.join(traces, name) for name in os.listdir(traces)), key=lambda f: (
        os.path.getsize(f) < 8192, os.path.getsize(f), f))
    with open(smallest, "rb") as file:
        trace = file.read()
    seeds = {
        "whole": frame(trace),
        "two": frame(trace[:5000]) + frame(trace[5000:]),
        "cut": frame(trace)[:len(trace) // 2],
        "behind": frame(trace, b"what is no frame"),
        "damaged": frame(trace)[:6000] + b"\xff" * 9,
        "empty": frame(b""),
        "magic": MAGIC,
        "zeros": bomb(0, 200),
        "letters": bomb(ord("x"), 200),
        "behind_header": bomb(ord("x"), 200, trace[:4096]),
        "window": MAGIC + b"\x00\xff" + block(1, 131072, b"x", 1),
    }
    for name, content in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


main()
