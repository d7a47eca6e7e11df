#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each source file and each test is named in a meson.build: no file is left out of the build.

And each file of src/analyse/why has one row in DESIGN.md's table of mechanisms, which names no other."""

import os
import re
import sys
import tempfile

# The folders that are searched, and which of their files have to be named. why/unseen.py compiles what lies
# in why/unseen.
WANTED = (
    ("src", re.compile(r".*\.c")),
    ("apps", re.compile(r".*\.c|web/src/.*\.ts")),
    ("examples", re.compile(r".*\.c")),
    ("bench", re.compile(r".*\.c")),
    ("fuzz", re.compile(r".*\.c")),
    ("tests", re.compile(r"(?!why/unseen/).*\.c|[^/]*/[^/]*\.(sh|py)")),
)
STRING = re.compile(r"'([^'\n]*)'")
COMMENT = re.compile(r"^\s*#.*$", re.M)


def find(top):
    """Yields the names of all files that have to be listed, relative to the top folder."""
    for root, pattern in WANTED:
        for folder, folders, names in os.walk(os.path.join(top, root)):
            folders[:] = sorted(name for name in folders if name != "node_modules")
            for name in sorted(names):
                inside = os.path.relpath(os.path.join(folder, name), os.path.join(top, root))
                if pattern.fullmatch(inside):
                    yield os.path.join(root, inside)


def listed(top):
    """The files that the meson.build files name, relative to the top folder."""
    names = set()
    for root, _ in WANTED:
        for folder, folders, files in os.walk(os.path.join(top, root)):
            folders[:] = [name for name in folders if name != "node_modules"]
            if "meson.build" in files:
                with open(os.path.join(folder, "meson.build"), encoding="utf-8") as file:
                    text = COMMENT.sub("", file.read())
                names.update(os.path.relpath(os.path.join(folder, name), top)
                             for name in STRING.findall(text))
    return names


def faults(top):
    """Yields the files that no meson.build names."""
    names = listed(top)
    return [name for name in find(top) if name not in names]


ROW = re.compile(r"^\|[^|]*\|[^|]*\| `((?:[a-z_]+/)?[a-z_]+\.c)` \|[^|]*\|$", re.M)


def wrong_rows(files, text):
    """Yields what is wrong in a table of mechanisms."""
    rows = ROW.findall(text)
    for name in sorted(set(files) | set(rows)):
        if rows.count(name) != 1 or name not in files:
            yield (f"DESIGN.md has {rows.count(name)} rows for {name}, "
                   f"and src/analyse/why has {files.count(name)} files of this name")


def mechanisms(top):
    """The faults of DESIGN.md's table."""
    folder = os.path.join("src", "analyse", "why", "")
    with open(os.path.join(top, "DESIGN.md"), encoding="utf-8") as design:
        return list(wrong_rows([name[len(folder):] for name in find(top) if name.startswith(folder)],
                               design.read()))


def self_test():
    table = "| 1 | one | `a.c` | likely |\n| | two | `in/b.c` | |\n"
    for files, count in ((["a.c", "in/b.c"], 0), (["a.c"], 1), (["a.c", "in/b.c", "c.c"], 1)):
        if len(list(wrong_rows(files, table))) != count:
            sys.exit(f"the check is wrong about a table with {files}")
    build = ("x = files(\n\t'a.c',\n\t# 'c.c',\n\t'in/b.c',\n\t'../other/d.c',\n"
             "\t'test.sh', 'test.py')\n")
    tests = "tests/topic/"
    for name, is_fault in (("a.c", False), ("in/b.c", False), ("../other/d.c", False),
                           ("test.sh", False), ("test.py", False), ("driver/help.py", False),
                           ("a.h", False), ("c.c", True), ("in/a.c", True), ("b.c", True),
                           ("in/c.c", True), ("new.sh", True), ("new.py", True),
                           ("../why/unseen/new.c", False)):
        with tempfile.TemporaryDirectory() as top:
            file = os.path.normpath(os.path.join(top, tests, name))
            os.makedirs(os.path.dirname(file))
            os.makedirs(os.path.join(top, tests), exist_ok=True)
            open(file, "w", encoding="utf-8").close()
            with open(os.path.join(top, tests, "meson.build"), "w", encoding="utf-8") as text:
                text.write(build)
            if bool(faults(top)) != is_fault:
                sys.exit(f"the check is wrong about {name}")


def main():
    self_test()
    top = os.environ["SOURCE"]
    if sum(1 for _ in find(top)) < 100:
        print("the check finds too few files")
        return 1
    wrong = faults(top)
    for name in wrong:
        print(f"{name} is in no meson.build, so it isn't built or run")
    rows = mechanisms(top)
    for row in rows:
        print(row)
    return 1 if wrong or rows else 0


sys.exit(main())
