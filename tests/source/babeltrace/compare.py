#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Compares what babeltrace2 reads from `thrum convert`'s directory with what `thrum dump` tells.

compare.py THRUM RECORDING DIR [--remembered]

Makes DIR. What babeltrace2 prints is translated to rows of `dump --clock --format=tsv`, record by
record, by the words of the manual; rows of each lane must then be the same. --remembered: the
recording has a table of live tasks, whose rows babeltrace2 can't know. Prints how many events and
lanes agreed, and which kinds of events there were.
"""

import os
import re
import struct
import subprocess
import sys
from collections import Counter

STRING = r'"((?:[^"\\]|\\.)*)"'
FIELD = re.compile(r"(\w+) = (?:\( (?:" + STRING + r"|<unknown>) : container = (-?\d+) \)|" +
                   STRING + r"|(-?\d+)|\[((?: \[\d+\] = -?\d+,?)*) \])")
LINE = re.compile(r"\[(\d+)\] (\w+): \{ (.*?) \}, \{ ?(.*?) ?\}$", re.S)
ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|.)")
SPECIAL = re.compile(r"[\\\x00-\x1f\x7f]")  # characters that dump escapes
NAMED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\033"}
# The events of dump that tell of missing data.
NOTE = re.compile(r"\d+ packets? overwritten$")


def run(*command, accept=(0,)):
    """Standard output, each byte a character."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode not in accept or b"ERROR" in result.stderr:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n"
                 + result.stderr.decode(errors="replace")[:4000])
    return result.stdout.decode("latin-1")


def unescape(text):
    """The bytes of a string that babeltrace2 printed."""
    return ESCAPE.sub(lambda match: chr(int(match[1][1:], 16)) if match[1][0] == "x" and
                      len(match[1]) == 3 else SIMPLE.get(match[1], match[1]), text)


def escape(text):
    """As in dump's tsv."""
    return SPECIAL.sub(lambda match: NAMED.get(match[0]) or f"\\x{ord(match[0]):02x}", text)


def parse(text):
    """A struct's fields; an enumeration's label is at NAME and its number at NAME#."""
    fields = {}
    for name, label, number, string, plain, array in FIELD.findall(text):
        if number:
            fields[name] = unescape(label)
            fields[name + "#"] = int(number)
        elif plain:
            fields[name] = int(plain)
        elif array:
            fields[name] = [int(n) for n in re.findall(r"= (-?\d+)", array)]
        else:
            fields[name] = unescape(string)
    return fields


def read_metadata(directory):
    """The names of definitions by their numbers, and for causes of loss what dump calls them."""
    with open(os.path.join(directory, "metadata"), encoding="latin-1") as file:
        metadata = file.read()
    body = re.search(r"typealias enum : uint16_t \{((?:[^}\"]|" + STRING + r")*)\} "
                     r":= thrum_definition;", metadata)[1]
    names = {int(n): unescape(s) for s, n in re.findall(STRING + r" = (\d+)", body)}
    source = os.path.join(os.path.dirname(__file__), "../../../src/format/format.h")
    with open(source, encoding="utf-8") as file:
        causes = dict(re.findall(r'X\(\w+, (\w+), \d+, "(.*?)"\)', file.read()))
    return names, causes


def read_packets(directory):
    """The lane of each packet, by its ticket; and the lanes' numbers, sorted."""
    lanes, numbers = {}, []
    for name in os.listdir(directory):
        if not name.startswith("lane-"):
            continue
        number = int(name[5:])
        numbers.append(number)
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read()
        at = 0
        while at < len(data):
            instance, = struct.unpack_from("<Q", data, at + 24)
            size, = struct.unpack_from("<I", data, at + 44)
            ticket, = struct.unpack_from("<I", data, at + 64)
            if instance != number or ticket in lanes:
                sys.exit(f"{name}: a packet of lane {instance}, ticket {ticket}")
            lanes[ticket] = number
            at += size // 8
    return lanes, sorted(numbers)


