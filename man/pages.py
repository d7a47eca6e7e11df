#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""pages.py THRUM.1 COMMAND.C: prints the man page thrum-COMMAND(1), made from the part of thrum(1)
that explains the command."""

import re
import sys


def blocks(lines, start):
    """Splits lines before each line that `start` accepts."""
    block = []
    for line in lines:
        if start(line) and block:
            yield block
            block = []
        block.append(line)
    yield block


def main():
    page, source = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    name = re.search(r'\.name = "(\w+)"', text).group(1)
    purpose = re.search(r'\.purpose = "([^"]*)"', text).group(1)
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    date = next(line for line in lines if line.startswith(".Dd "))

    parts = {block[0]: block[1:] for block in blocks(lines, lambda line: re.match(r"\.S[hs] ", line))}
    synopsis = [block for block in blocks(parts[".Sh SYNOPSIS"], lambda line: line == ".Nm")
                if block[1].split()[1] == name]
    if not synopsis:
        sys.exit(f"{page}: the synopsis lacks {name}")

    print('.\\" SPDX-License-Identifier: ISC', date, f".Dt THRUM-{name.upper()} 1", ".Os", ".Sh NAME",
          f".Nm thrum-{name}", f".Nd {purpose}", ".Sh SYNOPSIS", sep="\n")
    for block in synopsis:
        print(".Nm thrum", *block[1:], sep="\n")
    print(".Sh DESCRIPTION")
    for line in parts[f".Ss thrum {name}"]:
        print(re.sub(r"^\.Nm(?= *[.,;:)]*$)", ".Nm thrum", line))
    print(".Sh SEE ALSO", ".Xr thrum 1 ,", "which explains the traces, the output, the environment and the exit status",
          sep="\n")


main()
