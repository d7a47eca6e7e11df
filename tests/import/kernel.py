#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum import reads a kernel's trace through the tool that knows its format: perf, babeltrace2."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

THRUM = os.environ["THRUM"]
failed = []

# As lttng-modules describes its events, in short. The trace is made here: LTTng needs a module in the kernel.
METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
env { hostname = "alpha"; domain = "kernel"; tracer_name = "lttng-modules"; };
clock { name = "monotonic"; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp;
stream { id = 0;
  packet.context := struct {
    stamp timestamp_begin; stamp timestamp_end; u64 content_size; u64 packet_size; u32 cpu_id; };
  event.header := struct { u32 id; stamp timestamp; }; };
event { name = "sched_switch"; id = 0; stream_id = 0; fields := struct {
  string _prev_comm; s32 _prev_tid; s32 _prev_prio;
  enum : s32 { "TASK_RUNNING" = 0, "TASK_INTERRUPTIBLE" = 1 } _prev_state;
  string _next_comm; s32 _next_tid; s32 _next_prio; }; };
event { name = "sched_waking"; id = 1; stream_id = 0; fields := struct {
  string _comm; s32 _tid; s32 _prio; s32 _target_cpu; }; };
event { name = "irq_handler_entry"; id = 2; stream_id = 0; fields := struct { s32 _irq; string _name; }; };
event { name = "irq_handler_exit"; id = 3; stream_id = 0; fields := struct { s32 _irq; s32 _ret; }; };
event { name = "block_rq_issue"; id = 4; stream_id = 0; fields := struct {
  u32 _dev; u64 _sector; u32 _nr_sector; u32 _bytes; s32 _tid; u32 _rwbs; }; };
event { name = "block_rq_complete"; id = 5; stream_id = 0; fields := struct {
  u32 _dev; u64 _sector; u32 _nr_sector; s32 _error; u32 _rwbs; }; };
"""


def text(value):
    return value.encode() + b"\0"


def switch(time, before, state, after):
    return (struct.pack("<IQ", 0, time) + text(before[0]) + struct.pack("<iii", before[1], 20, state)
            + text(after[0]) + struct.pack("<ii", after[1], 20))


def waking(time, name, tid):
    return struct.pack("<IQ", 1, time) + text(name) + struct.pack("<iii", tid, 20, 0)


def write_lttng(folder):
    idle, web, store = ("swapper/0", 0), ("web server", 100), ("store", 200)
    events = b"".join((
        switch(1000, idle, 0, web),
        struct.pack("<IQ", 2, 1400) + struct.pack("<i", 7) + text("disk"),
        waking(1500, "store", 200),
        struct.pack("<IQii", 3, 1600, 7, 1),
        switch(2000, web, 0, store),
        struct.pack("<IQIQIIiI", 4, 2100, 8 << 20, 2048, 8, 4096, 200, 4),
        struct.pack("<IQIQIiI", 5, 2900, 8 << 20, 2048, 8, 0, 4),
        switch(3000, store, 1, web),
        switch(4000, web, 1, idle),
    ))
    os.mkdir(folder)
    size = (8 + 36 + len(events)) * 8
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
        file.write(METADATA)
    with open(os.path.join(folder, "channel0_0"), "wb") as file:
        file.write(struct.pack("<IIQQQQI", 0xc1fc1fc1, 0, 1000, 4000, size, size, 0) + events)


def run(*arguments):
    return subprocess.run([THRUM, *arguments], capture_output=True, text=True, check=False)


def expect(condition, message):
    if not condition:
        failed.append(message)


def try_lttng():
    write_lttng("lttng")
    done = run("import", "lttng", "-o", "lttng.thrum")
    expect(done.returncode == 0, "lttng: " + done.stderr)
    dumped = run("dump", "--format=tsv", "lttng.thrum").stdout
    for words in ("web server 100", "store 200", "CPU 0", "irq disk", "wait for work", "8:0 read 4 KiB"):
        expect(words in dumped, f"lttng lacks {words}:\n{dumped}")
    done = run("tasks", "--format=tsv", "lttng.thrum")
    expect("store 200" in done.stdout, "no task is store")
    os.mkdir("empty")
    done = run("import", "empty", "-o", "x.thrum")
    expect(done.returncode == 2 and "babeltrace2 can't read it" in done.stderr, "empty: " + done.stderr)


def try_perf():
    """Returns why it can't be tried, or None."""
    recorded = subprocess.run(["perf", "record", "-q", "-a", "-e", "sched:sched_switch,sched:sched_waking,irq:*", "-o",
                               "perf.data", "--", "sleep", "0.1"], capture_output=True, text=True, check=False)
    if recorded.returncode != 0:
        return "perf may not listen to the scheduler here"
    done = run("import", "perf.data", "-o", "perf.thrum")
    expect(done.returncode == 0 and "of the kernel's scheduler" in done.stderr, "perf: " + done.stderr)
    expect("CPU " in run("stats", "perf.thrum").stdout, "perf: no processor")
    expect("sleep " in run("tasks", "perf.thrum").stdout, "perf: no thread is sleep")
    expect("softirq " in run("dump", "perf.thrum").stdout, "perf: no softirq")
    with open("perf.data", "rb") as file:
        head = file.read(300)
    with open("cut.data", "wb") as file:
        file.write(head)
    done = run("import", "cut.data", "-o", "x.thrum")
    expect(done.returncode == 2 and "perf can't read it" in done.stderr, "cut: " + done.stderr)
    return None


def try_without_tools():
    os.mkdir("none")
    done = subprocess.run([THRUM, "import", ".", "-o", "x.thrum"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PATH=os.path.abspath("none")))
    expect(done.returncode == 2 and "babeltrace2 is needed" in done.stderr, "without tools: " + done.stderr)


def main():
    skipped = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try_without_tools()
        if shutil.which("babeltrace2"):
            try_lttng()
        else:
            skipped.append("babeltrace2 is missing")
        reason = try_perf() if shutil.which("perf") else "perf is missing"
        if reason:
            skipped.append(reason)
        os.chdir("/")
    for message in failed:
        print(message)
    if failed:
        return 1
    if skipped:
        print("skipped: " + ", ".join(skipped))
        return 77
    return 0


sys.exit(main())
