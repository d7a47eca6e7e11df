#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`thrum why` names the cause of what is broken in the programs here, and nothing in their twins.

expect/NAME.txt holds the finding that is expected in a recording of programs/NAME.c, and
expect/NAME_healthy.txt that of its twin (a program quiet_* has only a healthy form):

    # a description
    CLASS, CERTAINTY        or `none`; the finding must be at least so certain
    cause: LABEL            a task that one of the steps names; or LABEL | LABEL: one of these
    victim: LABEL           the same, not in a step before that of the cause (except in a cycle)
    at MS EVENT [TASK] [-> OTHER] [= VALUE] ["TEXT]
    after MS no EVENT [TASK] [-> OTHER]

The last two are the proof: rows of `dump`, with labels for tasks, that must or must not be there.
One of the finding's steps must be at one of these times. Renamed labels, shifted times and other
ids must not change the findings. If the beginning is overwritten, findings may be missing, or say
no more certainly that a task never resolves instead of telling the reason.
"""

import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict

THRUM = os.environ["THRUM"]
# With sanitizers, ten recordings of each program would take too long.
SANITIZED = os.environ.get("SANITIZE", "none") != "none"
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.environ["BUILD"], "tests", "why", "programs")
GRADES = ["possible", "likely", "certain"]
SAME_MS = 0.5
VARIANTS = ["rename", "shift=86400000", "ids=7", "ids=1000003"]
FLOODS = [2, 3, 5, 8, 13, 100]
failures = []


def check(right, message):
    if not right:
        print(message)
        failures.append(message)
    return right


# ---- Expectations --------------------------------------------------------------------------------

ROW = re.compile(r"at (?P<time>[\d.]+) (?P<event>[a-z-]+)(?: (?P<task>[^>=\"]+?))??"
                 r"(?: -> (?P<other>[^=\"]+?))?(?: = (?P<value>\d+))?(?: \"(?P<text>.*))?$")
NO_ROW = re.compile(r"after (?P<time>[\d.]+) no (?P<event>[a-z-]+)(?: (?P<task>[^>]+?))??"
                    r"(?: -> (?P<other>.+))?$")


class Expected:
    def __init__(self, path):
        self.cause = self.victim = self.kind = self.certainty = None
        self.rows, self.none = [], []
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
        if lines[0] != "none":
            self.kind, self.certainty = lines[0].split(", ")
            assert self.certainty in GRADES, lines[0]
        for line in lines[1:]:
            if line.startswith(("cause: ", "victim: ")):
                setattr(self, *line.split(": "))
            elif line.startswith("at "):
                self.rows.append(ROW.match(line).groupdict())
            else:
                self.none.append(NO_ROW.match(line).groupdict())
        assert self.rows and (self.kind is None or self.cause), path


# ---- Recordings ----------------------------------------------------------------------------------

def record(folder, name, healthy, *arguments):
    trace = os.path.join(folder, "trace")
    subprocess.run([os.path.join(PROGRAMS, name), trace, *["healthy"][:healthy], *arguments],
                   check=False, stderr=subprocess.DEVNULL, timeout=60,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    return trace


def dump(trace):
    done = subprocess.run([THRUM, "dump", "--format=tsv", trace], capture_output=True, text=True,
                          check=True)
    names, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    rows = [dict(zip(names, row)) for row in rows]
    labels = {row["task"]: row["text"] for row in rows if row["event"] == "label"}
    for row in rows:
        row["time"] = int(row["time"]) / 1e6
        row["task"], row["other"] = labels.get(row["task"]), labels.get(row["other"])
    return rows


def fits(row, pattern):
    return all(row[key] == pattern.get(key) for key in ("event", "task", "other", "value", "text")
               if pattern.get(key) is not None)


def prove(name, expected, rows):
    """The rows that the expectation names are there, and those that it denies aren't."""
    for pattern in expected.rows:
        check(any(abs(row["time"] - float(pattern["time"])) < SAME_MS and fits(row, pattern)
                  for row in rows), f"{name}: nothing in dump is {pattern}")
    for pattern in expected.none:
        check(not any(row["time"] > float(pattern["time"]) and fits(row, pattern)
                      for row in rows), f"{name}: in dump is {pattern}")


# ---- Findings ------------------------------------------------------------------------------------

def letters(words):
    return re.sub("[^a-z]", "", words.lower())


def why(trace):
    done = subprocess.run([THRUM, "why", "--format=json", trace], capture_output=True, text=True,
                          check=False, timeout=60)
    check(done.returncode in (0, 1), f"why: exit status {done.returncode}: {done.stderr}")
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    check((done.returncode == 1) == bool(findings), "why: the exit status isn't as the findings")
    return findings


def named(step):
    """Every label in a step, its task's first."""
    return [value for key, value in sorted(step.items(), key=lambda item: item[0] != "label")
            if key.endswith("label") and value]


def naming(steps, labels):
    return [i for i, step in enumerate(steps) if set(labels.split(" | ")) & set(named(step))]


def is_expected(finding, expected):
    if letters(finding["class"]) != letters(expected.kind):
        return False
    steps = finding["steps"]
    causes = naming(steps, expected.cause)
    victims = naming(steps, expected.victim or expected.cause)
    if not causes or not victims or (causes[0] > victims[-1] and expected.kind != "deadlock"):
        return False
    return any(abs(step["time"] / 1e6 - float(row["time"])) < SAME_MS
               for step in steps for row in expected.rows if step.get("time") is not None)


def is_as_certain(finding, grade):
    return GRADES.index(finding["certainty"]) >= GRADES.index(grade)


def in_short(findings):
    return [f"{f['class']} ({f['certainty']}): " +
            ", ".join("/".join(named(s)) or "?" for s in f["steps"]) for f in findings]


def judge(name, expected, findings, score):
    """Counts into score[class] = [right, wrong, missed]."""
    right = [f for f in findings if expected.kind and is_expected(f, expected)]
    for finding in findings:
        if finding not in right and is_as_certain(finding, "likely"):
            score[finding["class"]][1] += 1
            print(f"{name}: not expected: {in_short([finding])}")
        check(finding in right or not is_as_certain(finding, "certain"),
              f"{name}: certain, but not so: {in_short([finding])}")
    if expected.kind is None:
        return
    sure = any(is_as_certain(f, expected.certainty) for f in right)
    score[expected.kind][0 if sure else 2] += 1
    check(sure, f"{name}: not found: {expected.kind}, {expected.certainty}, by {expected.cause}; "
          f"but {in_short(findings)}")


# ---- Variants ------------------------------------------------------------------------------------

def either_way(label):
    return min(label, label[::-1])


def essence(finding):
    """Class, certainty, labels (also if backwards) and times, without ids."""
    return (letters(finding["class"]), finding["certainty"],
            [sorted(map(either_way, named(step))) for step in finding["steps"]],
            [step.get("time") for step in finding["steps"]])


def is_same(one, other):
    return one[:3] == other[:3] and len(one[3]) == len(other[3]) and all(
        a == b or (None not in (a, b) and abs(a - b) < SAME_MS * 1e6)
        for a, b in zip(one[3], other[3]))


def is_less(cut, whole):
    """Whether a finding says nothing that the finding of the whole recording doesn't say."""
    less_sure = GRADES.index(whole[1]) - GRADES.index(cut[1])
    return (({label for step in cut[2] for label in step} <=
             {label for step in whole[2] for label in step}) and
            (cut[0] == whole[0] and less_sure >= 0 or
             cut[0] == letters("never resolved") and less_sure >= 0))


def vary(folder, name, healthy, findings):
    whole = [essence(finding) for finding in findings]
    for variant in VARIANTS:
        now = [essence(f) for f in why(record(folder, name, healthy, variant))]
        check(len(now) == len(whole) and all(any(is_same(a, b) for b in whole) for a in now),
              f"{name} {'healthy ' * healthy}{variant}: {now} instead of {whole}")
    for flood in FLOODS:
        for cut in why(record(folder, name, healthy, f"flood={flood}")):
            check(any(is_less(essence(cut), one) for one in whole),
                  f"{name} {'healthy ' * healthy}flood={flood}: {in_short([cut])} is new")


# ---- All programs --------------------------------------------------------------------------------

def table(score):
    print(f"{'class':24} right wrong missed  precision  recall")
    for kind, (right, wrong, missed) in sorted(score.items()):
        precision = f"{right / (right + wrong):.0%}" if right + wrong else "-"
        recall = f"{right / (right + missed):.0%}" if right + missed else "-"
        print(f"{kind:24} {right:5} {wrong:5} {missed:6}  {precision:>9}  {recall:>6}")


def main():
    score = defaultdict(lambda: [0, 0, 0])
    count = 0
    for file in sorted(glob.glob(os.path.join(HERE, "expect", "*.txt"))):
        name, healthy = re.match(r"(.*?)(_healthy)?\.txt", os.path.basename(file)).groups()
        healthy = healthy is not None
        if not os.path.exists(os.path.join(PROGRAMS, name)):
            check(name.startswith("promise_"), f"{name}: isn't built")
            continue
        with tempfile.TemporaryDirectory() as folder:
            expected = Expected(file)
            check(healthy == (expected.kind is None), f"{file}: healthy or not?")
            trace = record(folder, name, healthy)
            prove(name + " healthy" * healthy, expected, dump(trace))
            count += 1
            findings = why(trace)
            judge(name + " healthy" * healthy, expected, findings, score)
            if not SANITIZED:
                vary(folder, name, healthy, findings)
    check(count >= 40, f"only {count} programs")
    table(score)
    if failures:
        sys.exit(f"{len(failures)} failures")


main()
