#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum top prints its rows once, and shows them on a terminal of any size."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from obeys import PATIENCE, THRUM, Program, check, finish, folder, run  # noqa: E402

program = Program()
for line in ("gauge pool/idle 7", "gauge pool/busy -3", "add net/sent/bytes 2097152",
             "add net/errors 12", "observe net/latency-us 1500 10", "observe net/latency-us 40 990",
             "task 2 GET /user/17", "task 1 GET /user/4", "task 5 TCP connect"):
    program.tell(line)

# Once.
status, text, errors = run("top", program.pid, "--once", "--interval=100ms")
check(status == 0 and not errors, "top --once", status, errors)
for pattern in (r"^ obeys \d+  records for ", r"^ COUNTERS +VALUE +RATE +P50 +P99 +MAX$",
                r"^   sent +2\.0 MiB +0 bytes/s$", r"^     bytes +2\.0 MiB +0 bytes/s$", r"^   idle +7$",
                r"^   busy +−3$", r"^   latency-us +1,000 +0/s +40 µs +40 µs +1\.5 ms$",
                r"^ GET /user/# +3 +[\d.]+ \w+ +[\d.]+ \w+$", r"^ main loop +"):
    check(re.search(pattern, text, re.M), "no", pattern, text)
check(max(map(len, text.split("\n"))) <= 130, "a long line")
status, text, _ = run("top", program.pid, "--once", "--format=tsv", "--interval=100ms")
table = [line.split("\t") for line in text.rstrip("\n").split("\n")]
check({len(row) for row in table} == {9} and table[0][0] == "process", table)
check([f"obeys {program.pid}", "counter", "pool/idle", "gauge", "7"] in [row[:5] for row in table],
      table)
check(["tasks", "GET /user/#", "request", "3"] in [row[1:5] for row in table], table)
status, text, _ = run("top", program.pid, program.path, "--once", "-f", "json", "-i", "100ms")
for process in json.loads(text):
    check(str(process["pid"]) == program.pid and process["recording"], process)
    counters = {counter["path"]: counter for counter in process["counters"]}
    check(counters["net/latency-us"]["count"] == 1000 and counters["net/errors"]["value"] == 12,
          counters)
    check([5, 3] == sorted((group["count"] for group in process["tasks"]), reverse=True), process)
    check(process["threads"][0]["thread"] == "main loop", process)
check(len(json.loads(text)) == 2, text)
for arguments, status, error in ((["--format=tsv"], 64, "--format needs --once"),
                                 (["--interval=1ms"], 64, "between 100ms and 1min"),
                                 ([], 2, "top needs a terminal")):
    got, _, errors = run("top", program.pid, *arguments)
    check(got == status and error in errors or "ncurses" in errors, arguments, errors)

if not shutil.which("tmux"):
    print("skipped: tmux is missing, the screen isn't tried")
    finish()
if "ncurses" in run("top", program.pid)[2]:
    print("skipped: thrum was built without ncurses, there is no screen")
    finish()


def tmux(*arguments):
    return subprocess.run(["tmux", "-S", os.path.join(folder.name, "tmux"), "-f", "/dev/null",
                           *arguments], capture_output=True, text=True, timeout=PATIENCE,
                          check=False).stdout


