#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes the seeds of the targets that run command lines: fuzz/seeds/command/, convert/ and
snapshot/."""

import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")
LINES = (
    "dump a", "dump --task=2,4 --start=0 --end=12ms a", "dump --together --format json a b",
    "dump -F --type=wait,resolve --format=tsv a", "tasks a", "tasks --sort=work -n 5 a b",
    "tasks --format=json --by=kind --state=pending a", "tasks --match 'p*' a",
    "stats a", "stats --format=json a", "why a", "why --slow a", "why --format=json --all a",
    "why --slow=p --flame=f.svg a", "diff a b", "diff --format=json a b",
    "diff -o d.svg a b", "info a", "info --format=json a", "snapshot a -o copy",
    "snapshot --start=1us --duration=1ms -o copy a", "snapshot a -o b",
    "convert --to=perfetto a out", "convert a folder", "convert --symbols a -",
    "bundle -o out.thrums a b", "render a -o a.svg", "render --width=300 --start 1us -o - a",
    "html a", "help dump", "--no-pager dump a", "record -s 1M -- true", "attach --size=4k 1",
    "watch --rule=tasks>5 12", "top -d 1s 7", "ctl --off=log 5", "ship --to=nats://x a",
    "fleet --json nats://x", "store -o d a", "dump --memory b", "view --port=0 a",
    "import -o out.thrum a",
)


def write(folder, name, content):
    os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    with open(os.path.join(HERE, folder, name), "wb") as seed:
        seed.write(content)


def recording(name):
    with open(os.path.join(HERE, "thrum_trace", name), "rb") as seed:
        return seed.read()


def main():
    for i, line in enumerate(LINES):
        write("command", f"{i:02}-{line.split()[0].strip('-')}", line.replace(" ", "\n").encode())
    for i, name in enumerate(("ctf", "perfetto", "chrome", "speedscope", "otlp", "otlp-json",
                              "pprof")):
        write("convert", name, bytes((i,)) + recording("two_lanes" if i % 2 else "one_lane"))
    for name in ("one_lane", "gap", "damaged", "off_cpu"):
        write("snapshot", name, recording(name) + bytes(16))
        write("snapshot", name + "-part", recording(name) + struct.pack("<QQ", 1000, 4000))


main()
