#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Plain English: no sentence of a comment, help text, message or page begins with What, Who or Of,
a ruled heading stands on one line, and words that were given up don't come back."""

import os
import re
import sys

SOURCE = os.environ.get("SOURCE", ".")
FOLDERS = ("src", "include", "apps", "examples", "tests", "bench", "fuzz", "tools", "man", "doc",
           "verify", "completion")
FILES = ("README.md", "DESIGN.md", "DEVELOPERS.md", "Makefile", "meson.build")
CODE = (".c", ".h", ".def", ".ts", ".mjs", ".js", ".css")
PROSE = (".md", ".1")
SCRIPTS = (".py", ".sh", ".build")
LEFT_OUT = ("node_modules", "golden", "seeds", "data")

SENTENCE = re.compile(
    r"(?:^|(?<=[.;:!?] ))(What|Who|Whose|Whoever|Whatever|Of|That which)\b(?! (?:is|are|does) \S+\?)")
# Words with another meaning in the field, or a former name of something: use the one behind.
RETIRED = {
    r"try[-_]read": "wait",
    r"thrum__(?:view|tracks|list|canvas)_\w+": "the room's name in front",
    r"row of the picture": "track",
}
# Where former names are understood, drawn from other programs' files, or told about.
RETIRED_IN = {"try[-_]read": ("apps/thrum/list/dump.c", "tests/thrum/golden.sh", "bench/read/make.c",
                              "tests/read/", "tests/check/english.py", "tests/scene/state.c",
                              "src/read/mirage/"),
              r"thrum__(?:view|tracks|list|canvas)_\w+": ("tests/check/",),
              r"row of the picture": ("tests/check/", "DESIGN.md")}
C_TEXT = re.compile(r"/\*(.*?)\*/|//([^\n]*)|\"((?:\\.|[^\"\\\n])*)\"", re.S)


def pieces(name, text):
    """Yields (line, sentences) for what people read in a file: comments, strings, prose."""
    if name.endswith(CODE):
        for match in C_TEXT.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            comment = match.group(1) if match.group(1) is not None else match.group(2)
            if comment is None:
                yield line, match.group(3)
                continue
            for paragraph in re.split(r"\n[ \t]*\*?[ \t]*\n", comment):
                yield line, re.sub(r"\s*\n[ \t]*\*?[ \t]*", " ", paragraph).strip(" *-")
    elif name.endswith(PROSE):
        for number, line in enumerate(text.split("\n"), 1):
            yield number, re.sub(r"^(?:[#>*|-]+ *|\.[A-Z]\w ?)", "", line)
    else:
        for match in re.finditer(r"(?:^[ \t]*#[^\n]*\n)+", text, re.M):
            yield (text.count("\n", 0, match.start()) + 1,
                   re.sub(r"\s*\n?[ \t]*#[ \t]*", " ", match.group(0)).strip())


def faults(name, text):
    for line, sentences in pieces(name, text):
        found = SENTENCE.search(sentences)
        if found:
            yield line, f"a sentence begins with {found.group(1)}: " \
                f"{sentences[found.start():found.start() + 60]!r}"
    if name.endswith(CODE):
        for match in re.finditer(r"^[ \t]*/\* -{4}[^\n]*$", text, re.M):
            if not match.group(0).endswith("*/"):
                yield text.count("\n", 0, match.start()) + 1, "a ruled heading goes over its line"
    for retired, instead in RETIRED.items():
        if not name.startswith(RETIRED_IN[retired]):
            for match in re.finditer(retired, text):
                yield (text.count("\n", 0, match.start()) + 1,
                       f"{match.group(0)!r} was given up: {instead}")


def self_test():
    for bad in ("/* What it does. */", "/*\n * Good. Of all the worst.\n */", "// Who calls\n",
                'x = "What the rows need";', "/* ---- Rows ----\n */", "thrum__view_frame();"):
        assert list(faults("src/x.c", bad)), bad
    for good in ("/* Whatever. */".replace("Whatever", "Whether"), "/* Often. */",
                 "/* ---- Rows ---- */", "/* Returns what it was. */"):
        assert not list(faults("src/x.c", good)), good
    assert list(faults("README.md", "# Good\n\nOf these")) and list(faults("x.py", "# Who\n"))


def main():
    self_test()
    names = list(FILES)
    for top in FOLDERS:
        for folder, folders, files in os.walk(os.path.join(SOURCE, top)):
            folders[:] = [name for name in folders if name not in LEFT_OUT]
            names += [os.path.relpath(os.path.join(folder, file), SOURCE) for file in sorted(files)
                      if file.endswith(CODE + PROSE + SCRIPTS)]
    count = 0
    for name in names:
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            for line, fault in faults(name, file.read()):
                print(f"{name}:{line}: {fault}")
                count += 1
    return 1 if count else 0


sys.exit(main())
