#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum history keeps counters over restarts of the reader and of the program, and tells them."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from obeys import PATIENCE, Command, Program, check, finish, folder, run  # noqa: E402

FILE = os.path.join(folder.name, "counters.history")


def ask(*arguments, file=FILE):
    """The rows by path."""
    status, output, errors = run("history", file, "--format=json", *arguments)
    if status != 0:
        return {}
    check(errors == "", errors)
    rows = [json.loads(line) for line in output.splitlines()]
    return {row["counter"]: row for row in rows}


def wait_until(true, *arguments):
    """Asks until the rows are as they should be."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        rows = ask(*arguments)
        if true(rows):
            return rows
        time.sleep(0.1)
    sys.exit(f"the history stays {rows}")


program = Program()
program.tell("add net/bytes 1000")
program.tell("gauge level 5")
history = Command("history", program.pid, "-o", FILE)
rows = wait_until(lambda rows: "level" in rows, "--last=30min")
check(rows["net/bytes"]["growth"] == 0, "what was before counts", rows)
program.tell("add net/bytes 50")
program.tell("observe job-ms 20 10")
program.tell("gauge level 9")
rows = wait_until(lambda rows: rows.get("job-ms", {}).get("count") == 10
                  and rows["level"]["last"] == 9 and rows["net/bytes"]["growth"] == 50,
                  "--last=30min")
level, jobs = rows["level"], rows["job-ms"]
check(level["min"] == 5 and level["max"] == 9 and 5 <= level["mean"] <= 9, level)
check(level["kind"] == "gauge" and "rate" not in level, level)
check(rows["net/bytes"]["last"] == 1050 and rows["net/bytes"]["rate"] > 0, rows["net/bytes"])
check(rows["net"]["growth"] == 50, "the parent's sum", rows["net"])
check(jobs["mean"] == 20 and 19 <= jobs["p50"] <= 21 and jobs["kind"] == "distribution", jobs)
check(set(ask("--last=1h", "net*")) == {"net", "net/bytes"}, "the choice by path")

# There is one writer, and the file is its owner's.
status, _, errors = run("history", program.pid, "-o", FILE)
check(status == 2 and "another thrum writes to it" in errors, errors)
check(os.stat(FILE).st_mode & 0o777 == 0o600, "the file's mode")

# The reader is killed: nothing that was kept is lost, and a new one goes on.
history.process.kill()
history.wait()
check(ask("--last=1h")["net/bytes"]["growth"] == 50, "killing loses something")
size = os.stat(FILE).st_size
program.tell("add net/bytes 700")
history = Command("history", program.pid, "-o", FILE)
wait_until(lambda rows: rows["net/bytes"]["last"] == 1750, "--last=30min")
program.tell("add net/bytes 4")
rows = wait_until(lambda rows: rows["net/bytes"]["last"] == 1754, "--last=30min")
check(rows["net/bytes"]["growth"] == 54, "growth that nobody saw counts", rows)
check(os.stat(FILE).st_size == size, "the file grows")
check(history.end() == 0, "the status of an interrupted reader", history.output)

# The program ends; its successor goes on with the file.
program.end()
program = Program("other")
program.tell("add net/bytes 1")
history = Command("history", program.pid, "-o", FILE)
wait_until(lambda rows: rows["net/bytes"]["last"] == 1, "--last=30min")
program.tell("add net/bytes 6")
rows = wait_until(lambda rows: rows["net/bytes"]["last"] == 7, "--last=30min")
check(rows["net/bytes"]["growth"] == 60, "the growth in both programs", rows)
program.end()
check(history.wait() == 0 and "has ended" in history.output, "the end", history.output)

# The formats.
rows = ask("--since=midnight")
check(not rows or "net/bytes" in rows, "since midnight", rows)  # it may just have been midnight
_, output, _ = run("history", FILE, "--last=2h", "--format=tsv")
lines = [line.split("\t") for line in output.splitlines()]
check(lines[0][:4] == ["counter", "kind", "seconds", "mean"], lines[0])
check(all(len(line) == len(lines[0]) for line in lines), output)
check([line[0] for line in lines[1:]] == sorted(line[0] for line in lines[1:]), output)
_, output, _ = run("history", FILE, "--last=2h")
check(output.startswith("counter ") and "\n net" not in output, output)
check(not any(line.endswith(" ") for line in output.splitlines()), output)

# Errors.
status, _, errors = run("history", FILE, "nothing")
check(status == 1 and "has no values of nothing" in errors, errors)
for arguments, text in (
        (["--last=-1s"], "from 1s to 720h"),
        (["--last=721h"], "from 1s to 720h"),
        (["--last=1h", "--since=midnight"], "either --last or --since"),
        (["--since=25:00"], "midnight or a time"),
        (["--since=1"], "midnight or a time"),
        (["x", "-o", FILE], "ask for them without it")):
    status, _, errors = run("history", FILE, *arguments)
    check(status == 64 and text in errors, arguments, errors)
for name, content in (("text", b"no history\n" * 50), ("empty", b""),
                      ("cut", open(FILE, "rb").read()[:1000])):
    path = os.path.join(folder.name, name)
    with open(path, "wb") as file:
        file.write(content)
    status, _, errors = run("history", path)
    check(status == 2 and ("not a history" in errors or "damaged" in errors), name, errors)
program = Program("third")
status, _, errors = run("history", program.pid, "-o", os.path.join(folder.name, "text"))
check(status == 2 and "not a history" in errors, errors)
with open(os.path.join(folder.name, "text"), "rb") as file:
    check(file.read().startswith(b"no history"), "a foreign file is overwritten")
os.symlink(FILE, os.path.join(folder.name, "link"))
status, _, errors = run("history", program.pid, "-o", os.path.join(folder.name, "link"))
check(status == 2 and "symbolic link" in errors, errors)
status, _, errors = run("history", os.path.join(folder.name, "absent"))
check(status == 2 and "No such file" in errors, errors)
program.end()
finish()
