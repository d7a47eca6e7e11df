#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`thrum diff`: its output on a good and a bad recording, in each format, and its exit status."""

import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

KINDS = {"bind": 2, "condition": 8, "promise": 15}
OPS = {"create": 0, "read": 1, "resolve": 2, "fail": 3, "become": 4, "label": 5, "switch": 7,
       "signal": 9, "wait": 10}
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")


def trace(path, lines):
    """Writes a trace of mirage-profile from lines "TIME EVENT TASK OTHER TEXT"."""
    body = b""
    for line in filter(None, lines.splitlines()):
        time, event, *rest = line.split(None, 4)
        body += struct.pack("<QB", int(time), OPS[event])
        numbers = [int(word) for word in rest[:2] if word.lstrip("-").isdigit()]
        if event == "signal":
            numbers.reverse()  # the condition comes first
        body += struct.pack(f"<{len(numbers)}q", *numbers)
        if event == "create":
            body += struct.pack("<B", KINDS[rest[2]])
        elif event in ("label", "fail"):
            body += " ".join(rest[len(numbers):]).encode() + b"\0"
    bits = (30 + len(body)) * 8
    with open(path, "wb") as file:
        file.write(struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, bits, 1, bits) + body)


class Test:
    """Runs the command and remembers whether something was wrong."""

    def __init__(self):
        self.failed = False

    def expect(self, right, *what):
        if not right:
            print(*what)
            self.failed = True

    def run(self, status, *arguments):
        """What it prints on both streams; its status must be that."""
        done = subprocess.run([os.environ["THRUM"], *arguments], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        self.expect(done.returncode == status, "thrum", *arguments, ": status", done.returncode,
                    "instead of", status, done.stderr)
        return done.stdout + done.stderr

    def says(self, output, *texts):
        for text in texts:
            self.expect(text in output, f"not said: {text}\n{output}")


START = """
1000 switch 0
1010 create 0 1 condition
1011 label 1 reply 7
1020 create 0 2 bind
1021 label 2 asker
1022 create 0 3 bind
1023 label 3 driver
"""
GOOD = START + """
1100 signal 2 1
1101 create 1 4 promise
1102 switch 2
1103 wait 2 4
1200 switch 3
1201 signal 3 1
1202 resolve 1 4
1203 read 2 4
1300 resolve 2 2
1310 switch 3
1320 resolve 3 3
9000 switch 0
"""
BAD = START + """
1100 switch 3
1101 signal 3 1
1102 switch 3
1103 resolve 3 3
1200 switch 2
1201 signal 2 1
1202 create 1 4 promise
1203 switch 2
1204 wait 2 4
1300 switch 0
9000 switch 0
"""


def with_idle(text, end):
    """The same with 4 ms of idle time in it, and with an end of its own."""
    lines = []
    for time, line in (line.split(None, 1) for line in text.split("\n") if line):
        if time == "1100":
            lines += ["1050 switch -1", f"4000100 {line}"]
        elif time == "9000":
            lines += ["4002000 switch -1", f"{end} switch 0"]
        else:
            lines.append(f"{int(time) + 4_000_000 if int(time) > 1100 else time} {line}")
    return "\n".join(lines)


def ruler(picture):
    """Where the words of a part's ruler lie, by word."""
    return {word: x for x, word in
            re.findall(r'<text x="([0-9.]*)" y="19"[^>]*>([^<]*)<', picture)}


def real_traces():
    """The folder of the ARP example's traces, or None."""
    given = os.environ.get("THRUM_MIRAGE_DATA")
    source = os.path.abspath(os.environ["SOURCE"])
    places = [given] if given else glob.glob(f"{os.path.dirname(source)}/*/data/mirage")
    for place in places:
        if os.path.exists(f"{place}/arp-hang.ctf"):
            return place
    return None


def main():
    test = Test()
    with tempfile.TemporaryDirectory() as here:
        os.chdir(here)
        trace("good.ctf", GOOD)
        trace("bad.ctf", BAD)
        output = test.run(1, "diff", "good.ctf", "bad.ctf")
        test.says(output, "The main difference:\n“reply #” (condition): in BAD the signal precedes",
                  "BAD   at 101 ns “driver” (task 3) signals, then at 201 ns “asker” (task 2) waits",
                  "“asker” (bind): never ends in BAD",
                  "BAD   “asker” (task 2) begins at 20 ns, waits for “promise 4” (task 4)")
        test.expect("\033" not in output, "colours without a terminal")
        test.says(test.run(1, "diff", "--color=always", "good.ctf", "bad.ctf"), "\033[1;31m")
        test.says(test.run(0, "diff", "good.ctf", "good.ctf"), "No differences in 3 groups")
        test.expect(test.run(0, "diff", "-f", "json", "bad.ctf", "bad.ctf") == "", "JSON of nothing")

        rows = [json.loads(line) for line in
                test.run(1, "diff", "--format=json", "good.ctf", "bad.ctf").splitlines()]
        test.expect([row["difference"] for row in rows] == ["signal before wait", "never ends"], rows)
        test.expect(rows[0]["first"] and not rows[1]["first"], rows)
        test.expect(rows[0]["bad"]["signal"] == 101 and rows[0]["bad"]["wait"] == 201, rows)
        test.expect(rows[0]["bad"]["signaller"] == 3 and rows[0]["bad"]["waiter"] == 2, rows)
        test.expect(rows[0]["good"]["count"] == 0 and rows[0]["bad"]["count"] == 1, rows)

        test.run(1, "diff", "--render=both.svg", "good.ctf", "bad.ctf")
        with open("both.svg", encoding="utf-8") as file:
            test.says(file.read(), "good: good.ctf", "bad: bad.ctf", ">signals<", ">waits<")
        test.says(test.run(1, "diff", "--render=-", "good.ctf", "bad.ctf"), "<svg ")
        test.run(0, "diff", "--render=same.svg", "good.ctf", "good.ctf")
        test.says(test.run(64, "diff", "--render=both.gif", "good.ctf", "bad.ctf"), ".svg, .png")
        test.expect(not os.path.exists("both.gif"), "a picture of an unknown format")

        # One scale of time for both, also where only one goes on after the window.
        trace("early.ctf", with_idle(GOOD, 4_800_000))
        trace("late.ctf", with_idle(BAD, 60_000_000))
        test.run(1, "diff", "--render=both.svg", "early.ctf", "late.ctf")
        with open("both.svg", encoding="utf-8") as file:
            good, bad = (ruler(part) for part in file.read().split("bad: late.ctf"))
        common = good.keys() & bad.keys()
        test.expect(len(common) > 10, "the rulers have little in common:", good, bad)
        test.expect(all(good[word] == bad[word] for word in common), "two scales:", good, bad)

        trace("other.ctf", "1000 switch 0\n1010 create 0 1 bind\n1011 label 1 quite other\n")
        test.says(test.run(1, "diff", "good.ctf", "other.ctf"), "no labels in common")
        test.run(2, "diff", "good.ctf", "none.ctf")
        test.run(2, "diff", "none.ctf", "good.ctf")
        test.run(64, "diff", "good.ctf")

        arp = real_traces()
        if arp:
            output = test.run(1, "diff", f"{arp}/arp-good.ctf", f"{arp}/arp-hang.ctf")
            test.says(output, "“arp-reply” (condition): in BAD the signal precedes the wait",
                      "5.10239 ms", "10.1198 ms", "“main” (bind): never ends in BAD")
            test.run(0, "diff", f"{arp}/arp-hang.ctf", f"{arp}/arp-hang.ctf")
        else:
            print("skipped: no real traces (THRUM_MIRAGE_DATA)")
            if not test.failed:
                sys.exit(77)
    sys.exit(test.failed)


if __name__ == "__main__":
    main()