class Screen:
    """thrum top on a terminal of this size."""

    def __init__(self, name, width, height, *arguments, **environment):
        self.name = name
        environment = {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", **environment}
        command = ["env", *(f"{key}={value}" for key, value in environment.items()), THRUM, "top",
                   "--interval=200ms", *arguments]
        # The shell stays, so that the last screen and the status can be seen.
        tmux("new-session", "-d", "-s", name, "-x", str(width), "-y", str(height),
             shlex.join(command) + "; echo status $?; sleep 1000")

    def capture(self, *arguments):
        return tmux("capture-pane", "-p", "-t", self.name, *arguments)

    def keys(self, *keys):
        tmux("send-keys", "-t", self.name, *keys)

    def wait_for(self, pattern, *arguments):
        end, text = time.monotonic() + PATIENCE, ""
        while time.monotonic() < end:
            text = self.capture(*arguments)
            if re.search(pattern, text, re.M):
                return text
            time.sleep(0.1)
        check(False, "the screen never shows", pattern, "\n" + text)
        return text


def masked(text):
    """A screen without what changes: times, loads, and bars."""
    text = re.sub("[▁▂▃▄▅▆▇█]+", "", text)
    text = re.sub(r"\d\d:\d\d:\d\d|\d+ min \d+ s|[\d.]+ (ns|µs|ms|s)\b", "T", text)
    text = re.sub(r"\d+(\.\d+)? %", "L", text)
    text = text.replace(f" {program.pid}", " PID")
    lines = [re.sub("   +", "  ", line.rstrip()) for line in text.split("\n")]
    return "\n".join(lines).strip("\n")


SMALL = """\
 obeys PID  records for T  T

 COUNTERS  VALUE  RATE  LAST T
 net
  errors  12  0/s
  latency-us  p99 T  0/s
  sent  2.0 MiB  0 bytes/s
  bytes  2.0 MiB  0 bytes/s
 pool  4
  busy  −3
  idle  7
 started  1

 LIVE TASKS  TASKS▾  OLDEST  LAST T
 TCP connect  5  T
 GET /user/#  3  T

 THREADS  LOAD  EVENTS  LAST T
 main loop  L  0/s




 Tab part  Enter details  z zoom  s sort  / filter  Space pause  ? help"""

small = Screen("small", 80, 24, program.pid)
# The first look has no rates yet.
text = small.wait_for(r"errors +12 +0/s.*[▁-█](.|\n)*main loop +\S+ % +0/s")
check(masked(text) == SMALL, "80×24:\n" + masked(text))
check(all(len(line) <= 80 for line in text.split("\n")), "a line is too long")

large = Screen("large", 200, 50, program.pid)
text = large.wait_for(r"errors +12 +0/s.*[▁-█](.|\n)*main loop +\S+ % +0/s")
lines = text.split("\n")
heading = next(line for line in lines if "COUNTERS" in line)
for name, column, value in (("idle", "VALUE", "7"), ("bytes", "VALUE", "2.0 MiB"),
                            ("errors", "RATE", "0/s"), ("latency-us", "MAX", "1.5 ms")):
    line = next(line for line in lines if line.split()[:1] == [name])
    end = heading.index(column) + len(column)
    check(line[:end].endswith(" " + value), "the column of", name, line)
check("YOUNGEST" in text and "MUST END" in text and "RUNS" in text, "200×50:\n" + text)

# The tree, the details, the zoom, the order and the filter.
small.keys("Left")
small.wait_for("^▸net$")
small.keys("Right", "Down", "Down", "Enter")
small.wait_for(r"^ net/latency-us\n\n kind +distribution +p50 ")
small.wait_for(r"observations +1,000")
small.wait_for(r"40 µs +990  █+$")
program.tell("observe net/latency-us 2000 100")
small.wait_for(r"last 5 min +mean (1\.9|2|2\.0)\d* ms, p99 (1\.9|2|2\.0)\d* ms")
small.keys("Escape")
small.wait_for("LIVE TASKS")
small.keys("s")
small.wait_for(r"VALUE▾(.|\n)* net/sent/bytes .*\n net/latency-us ")
small.keys("r")
small.wait_for(r"VALUE▴.*\n pool/busy")
small.keys("Tab", "Enter")
small.wait_for(r"^ TCP connect\n\n +TASK +AGE +LABEL +WAITS FOR, SINCE\n +#\d+ .* TCP connect$")
program.tell("resolve")
small.wait_for("no task of this label is pending now")
small.keys("Escape")
small.wait_for("no task is pending")
small.keys("3")
small.wait_for(r"^ \S+ \d+  records .*\n\n THREADS")
small.keys("3", "/")
small.keys("-l", "POOL")
small.wait_for(r"^ filter: POOL")
small.keys("Enter")
text = small.wait_for(r"^ filter: POOL   Esc")
check("pool/busy" in text and "net/" not in text and "nothing here matches" in text, text)
small.keys("Escape")
small.wait_for("net/errors")
small.keys("?")
small.wait_for("^ Keys$")
small.keys("Escape")
small.wait_for("COUNTERS")

# The numbers go on; not while it is paused.
program.tell("gauge pool/idle 123456")
small.wait_for(r"pool/idle +123,456")
small.keys("Space")
small.wait_for("paused$")
program.tell("gauge pool/idle 5")
time.sleep(0.5)
check("123,456" in small.capture(), "it isn't paused")
small.keys("Space")
small.wait_for(r"pool/idle +5 ")

# The mouse, as xterm reports it: a button goes down and up in column 3 and line 3, a heading.
small.keys("-l", "\x1b[M ##\x1b[M###")
small.wait_for(r"RATE▾")

# Other sizes, down to very small ones.
for width, height in ((200, 50), (30, 8), (10, 3), (1, 1), (80, 24)):
    tmux("resize-window", "-t", "small", "-x", str(width), "-y", str(height))
    time.sleep(0.3)
small.wait_for("THREADS")

# The end of the process, and of top.
program.end()
small.wait_for(r"^ obeys \d+  ended")
small.keys("q")
small.wait_for("^status 0$")

# Without colours and without UTF-8; a terminal that knows nothing.
other = Program("other")
other.tell("gauge ü 3")
plain = Screen("plain", 80, 24, other.pid, LC_ALL="C", LANG="C")
text = plain.wait_for(r"^ \? +3 +[#_.:=]*$")
check(text.isascii(), text)
for name, value in (("NO_COLOR", "1"), ("NOTHING", "1")):
    colours = Screen("colours" + name, 80, 24, other.pid, TERM="xterm-256color", **{name: value})
    text = colours.wait_for("COUNTERS", "-e")
    check(("\x1b[38;5" in text) == (name == "NOTHING"), "colours", name, repr(text))
dumb = Screen("dumb", 80, 24, other.pid, TERM="nonsense")
dumb.wait_for('terminal "nonsense" is unknown')
dumb.wait_for("^status 2$")

# A message that ends it is seen.
copy = os.path.join(folder.name, "copy.thrum")
subprocess.run([THRUM, "snapshot", str(other.pid), "-o", copy], check=True, stderr=subprocess.DEVNULL)
cut = Screen("cut", 80, 24, copy)
cut.wait_for("THREADS")
os.truncate(copy, 100)
cut.wait_for("^thrum: .*copy.thrum: ")
cut.wait_for("^status 2$")
other.end()
tmux("kill-server")
finish()