class Lane:
    """What a reader of a lane has to remember from one event to the next."""

    def __init__(self, names, causes):
        self.names, self.causes = names, causes
        self.ticket = self.running = 0
        self.name = self.reason = ""
        self.rows = []

    def begin_packet(self, context):
        self.ticket = context["ticket"]
        self.running = context["running"]
        if context["id_base"] != 0:
            sys.exit("this script can't tell wide from narrow ids when id_base isn't 0")
        if context["suspended"] != 0xffff:
            self.reason = self.names.get(context["suspended"], "")

    def definition(self, fields):
        """0 stands for the text of the record before."""
        if fields["def#"] != 0:
            return fields["def"]
        name, self.name = self.name, ""
        return name

    def add(self, clock, event, task="", other="", value="", text=""):
        row = (str(int(clock)), event, str(task or ""), str(other), str(value), escape(text))
        self.rows.append(row)

    def add_create(self, clock, parent, fields, kind):
        self.add(clock, "create", parent, fields["other"], text=kind)
        if fields["text"]:
            self.add(clock, "label", fields["other"], text=fields["text"])

    def event(self, clock, name, fields):
        """One record, as the rows that dump prints for it."""
        task, other, running = fields.get("task"), fields.get("other", ""), self.running
        if name == "switch":
            self.running = task
            self.add(clock, "switch", task)
        elif name == "context":
            self.running = task
        elif name == "lane":
            self.running = other
            self.add_create(clock, "", fields, "thread")
        elif name == "create_in":
            self.add_create(clock, task, fields, fields["kind"])
        elif name in ("create", "create_waiting"):
            self.add_create(clock, running, fields, fields["kind"])
            if name == "create_waiting":
                self.add(clock, "wait", other, fields["source"])
        elif name in ("wait", "read", "become"):
            self.add(clock, name, task, other)
        elif name in ("wait_at", "held"):
            self.add(clock, "wait" if name == "wait_at" else "lock", task, other)
        elif name == "read_own":
            self.add(clock, "read", running, other)
        elif name in ("resolve", "cancel", "lock", "unlock", "ready"):
            self.add(clock, name, running, other)
        elif name == "fail":
            self.add(clock, name, running, other, text=fields["text"])
        elif name in ("signal", "signal_at"):
            self.add(clock, "signal", running, other, fields["value"])
        elif name == "label":
            self.add(clock, name, task, text=fields["text"])
        elif name == "should_resolve":
            self.add(clock, "should-resolve", task)
        elif name == "due":
            self.add(clock, name, task, value=fields["value"])
        elif name == "log":
            self.add(clock, name, running, text=fields["text"])
        elif name in ("link_send", "link_receive"):
            key = "".join(f"{byte:02x}" for byte in fields.get("key", []))
            self.add(clock, name.replace("_", "-"), running, text=key)
        elif name == "name":
            self.name = fields["text"]
        elif name in ("tag", "tag_value", "counter"):
            event = "tag" if name == "tag_value" else name
            self.add(clock, event, running, value=fields.get("value", ""),
                     text=self.definition(fields))
        elif name in ("span_begin", "span_end"):
            self.add(clock, name.replace("_", "-"), text=self.definition(fields))
        elif name == "suspend":
            self.reason = self.definition(fields)
            self.add(clock, name, text=self.reason)
        elif name == "resume":
            self.add(clock, name, text=self.reason)
            self.reason = ""
        elif name == "lost":
            self.add(clock, name, value=fields["value"], text=self.causes[fields["cause"]])
        elif name != "clock":
            sys.exit(f"babeltrace2 tells of an event {name}, which is not in this script")


def read_babeltrace(directory):
    """Rows by lane number; and how many records of each kind there were."""
    packets, numbers = read_packets(directory)
    names, causes = read_metadata(directory)
    lanes = {number: Lane(names, causes) for number in numbers}
    kinds = Counter()
    if numbers:
        contexts = {}
        for line in run("babeltrace2", "--clock-cycles", "--no-delta", "--fields=loglevel",
                        directory).split("\n")[:-1]:
            clock, name, context, fields = LINE.match(line).groups()
            # All events of a packet have the same context.
            if context not in contexts:
                contexts[context] = parse(context)
            context = contexts[context]
            lane = lanes[packets[context["ticket"]]]
            if lane.ticket != context["ticket"]:
                lane.begin_packet(context)
            lane.event(clock, name, parse(fields))
            kinds[name] += 1
    return {number: lane.rows for number, lane in lanes.items()}, kinds


def read_dump(thrum, recording):
    """Rows by the index of their lane, without those that tell of overwritten packets, and of changes
    of categories, which no packet has."""
    lanes = {}
    lines = run(thrum, "dump", "--clock", "--format=tsv", recording).split("\n")
    if lines[0] != "time\tlane\tevent\ttask\tother\tvalue\ttext\terror":
        sys.exit(f"not the header of dump: {lines[0]}")
    for line in lines[1:-1]:
        time, lane, event, task, other, value, text, _ = line.split("\t")
        if event == "category" or event == "lost" and not value and NOTE.match(text):
            continue
        if event == "category":  # dump makes it of the control section, which is no packet
            continue
        lanes.setdefault(int(lane), []).append((time, event, task, other, value, text))
    return lanes


def differ(lane, theirs, ours):
    """Says where two lists of rows differ first."""
    at = next((i for i, pair in enumerate(zip(theirs, ours)) if pair[0] != pair[1]),
              min(len(theirs), len(ours)))
    sys.exit(f"lane {lane}, row {at} of {len(theirs)} and {len(ours)}:\n"
             f"babeltrace2: {theirs[at:at + 3]}\nthrum dump:  {ours[at:at + 3]}")


def compare_exactly(theirs, ours):
    theirs = [(number, rows) for number, rows in sorted(theirs.items()) if rows]
    ours = [(number, rows) for number, rows in sorted(ours.items()) if rows]
    if len(theirs) != len(ours):
        sys.exit(f"babeltrace2 reads {len(theirs)} lanes, thrum dump {len(ours)}")
    for (number, their_rows), (_, our_rows) in zip(theirs, ours):
        if their_rows != our_rows:
            differ(number, their_rows, our_rows)


def compare_with_remembered(theirs, ours):
    """What dump has besides must be of the kinds of rows that the table of live tasks gives."""
    theirs = Counter(row for rows in theirs.values() for row in rows)
    ours = Counter(row for rows in ours.values() for row in rows)
    missing = theirs - ours
    if missing:
        sys.exit(f"thrum dump lacks {sum(missing.values())} rows: {sorted(missing)[:3]}")
    more = ours - theirs
    wrong = [row for row in more if row[1] not in ("create", "label", "should-resolve", "wait", "lock",
                                                       "due")]
    if wrong:
        sys.exit(f"babeltrace2 lacks {len(wrong)} rows: {sorted(wrong)[:3]}")
    return sum(more.values())


def main():
    thrum, recording, directory = sys.argv[1:4]
    run(thrum, "convert", recording, directory)
    theirs, kinds = read_babeltrace(directory)
    ours = read_dump(thrum, recording)
    remembered = 0
    if "--remembered" in sys.argv[4:]:
        remembered = compare_with_remembered(theirs, ours)
    else:
        compare_exactly(theirs, ours)
    print(f"events={sum(kinds.values())} lanes={sum(1 for rows in theirs.values() if rows)} "
          f"remembered={remembered} kinds={','.join(sorted(kinds))}")


if __name__ == "__main__":
    main()
