#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The rules of .editorconfig, and an SPDX line in each source file."""

import os
import sys
import tempfile

SOURCE_SUFFIXES = (".c", ".h", ".def", ".map", ".build", ".sh", ".py", ".pml", ".in", ".1", ".ts",
                   ".mjs", ".js", ".css")
TEXT_SUFFIXES = SOURCE_SUFFIXES + (".md", ".yml", ".txt")
CODE_NAMES = ("Makefile", "meson_options.txt")
TEXT_NAMES = CODE_NAMES + ("LICENSE", ".clang-format", ".editorconfig", ".gitignore")
LONG_LINES = (".md", ".def", ".map", ".1", ".txt")
SPACES = (".py", ".md", ".yml", ".txt", ".1", ".ts", ".mjs", ".js", ".css")


def is_script(path):
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def faults(name, data):
    """Yields (line, what is wrong) for the file `name` with these bytes."""
    suffix = os.path.splitext(name)[1]
    base = os.path.basename(name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        yield data.count(b"\n", 0, error.start) + 1, "is not UTF-8"
        return
    if "\r" in text:
        yield text[:text.index("\r")].count("\n") + 1, "has a carriage return"
    if not text:
        return
    if not text.endswith("\n"):
        yield text.count("\n") + 1, "has no newline at its end"
    if text.endswith("\n\n"):
        yield text.count("\n"), "ends in an empty line"
    code = suffix in SOURCE_SUFFIXES or base in CODE_NAMES or data.startswith(b"#!")
    if code and "SPDX-License-Identifier: ISC" not in "\n".join(text.split("\n", 3)[:3]):
        yield 1, "has no SPDX line among its first three"
    python = data.startswith(b"#!") and b"python" in data.split(b"\n", 1)[0]
    spaces = python or suffix in SPACES and base not in CODE_NAMES
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip(" \t"):
            yield number, "has blanks at its end"
        # clang-format holds 100 but for strings, which it doesn't break; scripts may be wider.
        most = 110 if suffix in (".c", ".h") else 120
        # The programs of others are left as they are.
        if code and suffix not in LONG_LINES and "unseen/" not in name and len(line.expandtabs(8)) > most:
            yield number, f"is {len(line.expandtabs(8))} columns long"
        indent = line[:len(line) - len(line.lstrip())]
        if spaces and "\t" in indent:
            yield number, "is indented with a tab"
        if code and not spaces and indent.startswith("  "):
            yield number, "is indented with spaces"
        if code and not spaces and " \t" in indent:
            yield number, "has a tab behind a space"


def files(top):
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(
            name for name in folders
            if name not in (".git", "__pycache__", "data", "seeds", "golden", "node_modules")
            and not (folder == top and name.startswith("build")))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.islink(path) or name.endswith("~") or name.startswith(".#"):
                continue
            if name.endswith(TEXT_SUFFIXES) or name in TEXT_NAMES or is_script(path):
                yield path


def check(top):
    count = 0
    for path in files(top):
        name = os.path.relpath(path, top)
        with open(path, "rb") as file:
            for line, what in faults(name, file.read()):
                print(f"{name}:{line}: {what}")
                count += 1
    return count


def self_test():
    spdx = "/* SPDX-License-Identifier: ISC */\n"
    for wrong in (spdx + "int x;", spdx + "int x; \n", spdx + "int x;\r\n", spdx + "int x;\n\n",
                  spdx + "void f(void)\n{\n    int x;\n}\n", spdx + "x\n" * 2 + " \tx\n",
                  spdx + "/*" + "x" * 110 + "*/\n", spdx + "\t" * 13 + "1234567\n", "int x;\n",
                  spdx.encode() + b"\xff\n"):
        with tempfile.TemporaryDirectory() as top:
            os.mkdir(os.path.join(top, "src"))
            with open(os.path.join(top, "src", "x.c"), "wb") as file:
                file.write(wrong if isinstance(wrong, bytes) else wrong.encode())
            if sum(1 for path in files(top) for _ in faults(path, open(path, "rb").read())) != 1:
                sys.exit(f"the check doesn't see, or sees twice, what is wrong with {wrong!r}")
    if list(faults("x.c", (spdx + "\tint x;\n /* … */\n").encode())):
        sys.exit("the check refuses a good file")


self_test()
sys.exit(1 if check(os.environ["SOURCE"]) else 0)
