#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each fault of tests/mutants still finds its place in the code, and names tests that are there."""

import os
import sys

SOURCE = os.environ["SOURCE"]


def text_of(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def main():
    wrong = 0
    for block in text_of("tests", "mutants").split("\n\n"):
        lines = [line for line in block.strip("\n").split("\n") if not line.startswith("#")]
        if len(lines) < 3:
            continue
        old = "\n".join(line[1:] for line in lines if line.startswith("-"))
        count = text_of(lines[1]).count(old)
        if count != 1:
            print(f"tests/mutants: {lines[0]}: its text is {count} times in {lines[1]}")
            wrong += 1
        for test in lines[-1].removeprefix("tests: ").split():
            if not os.path.exists(os.path.join(SOURCE, "tests", test + ".c")):
                print(f"tests/mutants: {lines[0]}: there is no tests/{test}.c")
                wrong += 1
    return wrong > 0


sys.exit(main())
