#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum import reads a kernel's trace through the tool that knows its format: perf, babeltrace2."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/import/driver"))
from recorded import record  # noqa: E402

THRUM = os.environ["THRUM"]
PROGRAM = os.path.join(os.environ["BUILD"], "tests/thrum/programs/kernel")
CROWDED = os.path.join(os.environ["BUILD"], "tests/thrum/programs/crowded")
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


def switch(at, before, state, after):
    return (struct.pack("<IQ", 0, at) + text(before[0]) + struct.pack("<iii", before[1], 20, state)
            + text(after[0]) + struct.pack("<ii", after[1], 20))


def waking(at, name, tid):
    return struct.pack("<IQ", 1, at) + text(name) + struct.pack("<iii", tid, 20, 0)


def write_lttng(folder, start=0, host="alpha", tid=100):
    idle, web, store = ("swapper/0", 0), ("web server", tid), ("store", 200)
    events = b"".join((
        switch(start + 1000, idle, 0, web),
        struct.pack("<IQ", 2, start + 1400) + struct.pack("<i", 7) + text("disk"),
        waking(start + 1500, "store", 200),
        struct.pack("<IQii", 3, start + 1600, 7, 1),
        switch(start + 2000, web, 0, store),
        struct.pack("<IQIQIIiI", 4, start + 2100, 8 << 20, 2048, 8, 4096, 200, 4),
        struct.pack("<IQIQIiI", 5, start + 2900, 8 << 20, 2048, 8, 0, 4),
        switch(start + 3000, store, 1, web),
        switch(start + 4000, web, 1, idle),
    ))
    os.mkdir(folder)
    size = (8 + 36 + len(events)) * 8
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
        file.write(METADATA.replace("alpha", host))
    with open(os.path.join(folder, "channel0_0"), "wb") as file:
        file.write(struct.pack("<IIQQQQI", 0xc1fc1fc1, 0, start + 1000, start + 4000, size, size, 0) + events)


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


def try_program():
    """A trace that LTTng-UST made of a small program with tracepoints, whose functions gcc instrumented."""
    done = run("import", os.path.join(os.environ["SOURCE"], "tests/import/data/lttng"), "-o", "program.thrum")
    expect("14 events of LTTng's tracepoints, of 1 process" in done.stderr, "program: " + done.stderr)
    dumped = run("dump", "--format=tsv", "program.thrum").stdout
    for words in ('shop:order item = 7, who = "main"', '2, who = "{ a', "thread 26966", "function 0x555884964433"):
        expect(words in dumped, f"the program lacks {words}:\n{dumped}")
    tasks = [line.split("\t") for line in run("tasks", "--format=tsv", "program.thrum").stdout.splitlines()]
    packs = [task for task in tasks if "function 0x555884964433" in task]
    expect(len(packs) == 3 and all("resolved" in task for task in packs), f"functions: {tasks}")
    expect("began 2026-11-26 22:37:32" in run("dump", "program.thrum").stdout, "the time of day")


