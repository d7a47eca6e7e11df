#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Asks thrum about programs whose authors didn't know how it looks for causes, and grades the answers.

    unseen.py                  the test: asks about the kept recordings; no grade may get worse
    unseen.py --run [FILE.c…]  runs the programs anew, and prints the grades: `make unseen`
    unseen.py --keep           runs them, and keeps their recordings and grades in the tree

The authors read the public headers and pages, wrote the programs in unseen/, and fixed there what is
to be found before anybody asked. The comment of a program has its cases:

    case: NAME
      args: ARGUMENTS
      run: [self] [size SIZE] [kill MS | stop MS | live MS]
      ask: why | why --slow=LABEL | diff CASE
      truth: a sentence for people
      culprit: REGEX     a line of the answer has to match it; or `nothing`
      victim: REGEX
      clue: REGEX        a line of the answer has to match it, whatever the grade

A program runs under `thrum record`; with `self`, by THRUM_TRACE. It runs to its end, or for MS: then
it is killed, or stopped by SIGTERM, or (live) asked about while it runs. Recordings that its children
make are bundled with its own. `diff` compares it with the
recording of CASE, the good one.

Grades: right; victim: only the victim is named; silent: there is no finding; wrong: the findings name
neither; noise: there is a finding where all is well. The kept recordings have theirs in grades.tsv.
"""

import argparse
import concurrent.futures
import glob
import lzma
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

THRUM = os.environ["THRUM"]
BUILD = os.environ["BUILD"]
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unseen")
KEPT = os.path.join(HERE, "recordings.tar.xz")
GRADES = os.path.join(HERE, "grades.tsv")
BEST_FIRST = ["right", "victim", "silent", "wrong", "noise"]
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
# The libraries that a program needs, by a header that it includes.
LIBRARIES = {
    r"uv\.h|thrum/promise\.h": ["libuv"],
    r"glib(-unix)?\.h|gio/.*": ["gio-2.0"],
    r"event2/.*": ["libevent", "libevent_pthreads"],
}
TIMEOUT = 60
KEPT_MOST = 200_000  # bytes; a recording that is bigger when compressed isn't kept


class Case:
    def __init__(self, file, name):
        self.file, self.name = file, name
        self.args = self.run = self.truth = self.culprit = self.victim = self.clue = ""
        self.ask = "why"
        self.is_empty = False  # it had nothing to record

    def title(self):
        return f"{os.path.basename(self.file)[:-2]}.{self.name}"

    def question(self):
        found = re.match(r"why --slow=(.*)$", self.ask)
        return ["why", "--slow=" + found[1].strip("\"'")] if found else shlex.split(self.ask)

    def kind(self):
        asked = "why --slow" if "--slow" in self.ask else self.question()[0]
        return "healthy" if self.culprit == "nothing" else asked

    def good(self):
        """The title of the recording with which this one is compared, or None."""
        words = self.question()
        return f"{os.path.basename(self.file)[:-2]}.{words[1]}" if words[0] == "diff" else None


def read_cases(file):
    """The cases in a file's comment, by title. Further lines of a truth are joined."""
    cases, case, key = {}, None, None
    with open(file, encoding="utf-8") as source:
        comment = source.read().partition(" case: ")
    for line in (comment[1] + comment[2].partition("*/")[0]).splitlines():
        found = re.match(r"[ *]*(case|args|run|ask|truth|culprit|victim|clue):\s*(.*?)\s*$", line)
        if found and found[1] == "case":
            case = Case(file, found[2])
            cases[case.title()] = case
        elif found and case:
            setattr(case, found[1], found[2])
        elif key == "truth":
            case.truth += " " + line.strip(" *")
        key = found[1] if found else key
    return cases


# ---- Running -------------------------------------------------------------------------------------

def signal_program(process, number):
    """Signals the program itself: the command that records it then ends, too."""
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                              check=False).stdout.split()
    is_command = process.args[0] == THRUM
    try:
        os.kill(int(children[0]) if is_command and children else process.pid, number)
    except ProcessLookupError:
        pass


