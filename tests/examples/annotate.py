#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The recipes: the page's code is that of the programs, and `thrum why` says what it says there.

Each program of examples/annotate/ is recorded twice. Of the run that works, `why` finds nothing.
With --update, what it says of the others is written into the page.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

import tutorial

FOLDER = os.path.join(tutorial.SOURCE, "examples", "annotate")
THRUM = os.path.join(tutorial.BUILD, "thrum")
PAGE = "doc/annotate.md"
# The adapters can't be loaded into programs with a sanitizer. They record the waits of this one, and those of the
# main threads of others.
IS_ADAPTED = os.environ["SANITIZE"] == "none"
ADAPTED = {"blocked"}


def dedent(text):
    """The lines, without the spaces that all of them begin with."""
    lines = text.rstrip("\n").split("\n")
    spaces = min(len(line) - len(line.lstrip(" ")) for line in lines if line)
    return [line[spaces:] for line in lines]


def occurs(block, code):
    wanted, lines = dedent(block), code.split("\n")
    for first in range(len(lines) - len(wanted) + 1):
        part = lines[first:first + len(wanted)]
        if part[0].strip() == wanted[0].strip() and dedent("\n".join(part)) == wanted:
            return True
    return False


def code_faults(text, programs):
    """Yields the page's code that is no program's, and the programs that the page doesn't show."""
    blocks = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    for block in blocks:
        if not any(occurs(block, code) for code in programs.values()):
            yield f"no example has the code\n{block}"
    for name, code in programs.items():
        if not any(occurs(block, code) for block in blocks):
            yield f"the page shows nothing of {name}.c"
        if not re.search(rf"\$ thrum why {name}\.thrum( server\.thrum)?\n", text):
            yield f"the page doesn't explain {name}.thrum"


def is_built(name):
    """Without libuv there are no programs on promises."""
    return os.path.exists(os.path.join(tutorial.BUILD, "examples", "annotate", name))


def record(folder, name, *arguments):
    subprocess.run([THRUM, "record", "-o", f"{name}.thrum", "--",
                    os.path.join(tutorial.BUILD, "examples", "annotate", name), *arguments],
                   cwd=folder, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def why(folder, command):
    return subprocess.run([THRUM, *command.split()[1:]], cwd=folder, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()


def said(lines):
    return [line if IS_ADAPTED else re.sub("; # more hangs? behind it", "", line)
            for line in tutorial.plain(lines)]


def run_faults(text, folder, programs):
    """Records all programs in the folder. Yields what is wrong with the page's findings."""
    for name in filter(is_built, programs):
        record(folder, name)
        for file in {name, "server"} if name == "processes" else {name}:
            command = f"thrum why {file}.thrum"
            if why(folder, command) != "no findings\n":
                yield f"{name} works, but `{command}` says:\n{why(folder, command)}"
        record(folder, name, "bug")
    for command, printed in tutorial.commands(text):
        name = re.fullmatch(r"thrum why (\w+)\.thrum( server\.thrum)?", command)[1]
        if (name in ADAPTED and not IS_ADAPTED) or (name in programs and not is_built(name)):
            continue
        output = why(folder, command)
        if said(printed) != said(output.split("\n")):
            yield f"$ {command}\n{output}but the page says:\n" + "\n".join(printed)


def update(text, folder):
    """The page, with the findings of the recordings in the folder where the page says others."""
    for command, printed in list(tutorial.commands(text)):
        output = why(folder, command).split("\n")
        if tutorial.plain(printed) != tutorial.plain(output):
            old = "\n".join([f"    $ {command}"] + printed)
            new = [f"    $ {command}"] + [f"    {line}" for line in output if line]
            text = text.replace(old + "\n", "\n".join(new) + "\n")
    return text


def self_test():
    code = "int f(void)\n{\n  if (x) {\n    y();\n    z();\n  }\n}\n"
    for block, is_there in (("if (x) {\n  y();\n", True), ("    y();\n    z();\n", True),
                            ("y();\nx();\n", False), ("y();\n  z();\n", False)):
        if occurs(block, code) != is_there:
            sys.exit(f"the test is wrong about {block!r}")
    if len(list(code_faults("```c\nq();\n```\n", {"a": code}))) != 3:
        sys.exit("the test accepts other code")


def main():
    programs = {}
    for file in sorted(glob.glob(os.path.join(FOLDER, "*.c"))):
        # clang-format leaves a space behind the macro, as behind `for`.
        with open(file, encoding="utf-8") as code:
            programs[os.path.basename(file)[:-2]] = code.read().expandtabs(8).replace("RUN (", "RUN(")
    self_test()
    text = tutorial.read(PAGE)
    wrong = list(code_faults(text, programs))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("THRUM_TRACE", None)
        wrong += run_faults(text, folder, programs)
        if "--update" in sys.argv:
            with open(os.path.join(tutorial.SOURCE, PAGE), "w", encoding="utf-8") as file:
                file.write(update(text, folder))
    if wrong:
        print("\n".join(wrong) + "\nto write the findings into the page: annotate.py --update")
    return 1 if wrong else 0


sys.exit(main())
