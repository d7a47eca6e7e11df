#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/thrum_trace/: small recordings with tiny tables and packets, so that a mutation
hits a byte that matters."""

import os
import struct

PACKET = 512
DEFINITIONS, LIVE = 8, 8
START = 1_000_000
UUID = b"0123456789abcdef"
RECORDING, STOPPED = 1, 2


def header(packets, state, off_cpu):
    """The header's page, with the sections behind it."""
    at = 4096
    sections = []
    for size in (0, DEFINITIONS * 128, 0, LIVE * 96, packets * PACKET):
        sections += [at, size]
        at += size
    sections.append(at)
    page = struct.pack("<8sIIQII", b"thrum\r\n\x1a", 1, 4096, at + off_cpu, PACKET, packets)
    page += struct.pack("<10Q", *sections[:-1])
    page += struct.pack("<16sQIIIIQ", UUID, 77, 1, 0, 1, 0, 100_000_000)
    for ticket, ticks in ((1, START), (2, START + 20_000_000), (0, 0)):
        page += struct.pack("<IIQQQ", ticket, 0, ticks, ticks * 10, 10**18)
    page += struct.pack("<64s64s", b"seed", b"host")
    page += struct.pack("<6I", state, packets, 0, 0, 0, 0)
    page += b"\0" * (-len(page) % 8) + struct.pack("<16Q", *range(16))
    # The end, the control section, the boot; then the times off the processor.
    page += struct.pack("<QIiQQQQQ", 0, 0, 0, 0, 0, 0, sections[-1] if off_cpu else 0, off_cpu)
    return page.ljust(4096, b"\0")


def definition(kind, number, text):
    return struct.pack("<III116s", kind, number, 1, text)


def live(task, created, waiting, flags, label):
    return struct.pack("<IIQQQQHHHBB48s", task, 0, 1, START + created, waiting,
                       START + created + 1 if waiting else 0, 0, 0, 4, 15, flags, label)


def noted(task, bits, label=b"lock"):
    """A task whose cell has a note in the place of a wait."""
    return struct.pack("<IIQQQQHHHBB48s", task, 0, 1, START + task, bits, START + task + 1 | 1 << 63, 0, 0, 4, 8, 2,
                       label)


def held(task, holder, kind, label=b""):
    words = label[:24].ljust(24, b"\0")
    first, second, third = struct.unpack("<3Q", words)
    mixed = (first + second * 3 + third * 5) * 0x9e3779b97f4a7c15 & (1 << 64) - 1
    bits = 1 << 63 | (len(label) > 23) << 61 | kind << 56 | mixed >> 56 << 48 | holder
    return noted(task, bits, b"lock".ljust(24, b"\0") + words)


def tables():
    cells = [b"\0" * 128, definition(1, 0, b"net"), definition(2, 1, b"net/parse"),
             definition(3, 0, b"net/bytes"), definition(4, 17, b"main\0main.c")]
    tasks = [b"\0" * 96] * LIVE
    for task in (1, 2, 3):
        tasks[task] = live(task, task, task - 1, 15 if task == 2 else 3, b"label")
    tasks[4] = held(4, 2, 15)
    tasks[5] = held(5, 90, 12, b"ended")
    tasks[6] = held(6, 91, 12, b"a label \xc3\xa4 that is too long")
    tasks[7] = noted(7, 1 << 62 | 5000)
    return b"".join(cells).ljust(DEFINITIONS * 128, b"\0") + b"".join(tasks)