def write_names(file):
    """Writes the names of functions into the recording: other machines lack the program."""
    subprocess.run([THRUM, "convert", "--symbols", file, file + ".named"], check=False, capture_output=True)
    if os.path.exists(file + ".named"):
        os.replace(file + ".named", file)


def gather(file):
    """Makes one file of all recordings of a run: children made theirs beside it, perhaps without a parent's."""
    files = [one for one in [file] + sorted(glob.glob(glob.escape(file) + ".[0-9]*")) if os.path.exists(one)]
    for one in files:
        write_names(one)
    if files and files != [file]:
        subprocess.run([THRUM, "bundle", "-o", file + ".all", *files], check=True)
        for one in files:
            os.unlink(one)
        os.replace(file + ".all", file)


def record(case, program, file):
    """Runs a case and records it to the file."""
    words = case.run.split()
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "src"))
    command = [program] + shlex.split(case.args)
    size = words[words.index("size") + 1] if "size" in words else "64M"
    if "self" in words:
        environment.update(THRUM_TRACE=file, THRUM_SIZE=size)
    else:
        command = [THRUM, "record", "-o", file, "--size=" + size, "--"] + command
    with open(file + ".err", "wb") as errors:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
    for word, number in (("kill", signal.SIGKILL), ("stop", signal.SIGTERM), ("live", signal.SIGKILL)):
        if word in words:
            time.sleep(int(words[words.index(word) + 1]) / 1000)
            if word == "live":
                subprocess.run([THRUM, "snapshot", file, "-o", file + ".now"], check=False,
                               capture_output=True)
            signal_program(process, number)
    try:
        process.wait(TIMEOUT)
        os.killpg(process.pid, signal.SIGKILL)  # processes that it left behind
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    except ProcessLookupError:
        pass
    if os.path.exists(file + ".now"):
        os.replace(file + ".now", file)
    with open(file + ".err", encoding="utf-8", errors="replace") as errors:
        case.is_empty = not os.path.exists(file) and " recorded nothing: " in errors.read()
    gather(file)


def build(source, program):
    """Compiles a program. Its warnings are left to its author."""
    with open(source, encoding="utf-8") as file:
        included = re.findall(r"^#include <(.*)>", file.read(), re.M)
    flags = ["-lm"]
    for wanted, libraries in LIBRARIES.items():
        if any(re.fullmatch(wanted, header) for header in included):
            flags += subprocess.run(["pkg-config", "--cflags", "--libs", *libraries], check=True,
                                    capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-std=gnu11", "-O2", "-g", "-w", "-D_GNU_SOURCE", "-pthread", source, "-o", program,
                    "-I" + os.path.join(TOP, "include"), "-L" + os.path.join(BUILD, "src"),
                    "-Wl,--as-needed", "-lthrum-promise", "-lthrum", *flags], check=True)


def run_all(cases, folder, jobs):
    programs = os.path.join(folder, "programs")
    shutil.rmtree(programs, ignore_errors=True)
    os.makedirs(programs)

    def program_of(source):
        return os.path.join(programs, os.path.basename(source)[:-2])

    def run(case):
        record(case, program_of(case.file), os.path.join(folder, case.title() + ".thrum"))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda source: build(source, program_of(source)), {case.file for case in cases}))
        list(pool.map(run, cases))


# ---- Grading -------------------------------------------------------------------------------------

