#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/fleet/ from seeds of thrum_trace: recordings as messages."""

import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")
PART, HEADER = 32768, 4096


def stretches(content):
    """What isn't zero of a part, in runs of 64 bytes."""
    out = b""
    for at in range(0, len(content), 64):
        piece = content[at:at + 64]
        if any(piece):
            out += struct.pack("<II", at, len(piece)) + piece
    return out


def table(number, content):
    body = stretches(content)
    return b"T" + struct.pack("<BH", number, len(body)) + body


def piece(packet, start, end):
    lane, begin = struct.unpack_from("<QQ", packet, 24)
    size, ticket = struct.unpack_from("<I", packet, 44)[0] // 8, struct.unpack_from("<I", packet, 64)[0]
    info = f"1 {lane} {ticket} {start} {size} {begin} {begin + 1000}".encode() + b"\0"
    return b"P" + struct.pack("<H", end - start) + info + packet[start:end]


def messages(recording, cut=0):
    size, count = struct.unpack_from("<II", recording, 24)
    tables = struct.unpack_from("<Q", recording, 32 + 4 * 16)[0]
    out = table(0, recording[:HEADER])
    for number, at in enumerate(range(HEADER, tables, PART)):
        out += table(number + 1, recording[at:min(at + PART, tables)])
    for i in range(count):
        packet = recording[tables + i * size:tables + (i + 1) * size]
        content = struct.unpack_from("<I", packet, 40)[0] // 8 if len(packet) == size else 0
        if content < 112 or content > size:
            continue
        if cut and content > cut:
            out += piece(packet, cut, content) + piece(packet, 0, cut) + piece(packet, 0, content)
        else:
            out += piece(packet, 0, content)
    return out


def main():
    folder = os.path.join(HERE, "thrum_trace")
    recordings = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        if content.startswith(b"thrum\r\n\x1a") and len(content) > HEADER:
            recordings.append((len(messages(content)), name, content))
    recordings.sort()
    os.makedirs(os.path.join(HERE, "fleet"), exist_ok=True)
    seeds = {name: messages(content) for _, name, content in recordings[:4]}
    for _, name, content in recordings[:2]:
        seeds[name + "-cut"] = messages(content, 120)
        seeds[name + "-live"] = messages(content, 120)[:-300] + b"G" + messages(content)
        seeds[name + "-lost"] = messages(content, 120)[:-300]
    texts = b"1 1 2 3 4 5 6", b"1 18446744073709551615 2 9223372036854775807 4 5 6", b"1 1 2 -3 4 5 6"
    seeds["pings"] = b"".join(b"C" + struct.pack("<H", len(text)) + text for text in texts)
    for name, content in seeds.items():
        with open(os.path.join(HERE, "fleet", name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