def event(kind, time, fields=b""):
    if kind < 31:
        return struct.pack("<I", (START + time) << 5 & 0xffffffff | kind) + fields
    return struct.pack("<BIQ", 31, kind, START + time) + fields


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def u64(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def events(time):
    """One event of each kind, in pieces that fit a packet."""
    yield [event(5, time, u32(2) + b"\4\0\17p\0"),
           event(6, time, u32(3) + b"\4\0\0" + u32(2) + b"\0"),
           event(7, time, u32(2, 4) + b"\0\0\3in\0"),
           event(0, time + 1, u32(3)),
           event(1, time + 1, u32(3, 2)),
           event(2, time + 2, u32(2)),
           event(3, time + 2, u32(4, 2)),
           event(4, time + 2, u32(3)),
           event(17, time + 3, u32(4) + b"why\0"),
           event(18, time + 3, u32(4)),
           event(19, time + 3, u32(4, 2)),
           event(20, time + 3, u32(4, 1)),
           event(21, time + 4, u32(4)),
           event(22, time + 4, u32(4)),
           event(25, time + 4, u32(4, 9)),
           event(26, time + 4, u32(4)),
           event(8, time + 5, u32(4) + b"again\0")]
    yield [event(9, time, b"\3\0" + u32(5)),
           event(10, time, b"said\0"),
           event(11, time, b"\2\0"),
           event(12, time, b"\2\0" + u32(7)),
           event(13, time, b"\2\0"),
           event(14, time, b"\2\0"),
           event(15, time, b"\2\0"),
           event(16, time),
           event(28, time, b"by name\0"),
           event(11, time, b"\0\0"),
           event(23, time, b"\3key"),
           event(24, time, b"\0"),
           event(27, time, u32(2)),
           event(11, time, b"\x28\0")]
    yield [event(32, time, u32(9, 42) + b"worker\0"),
           event(33, time, b"\1\0" + u32(1)),
           event(34, time, u64(1, 2)),
           event(35, time, b"\1" + u32(3)),
           event(64, time, u64(1 << 40)),
           event(65, time, u64(1 << 40, 2)),
           event(69, time, u64(1 << 41) + b"\0\0\0wide\0"),
           event(73, time, b"\3\0" + u64(1 << 63)),
           event(28, time, b"left over\0")]


def link(kind, time, way):
    """An end of a message over a connection, whose key tells its direction."""
    return event(kind, time, b"\x0a12345678" + bytes((way, 0xff)))


def awaits(time, task, number, way):
    """Task `task` waits for another one, which stands for the next message of a connection."""
    return (event(5, time, u32(number) + b"\4\0\17receive\0") + event(1, time, u32(task, number))
            + event(15, time, b"\2\0") + link(24, time, way))


def connection():
    """A task sends over a connection and waits for the answer of one that waits itself."""
    asks = link(23, 2, 0) + awaits(3, 1, 2, 1)
    serves = link(24, 5, 0) + link(23, 6, 1) + link(24, 7, 0) + awaits(8, 8, 20, 0)
    return [packet(0, 0, 0, 1, asks), packet(7, 0, 0, 2, serves)]


def packet(lane, seq, time, ticket, body):
    content = (112 + len(body)) * 8
    assert content <= PACKET * 8
    head = struct.pack("<I16sIQQIIQQII", 0xc1fc1fc1, UUID, 0, lane, START + time, content,
                       PACKET * 8, seq, 0, ticket, 100 + lane)
    head += struct.pack("<QQQHH6H", 0, lane + 1, lane + 1, 2 if seq else 0, 1, 2, 0, 0, 0, 0, 0)
    return (head + body).ljust(PACKET, b"\0")


def off_cpu_of(begin, end, lane, kind):
    return struct.pack("<QQII", START + begin, START + end, lane, kind)


def recording(packets, state=STOPPED, edits=(), off_cpu=b""):
    bytes_ = header(len(packets), state, len(off_cpu)) + tables() + b"".join(packets) + off_cpu
    for at, change in edits:
        bytes_ += struct.pack("<I8s", at, change)
    return bytes_ + b"\0" * 12 * (4 - len(edits))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    bodies = [b"".join(list(events(100 * i))[i]) for i in range(3)]
    later = [b"".join(piece) for piece in events(500)]
    lane = [packet(0, i, 100 * i, i + 1, body) for i, body in enumerate(bodies)]
    first = 4096 + DEFINITIONS * 128 + LIVE * 96
    whole = packet(0, 0, 100, 1, bodies[1])
    growing = whole[:40] + struct.pack("<I", (112 + 10) * 8) + whole[44:]
    seeds = {
        "one_lane": recording(lane),
        "two_lanes": recording(lane[:2] + [packet(7, 3, 500, 8, later[0]),
                                           packet(0, 4, 500, 9, later[1])]),
        "gap": recording([lane[0], packet(0, 5, 500, 9, later[2])]),
        "truncated": recording(lane)[:-150],
        "damaged": recording([lane[0][:200] + b"\x1d" + lane[0][201:], lane[1]]),
        "off_cpu": recording(lane, off_cpu=b"".join((
            off_cpu_of(5, 90, 0, 1), off_cpu_of(95, 120, 0, 2), off_cpu_of(90, 100, 0, 1),
            off_cpu_of(130, 140, 7, 1), off_cpu_of(150, 160, 0, 2)))),
        "off_cpu_woken": recording(lane, off_cpu=b"".join((
            off_cpu_of(5, 9, 0, 3), off_cpu_of(9, 20, 0, 4 | 1 << 8),
            off_cpu_of(20, 30, 0, 4 | 0xffffff << 8), off_cpu_of(30, 40, 0, 4 | 77 << 8)))),
        "connection": recording(connection()),
        "empty": recording([packet(0, 0, 10, 1, b""), b"\0" * PACKET]),
        # Seeds whose changes act as a recorder: a packet grows, another one is replaced.
        "grows": recording([growing], RECORDING,
                           [(first + 40, u32((112 + 17) * 8, PACKET * 8))]),
        "replaced": recording(lane[:2], RECORDING,
                              [(first + 64, u32(99, 100)), (first + 48, u64(2))]),
    }
    for name, content in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main(os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds", "thrum_trace"))