def ask(case, folder):
    """thrum's exit status and answer. Where nothing was recorded there is no finding."""
    if case.is_empty:
        return 0, "nothing was recorded\n"
    file = os.path.join(folder, case.title() + ".thrum")
    words = case.question()
    if words[0] == "diff":
        words = ["diff", os.path.join(folder, case.good() + ".thrum")]
    done = subprocess.run([THRUM, *words, file], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def grade(case, status, answer):
    # Tasks that can't be judged are no findings, though the status tells of them.
    is_finding = (status == 1 and not answer.startswith("no findings")) or (
        case.kind() == "why --slow" and status == 0)
    if status not in (0, 1):
        return "wrong"
    if case.culprit == "nothing":
        return "noise" if is_finding else "right"
    if not is_finding:
        return "silent"
    for result, pattern in (("right", case.culprit), ("victim", case.victim)):
        if pattern and any(re.search(pattern, line) for line in answer.splitlines()):
            return result
    return "wrong"


def grade_all(cases, folder):
    """Returns (case, grade, answer) of each case."""
    answers = [(case, *ask(case, folder)) for case in cases]
    return [(case, grade(case, status, answer), answer) for case, status, answer in answers]


def print_sums(graded):
    for kind in ("why", "why --slow", "diff", "healthy"):
        grades = [result for case, result, _ in graded if case.kind() == kind]
        sums = [f"{grades.count(result)} {result}" for result in BEST_FIRST if result in grades]
        print(f"{kind}: {len(grades)} cases: {', '.join(sums)}")


# ---- The modes -----------------------------------------------------------------------------------

def run(cases, options):
    with tempfile.TemporaryDirectory(prefix="thrum-") as folder:
        folder = options.folder or folder
        run_all(cases, folder, options.jobs)
        graded = grade_all(cases, folder)
        for case, result, answer in graded:
            print(f"{result}\t{case.kind()}\t{case.title()}\t{case.truth}")
            with open(os.path.join(folder, case.title() + ".txt"), "w", encoding="utf-8") as text:
                text.write(f"truth: {case.truth}\nculprit: {case.culprit}\nvictim: {case.victim}\n\n{answer}")
        print_sums(graded)
        if options.keep:
            keep(graded, folder)


def keep(graded, folder):
    names = []
    with open(GRADES, "w", encoding="utf-8") as grades:
        for case, result, _ in sorted(graded, key=lambda item: item[0].title()):
            file = os.path.join(folder, case.title() + ".thrum")
            if case.is_empty:
                continue
            with open(file, "rb") as recording:
                if len(lzma.compress(recording.read(), preset=0)) > KEPT_MOST:
                    continue
            names.append(case.title() + ".thrum")
            grades.write(f"{case.title()}\t{result}\n")
    pack(names, folder)


def pack(names, folder):
    """Most of a ring is unused: the archive leaves its zeros out."""
    subprocess.run(["tar", "--create", "--sparse", "--hole-detection=raw", "--use-compress-program", "xz -9",
                    "--file", KEPT, "--mtime", "@0", "--owner", "0", "--group", "0", "--numeric-owner",
                    "--mode", "0644", "--directory", folder, *names], check=True)


def test(cases):
    """No kept recording gets a worse grade than before. A sanitizer is slow, and gets a twelfth, or the part that
    UNSEEN_SHARE says: the same ones, also when others join."""
    worse = 0
    is_plain = os.environ.get("SANITIZE", "none") == "none"
    share = 1 if is_plain else int(os.environ.get("UNSEEN_SHARE", "12"))
    with open(GRADES, encoding="utf-8") as lines:
        before = dict(line.rstrip("\n").split("\t") for line in lines)
    with tempfile.TemporaryDirectory(prefix="thrum-") as folder:
        kept = [case for case in cases if case.title() in before]
        some = [case for case in kept if zlib.crc32(case.title().encode()) % share == 0]
        # With those that others are compared with.
        titles = {case.title() for case in some} | {case.good() for case in some if case.good()}
        subprocess.run(["tar", "--extract", "--file", KEPT, "--directory", folder,
                        *sorted(title + ".thrum" for title in titles)], check=True)
        graded = grade_all(some, folder)
    for case, result, answer in graded:
        if BEST_FIRST.index(result) > BEST_FIRST.index(before[case.title()]):
            print(f"{case.title()}: {result}, no longer {before[case.title()]}. The truth: "
                  f"{case.truth}\n{answer}")
            worse += 1
        if case.clue and not any(re.search(case.clue, line) for line in answer.splitlines()):
            print(f"{case.title()}: no line has the clue {case.clue}\n{answer}")
            worse += 1
    print_sums(graded)
    if len(kept) != len(before):
        print("there are recordings without a program")
        worse += 1
    return worse > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--folder", help="where recordings and answers are written, and stay")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    cases = {}
    for file in options.files or sorted(glob.glob(os.path.join(HERE, "*.c"))):
        cases.update(read_cases(file))
    if options.run or options.keep:
        run(list(cases.values()), options)
        return 0
    return test(list(cases.values()))


if __name__ == "__main__":
    sys.exit(main())
