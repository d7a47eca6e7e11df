#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum watch acts soon after its rule comes true, and not during the cooldown."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

program = Program()
mark = os.path.join(folder.name, "mark")

# Tasks. The command's own log has the time, by the clock with which the program answers.
stamp = "exec=python3 -c 'import time; print(\"clock\", time.monotonic_ns())'"
watch = Command("watch", program.pid, "--when", "pending('TCP *') > 100", "--do", stamp,
                "--do", "exec=echo rule $THRUM_RULE, $THRUM_PID, $THRUM_NUMBER, $THRUM_NUMBERS",
                "--cooldown", "1h")
check(watch.read(0.5) == "", "it fires although there are no tasks", watch.output)
program.tell("task 100 TCP connect")
check(watch.read(0.5) == "", "it fires at 100 tasks", watch.output)
began = program.tell("task 1 TCP accept")
line = watch.wait_for("pending('TCP *') 101")
check(f"obeys {program.pid}: " in line, "the line", line)
watch.wait_for(f"rule pending('TCP *') > 100, {program.pid}, 1, pending('TCP *') 101")
# The command that tells the time may have written before that line, or write after it.
if not re.search(r"^clock \d+$", watch.output, re.M):
    watch.wait_for("clock ")
took = int(re.search(r"^clock (\d+)$", watch.output, re.M)[1]) - began
print(f"acted after {took / 1e6:.0f} ms")
check(0 < took < 30e9, "it acts late:", took)
# Not again during the cooldown, whether it stays true or becomes true again.
program.tell("resolve")
program.tell("task 200 TCP connect")
check(watch.read(0.5) == "", "it fires during the cooldown", watch.output)
check(watch.end() == 0, "the status of an interrupted watch that fired")
program.tell("resolve")

# After the cooldown it does, as often as the rule is true.
watch = Command("watch", program.pid, "--when", "pending('x') >= 1 and not age(x) > 1h",
                "--cooldown", "100ms", "--do", f"snapshot={folder.name}/x-%n-%p.thrum")
program.tell("task 1 x")
for number in (1, 2):
    watch.wait_for(f"copied {program.path} to {folder.name}/x-{number}-{program.pid}.thrum")
program.tell("resolve")
watch.end()
check(run("info", f"{folder.name}/x-2-{program.pid}.thrum")[0] == 0, "the snapshot")

# Counters and distributions: of the window, not of all time.
program.tell("add jobs 1000000")
program.tell("observe job-ms 1 5000")
watch = Command("watch", program.pid, "--when", "rate(jobs) > 100/s over 1s or "
                "p99(job-ms) > 2s over 1s and mean(job-ms) < 1min over 1s", "--cooldown", "1h")
check(watch.read(2) == "", "old numbers count", watch.output)
program.tell("observe job-ms 5000 10")
line = watch.wait_for("p99(job-ms)")
check(re.search(r"rate\(jobs\) 0/s, p99\(job-ms\) (4\.8|4\.9|5|5\.1)\d* s, "
                r"mean\(job-ms\) 5 s$", line), "the numbers", line)
watch.end()
watch = Command("watch", program.pid, "--once", "--when", "value(jobs) > 1000500")
check(watch.read(0.2) == "", "a value", watch.output)
program.tell("add jobs 501")
check(watch.wait() == 0 and "value(jobs) 1000501" in watch.output, watch.output)
watch = Command("watch", program.pid, "--when", "p99(jobs) > 5")
watch.wait_for('"jobs" is not a distribution: p99(jobs) stays unknown')
watch.end()

# Categories are turned off and on.
for action, level in (("disable=log", "-1"), ("enable=log=debug", "2")):
    program.tell("gauge trigger 1")
    status, _, errors = run("watch", program.pid, "--when", "value(trigger) = 1", "--once",
                            "--do", action)
    check(status == 0 and not errors, action, errors)
    _, output, _ = run("ctl", program.pid, "--status", "--format=tsv")
    check(re.search(rf"^log\t{level}\t", output, re.M), action, output)

# --once, and the process's end.
program.tell("task 1 y")
watch = Command("watch", program.pid, "--when", "age(y) > 0s or lost() > 0", "--once",
                "--do", f"exec=sleep 0.1; touch {mark}")
check(watch.wait() == 0, "the status of --once", watch.output)
check(os.path.exists(mark), "it doesn't wait for its command")
other = Program("other")
watch = Command("watch", other.pid, "--when", "pending(never) > 0 or value(nothing) > 0")
watch.wait_for("has no counter")  # so it has begun
check(watch.read(0.2) == "", "it fires", watch.output)
other.end()
check(watch.wait() == 1, "the status of a watch that never fired", watch.output)
check(f"obeys {other.pid} has ended" in watch.output, "the end", watch.output)
status, output, errors = run("watch", other.path, "--when", "pending(never) > 0")
check(status == 1 and "has ended" in errors, "a recording that has ended", errors)

# Errors.
status, _, errors = run("watch", program.pid, "--when", "pending('µ') > 5 ovr 3s")
check(status == 64, "the status of a wrong rule", status)
check(errors.startswith("thrum: --when: the rule could end here; join conditions with and, or\n"
                        "  pending('µ') > 5 ovr 3s\n"
                        "                   ^\n"), errors)
for arguments, text in (
        ([], "needs --when"),
        (["--when", "lost() > 1", "--when", "lost() > 2"], "there is one --when"),
        (["--when", "lost() > 1", "--do", "shout=x"], "not \"shout=x\""),
        (["--when", "lost() > 1", "--do", "exec="], "exec=COMMAND"),
        (["--when", "lost() > 1", "--do", "enable=net=loud"], '"net" needs a level'),
        (["--when", "lost() > 1", "--cooldown", "-1s"], "negative")):
    status, _, errors = run("watch", program.pid, *arguments)
    check(status == 64 and text in errors, arguments, errors)
status, _, errors = run("watch", os.environ["SOURCE"] + "/README.md", "--when", "lost() > 1")
check(status == 2 and "not a recording" in errors, errors)
watch = Command("watch", program.pid, "--when", "value(nothing) > 1 and rate(x) > 1/s")
watch.wait_for('has no counter "nothing" so far')
check(watch.end() == 1, "the status of an interrupted watch")
program.end()
finish()
