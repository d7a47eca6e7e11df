#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes the small traces of this folder, and what must be read from each: NAME.ctf, NAME.tsv.

A trace is a list of packets, a packet a list of events; an event is its bytes and its line. What is
expected is said here, line by line, not computed by any reader.
"""
import os
import struct
import sys

HEADER = 30
MAGIC = bytes.fromhex("c11ffcc105883b8d521a487bb397456ab150680c")
KINDS = ("Wait Task Bind Try Choose Pick Join Map Condition On_success On_failure On_termination "
         "On_any Ignore_result Async Promise Semaphore Switch").split()
PAIRS = {"read": 1, "fulfills": 2, "becomes": 4, "signal": 9, "try_read": 10, "read_later": 12}
BASE = 1740 * 10**9  # like the nanoseconds since a computer was started
MIN, MAX = -2**63, 2**63 - 1


def escape(text):
    out = b""
    for byte in text:
        known = {9: b"\\t", 10: b"\\n", 13: b"\\r", 92: b"\\\\"}
        if byte in known:
            out += known[byte]
        else:
            out += b"\\x%02x" % byte if byte < 32 or byte == 127 else bytes([byte])
    return out


def event(time, op, one=0, two=0, text=b"", number=None):
    """Returns (bytes, line without its number)."""
    body, last = b"", b""
    if op == "creates":
        body = struct.pack("<BqqB", 0, one, two, text)
        last = (KINDS[text] if text < len(KINDS) else "Unknown").encode()
    elif op in PAIRS:
        body = struct.pack("<Bqq", number or PAIRS[op], one, two)
    elif op == "fails":
        body, last = struct.pack("<Bqq", 3, one, two) + text + b"\0", escape(text)
    elif op == "label":
        body, last, two = struct.pack("<Bq", 5, one) + text + b"\0", escape(text), ""
    elif op in ("increase", "counter"):
        number = 6 if op == "increase" else 11
        body, last = struct.pack("<Bqq", number, one, two) + text + b"\0", escape(text)
    elif op == "switch":
        body, two = struct.pack("<Bq", 7, one), ""
    elif op == "gc":
        body, last, one, two = struct.pack("<BQ", 8, one), b"%d" % one, "", ""
    line = f"{time}\t{op}\t{one}\t{two}\t".encode() + last
    return struct.pack("<Q", time & (2**64 - 1)) + body, line


def steps(first, count, task=1, apart=100):
    """Plain events to fill packets with."""
    return [event(BASE + first + i * apart, "switch", task + i) for i in range(count)]


def packet(count, events, size=256, claim=None, content=None):
    data = b"".join(bytes_ for bytes_, _ in events)
    used = HEADER + len(data)
    assert used <= size, used
    header = MAGIC + struct.pack("<IHI", (claim or size) * 8, count, content or used * 8)
    return header + data + bytes(size - used)


def damaged(time, text):
    return (None, f"{time}\tdamaged\t\t\t{text}".encode())


def lost(time, text):
    return (None, f"{time}\tlost\t\t\t{text}".encode())


def write(name, trace, packets, lines):
    """packets: (offset, content's bytes) in the order of reading."""
    with open(name + ".ctf", "wb") as file:
        file.write(trace)
    with open(name + ".tsv", "wb") as file:
        for i, (offset, content) in enumerate(packets):
            file.write(b"#packet\t%d\t%d\t%d\n" % (i, offset, offset + content))
        number = 0
        for bytes_, line in lines:
            file.write((b"" if bytes_ is None else b"%d" % number) + b"\t" + line + b"\n")
            number += bytes_ is not None


def used(events):
    return HEADER + sum(len(bytes_) for bytes_, _ in events)


def four(name, parts, change=None, missing=(), lines=None):
    """A trace of packets 0, 1, … of 256 bytes each. `change` may damage its bytes."""
    trace = bytearray(b"".join(packet(i, part) for i, part in enumerate(parts)))
    if change:
        trace = change(trace) or trace
    packets = [(256 * i, used(part)) for i, part in enumerate(parts) if i not in missing]
    write(name, bytes(trace), packets, lines)


def every_op():
    t = BASE
    ops = []

    def add(*args, **more):
        nonlocal t
        t += 1000
        ops.append(event(t, *args, **more))

    add("switch", 0)
    for i, _ in enumerate(KINDS):
        add("creates", 0, i + 1, i)
    for kind in (18, 19, 99, 255):
        add("creates", -1, 100 + kind, kind)
    for op in PAIRS:
        add(op, 3, 4)
    add("signal", 5, 6, number=13)
    add("fails", 0, 2, b"Not_found")
    add("label", 7, text=b"__should_resolve")
    add("label", 7, text=b"__should_resolved")
    add("increase", 1, -2, b"old-style")
    add("counter", 1, 3, b"queue")
    add("gc", 123456789)
    add("switch", -1)
    write("ops", packet(0, ops, 2048), [(0, used(ops))], ops)


def extremes():
    ops = [
        event(BASE, "switch", 0),
        event(BASE, "creates", MIN, MAX, 1),
        event(BASE + 1, "read", MAX, MIN),
        event(BASE + 1, "counter", MIN, MAX, b"largest"),
        event(BASE + 2, "increase", MAX, MIN, b"smallest"),
        event(BASE + 2, "signal", MIN, MAX),
        event(BASE + 2, "gc", 0),
        # A task waited for three months.
        event(BASE + 90 * 86400 * 10**9, "switch", MAX),
        event(BASE + 90 * 86400 * 10**9 + 5, "switch", MIN),
    ]
    write("extremes", packet(65535, ops, 512), [(0, used(ops))], ops)


def labels():
    texts = [b"", b"<script>alert(1)</script>", b"\xc3\xa9\xe2\x82\xac \xf0\x9f\xa7\xb5", b"\xff\xfe\xc3",
             b"tab\tnewline\nreturn\r\x1b[31mred\x07\x7f", b"back\\slash", b'"quotes" & \'more\'',
             b"12345678", b"1234567", b"x" * 2000, MAGIC * 3, b"%s%n"]
    ops = [event(BASE + i, "label", i, text=text) for i, text in enumerate(texts)]
    ops.append(event(BASE + 50, "fails", 0, 1, b"\x01"))
    ops.append(event(BASE + 51, "counter", 0, 1, b""))
    write("labels", packet(0, ops, 4096), [(0, used(ops))], ops)


def ring():
    parts = {65534: steps(0, 3), 65535: steps(400, 4, 10), 0: steps(1000, 2, 20),
             1: steps(2000, 1, 30)}
    trace = b"".join(packet(count, parts[count]) for count in (0, 1, 65534, 65535))
    packets = [(512, used(parts[65534])), (768, used(parts[65535])), (0, used(parts[0])),
               (256, used(parts[1]))]
    write("ring", trace, packets, sum((parts[c] for c in (65534, 65535, 0, 1)), []))


def odd():
    parts = [steps(0, 3), steps(500, 3), []]
    trace = packet(0, parts[0]) + packet(1, parts[1]) + packet(2, parts[2], 259)
    write("odd", trace, [(0, used(parts[0])), (256, used(parts[1])), (512, HEADER)],
          parts[0] + parts[1])


def torn():
    good = steps(0, 4)
    last, at = BASE + 300, used(good)
    old = BASE - 10**9
    cases = {
        # The bytes behind the last complete event, and the message about them.
        "zeros": (bytes(26), "time runs back"),
        "old": (event(old, "switch", 1)[0], "time runs back"),
        "shifted": (b"\x07" + event(BASE, "switch", 1)[0][:16], "unfinished event"),
        "future": (event(BASE << 8, "read", 1, 2)[0], "time leaps ahead"),
        "impossible": (event(2**63, "read", 1, 2)[0], "impossible time"),
        "body": (event(last + 5, "creates", 0, 0, 0)[0], "creation of task 0"),
        "op": (struct.pack("<QBq", last + 5, 14, 1), "unknown type of event"),
        "text": (event(last + 5, "label", 1, text=b"no end")[0][:-1], "unfinished event"),
    }
    for name, (bytes_, cause) in cases.items():
        events = good + [(bytes_, None)]
        trace = packet(0, events) + packet(1, []) + packet(2, [])
        note = damaged(last, f"{cause} at byte {at}, {len(bytes_)} bytes skipped")
        write("torn-" + name, trace, [(0, used(events)), (256, HEADER), (512, HEADER)],
              good + [note])


def torn_inside():
    """A wrong time before the last packet. Little is lost if the next event is plausible."""
    for name, time, cause in (("early", BASE - 5, "time runs back"), ("zero", 0, "time runs back"),
                              ("late", BASE + 10**12, "time runs into a later packet")):
        part = steps(0, 5)
        bad = event(time, "switch", 99)
        events = part[:2] + [bad] + part[2:]
        at = used(part[:2])
        note = damaged(BASE + 100, f"{cause} at byte {at}, one event skipped")
        after = steps(600, 5)
        four("inside-" + name, [events, after], lines=part[:2] + [note] + part[2:] + after)
    # The time leaps ahead by too little to be noticed at once.
    part = steps(0, 5)
    events = part[:2] + [event(BASE + 10**9, "switch", 99)] + part[2:]
    note = damaged(BASE + 100, f"time leaps ahead at byte {used(part[:2])}, one event skipped")
    four("inside-leap", [events], lines=part[:2] + [note] + part[2:])


def first_stamp():
    """The first stamp of a packet is wrong: the packets before it don't suffer."""
    parts = [steps(0, 5), steps(600, 5), steps(1200, 5)]
    for name, time, cause, last in (
            ("late", BASE + 10**15, "time runs into a later packet", 400),
            ("early", BASE - 10, "time runs back", 400)):
        broken = [parts[0], [event(time, "switch", 1)] + parts[1][1:], parts[2]]
        note = damaged(BASE + last, f"{cause} at byte {256 + HEADER}, one event skipped")
        four("first-" + name, broken, lines=parts[0] + [note] + parts[1][1:] + parts[2])
    broken = [[event(5, "switch", 1)] + steps(10**13, 3), steps(10**13 + 600, 2)]
    note = damaged(BASE + 10**13, f"implausible time at byte {HEADER}, one event skipped")
    four("first-of-all", broken, lines=[note] + broken[0][1:] + broken[1])
    # Nobody can tell which of the two is wrong.
    broken = [steps(0, 4) + [event(BASE + 650, "switch", 5)], steps(600, 5)]
    note = damaged(BASE + 650, f"time runs back by 50 ns at byte {256 + HEADER}")
    moved = event(BASE + 650, "switch", 1)
    four("seam", broken, lines=broken[0] + [note, moved] + broken[1][1:])


def gone():
    parts = [steps(0, 3), steps(500, 3), steps(1000, 3), steps(1500, 3)]
    hole = damaged(BASE + 700, "no packet header at byte 512, 256 bytes skipped")
    gap = lost(BASE + 700, "1 packet missing before byte 768")

    def zero(trace):
        trace[512:768] = bytes(256)

    four("zeroed", parts, zero, (2,), parts[0] + parts[1] + [hole, gap] + parts[3])

    def zero_first(trace):
        trace[:256] = bytes(256)

    hole = damaged(BASE + 500, "no packet header at byte 0, 256 bytes skipped")
    four("zeroed-first", parts, zero_first, (0,), [hole] + parts[1] + parts[2] + parts[3])

    trace = b"".join(packet(count, part) for count, part in zip((3, 4, 7, 8), parts))
    gap = lost(BASE + 700, "2 packets missing before byte 512")
    write("lost", trace, [(256 * i, used(parts[i])) for i in range(4)],
          parts[0] + parts[1] + [gap] + parts[2] + parts[3])

    # Bytes between two packets: the reader searches for the next header.
    trace = packet(0, parts[0]) + b"\xc1" * 77 + packet(1, parts[1])
    note = damaged(BASE + 200, "no packet header at byte 256, 77 bytes skipped")
    write("inserted", trace, [(0, used(parts[0])), (333, used(parts[1]))],
          parts[0] + [note] + parts[1])


def truncated():
    parts = [steps(0, 3), steps(500, 3)]
    trace = packet(0, parts[0]) + packet(1, parts[1])
    whole = used(parts[1])
    for name, there, kept in (("unused", whole + 9, 3), ("event", whole - 5, 2),
                              ("header", HEADER + 2, 0)):
        last = BASE + (500 + 100 * (kept - 1) if kept else 200)
        note = damaged(last, f"the file ends {256 - there} bytes before the end of the packet at "
                       "byte 256")
        write("truncated-" + name, trace[:256 + there],
              [(0, used(parts[0])), (256, min(there, whole))],
              parts[0] + parts[1][:kept] + [note])
    note = damaged(BASE + 200, "no packet header at byte 256, 29 bytes skipped")
    write("truncated-packet", trace[:256 + 29], [(0, used(parts[0]))], parts[0] + [note])


def sizes():
    parts = [steps(0, 3), steps(500, 3), steps(1000, 3), steps(1500, 3)]
    every = [(256 * i, used(part)) for i, part in enumerate(parts)]
    for name, at, size in (("first", 0, 768), ("middle", 1, 512), ("small", 2, 128),
                           ("huge", 1, 2**28)):
        trace = b"".join(packet(i, part, claim=size if i == at else None)
                         for i, part in enumerate(parts))
        note = damaged(BASE + max(0, 500 * at - 300), f"wrong packet size at byte {256 * at + 20}")
        write("size-" + name, trace, every,
              sum(parts[:at], []) + [note] + sum(parts[at:], []))
    for name, bits in (("large", 257 * 8), ("small", 8), ("bits", 1001)):
        trace = b"".join(packet(i, part, content=bits if i == 1 else None)
                         for i, part in enumerate(parts))
        note = damaged(BASE + 200, "wrong content size at byte 282, the packet is skipped")
        write("content-" + name, trace, every[:1] + [(256, HEADER)] + every[2:],
              parts[0] + [note] + parts[2] + parts[3])


def counts():
    """Counts contradict the times: a damaged one; a recorder killed while it renewed a packet."""
    parts = [steps(0, 3), steps(500, 3), steps(1000, 3), steps(1500, 3)]
    note = [damaged(BASE, "packets' counts contradict their times: the times give the order")]
    for name, numbers in (("damaged", (4, 6, 5, 7)), ("twice", (4, 5, 5, 7)),
                          ("renewed", (8, 5, 6, 7))):
        trace = b"".join(packet(count, part) for count, part in zip(numbers, parts))
        write("count-" + name, trace, [(256 * i, used(part)) for i, part in enumerate(parts)],
              note + sum(parts, []))


def repeated():
    """A file appended to itself: nothing is read twice."""
    parts = [steps(0, 3), steps(500, 4)]
    trace = (packet(0, parts[0]) + packet(1, parts[1])) * 2
    lines = [damaged(BASE, "packets' counts contradict their times: the times give the order")]
    for i, part in enumerate(parts):
        last = BASE + (200, 800)[i]
        lines += part + [damaged(last, f"time runs back at byte {512 + 256 * i + HEADER}, "
                                       f"{17 * len(part)} bytes skipped")]
    write("repeated", trace, [(offset, used(parts[offset // 256 % 2]))
                              for offset in (0, 512, 256, 768)], lines)


def wall_clock():
    start = 1_700_000_000 * 10**9 + 123
    ops = [event(start + i, "switch", i) for i in range(5)]
    write("wall", packet(0, ops), [(0, used(ops))], ops)


os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
for make in (every_op, extremes, labels, ring, odd, torn, torn_inside, first_stamp, gone, truncated,
             sizes, counts, repeated, wall_clock):
    make()