def try_beside():
    """A trace of the same machine has its clock in common with a recording."""
    before, after = record(THRUM, PROGRAM, "run.thrum")
    host = os.uname().nodename
    write_lttng("beside", (before + after) // 2, host)
    done = run("import", "beside", "--beside=run.thrum", "-o", "beside.thrum")
    expect(done.returncode == 0, "beside: " + done.stderr)
    done = run("dump", "--format=tsv", "--together", "run.thrum", "beside.thrum")
    at = {fields[6]: int(fields[0]) for fields in (line.split("\t") for line in done.stdout.splitlines())
          if fields[2] == "span-begin" or fields[6] == "answers"}
    expect(0 < at["irq disk"] < after - before and at["answers"] > 0, f"beside: {at}")
    first = min(int(line.split("\t")[0]) for line in done.stdout.splitlines()[1:])
    expect(first == 0, f"the first event is at {first}")
    # Two threads of the trace have numbers of none here, and the third one is the program's own.
    expect("\toff-cpu\t" not in done.stdout, "beside: threads of others")
    middle = (before + after) // 2
    pid = int(next(line for line in run("info", "--format=tsv", "run.thrum").stdout.splitlines()
                   if line.startswith("pid\t")).split("\t")[1])
    write_lttng("own", middle, host, pid)
    run("import", "own", "--beside=run.thrum", "-o", "own.thrum")
    told = [line.split("\t") for line in run("dump", "--format=tsv", "own.thrum", "run.thrum", "--together").stdout
            .splitlines() if "\toff-cpu\t" in line]
    expect([(line[5], line[6]) for line in told] == [("1000", "preempted")], f"own: {told}")
    write_lttng("other", (before + after) // 2, host + "x")
    write_lttng("early", 1000, host)
    for trace, words in (("other", f"is from the machine {host}x"), ("early", "none of its times lies within")):
        done = run("import", trace, "--beside=run.thrum", "-o", "x.thrum")
        expect(done.returncode == 2 and words in done.stderr, f"{trace}: " + done.stderr)
    with open("chrome.json", "w", encoding="ascii") as file:
        file.write('[{"name": "a", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]')
    done = run("import", "chrome.json", "--beside=run.thrum", "-o", "x.thrum")
    expect(done.returncode == 2 and "needs a trace of a kernel" in done.stderr, "chrome: " + done.stderr)


def try_perf_beside():
    """perf tells whether its times can be compared."""
    for clock in ([], ["-k", "CLOCK_MONOTONIC"]):
        # perf begins before it starts a program, and ends after it.
        subprocess.run(["perf", "record", "-q", "-a", *clock, "-e", "sched:sched_switch", "-o", "beside.data", "--",
                        THRUM, "record", "-o", "run.thrum", "--", PROGRAM], stderr=subprocess.DEVNULL, check=False)
        done = run("import", "beside.data", "--beside=run.thrum", "-o", "x.thrum")
        if clock:
            expect(done.returncode == 0, "perf beside: " + done.stderr)
        else:
            expect(done.returncode == 2 and "perf record -k CLOCK_MONOTONIC" in done.stderr, "perf: " + done.stderr)


def try_perf_threads():
    """Joined with it, perf's trace tells of the recording's threads what `record --sched` does."""
    subprocess.run(["perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-e",
                    "sched:sched_switch,sched:sched_waking", "-o", "threads.data", "--", THRUM, "record", "-o",
                    "threads.thrum", "--", CROWDED], stderr=subprocess.DEVNULL, check=False)
    done = run("import", "threads.data", "--beside=threads.thrum", "-o", "kernel.thrum")
    expect(done.returncode == 0, "threads: " + done.stderr)
    run("bundle", "-o", "all.thrums", "threads.thrum", "kernel.thrum")
    for joined in (["--together", "threads.thrum", "kernel.thrum"], ["all.thrums"]):
        slow = run("why", "--slow=works", "--format=json", *joined).stdout
        expect('"doing":"preempted"' in slow, f"works in {joined}: {slow}")
        slow = run("why", "--slow=sleeps", "--format=json", *joined).stdout
        expect('"doing":"blocked"' in slow, f"sleeps in {joined}: {slow}")
        stats = run("stats", "--by=lane", "--format=tsv", *joined).stdout
        expect("\toff-cpu\tpreempted\t" in stats and "\ton-cpu\t" in stats, f"lanes of {joined}: {stats}")
        run("render", "--as=rows", "--legend", "-o", "threads.svg", *joined)
        with open("threads.svg", encoding="utf-8") as file:
            expect(">ready, not on a CPU<" in file.read(), f"the picture of {joined}")
    expect("damaged" not in run("dump", "all.thrums").stdout, "threads: other numbers")


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
    try_perf_beside()
    try_perf_threads()
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
            try_program()
            try_beside()
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
