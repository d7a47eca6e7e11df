#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each header compiles alone as C11; the public ones pedantic, as C++, and with each of their
switches, too."""

import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["SOURCE"]
CC = os.environ.get("CC", "cc")
CXX = "clang++" if "clang" in CC else "g++"
C_FLAGS = ["-x", "c", "-std=c11", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wshadow"]
CXX_FLAGS = ["-x", "c++", "-std=c++11"]
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wundef", "-Werror"]


def compiles(compiler, flags, header, include, text=""):
    code = f'#include "{header}"\n#include "{header}"\n{text}\n'
    result = subprocess.run(
        [compiler, *flags, *FLAGS, *(f"-I{folder}" for folder in include), "-"],
        input=code, capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stderr


def headers(folder):
    top = os.path.join(SOURCE, folder)
    for path, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(path, name), top)


def is_compiled_first(header):
    """Whether the source of the same name includes it before all else: then each build compiles it alone."""
    source = os.path.join(SOURCE, "src", header[:-2] + ".c")
    if not os.path.exists(source):
        return False
    with open(source, encoding="utf-8") as file:
        first = next((line for line in file if line.startswith("#")), "")
    return first.strip() == f'#include "{header}"'


def self_test():
    with tempfile.TemporaryDirectory() as top:
        for name, text in (("needs.h", "size_t size(void);"), ("twice.h", "struct x { int y; };")):
            with open(os.path.join(top, name), "w", encoding="utf-8") as file:
                file.write(text + "\n")
            if compiles(CC, C_FLAGS, name, [top])[0]:
                sys.exit(f"the check accepts {text}")
        with open(os.path.join(top, "plus.h"), "w", encoding="utf-8") as file:
            file.write("#pragma once\nint f(int class);\n")
        if not compiles(CC, C_FLAGS, "plus.h", [top])[0]:
            sys.exit("the check refuses a good C header")
        if shutil.which(CXX) and compiles(CXX, CXX_FLAGS, "plus.h", [top])[0]:
            sys.exit("the check accepts what is no C++")


def main():
    self_test()
    failed = False
    jobs = []
    public = [os.path.join(SOURCE, "include")]
    both = [os.path.join(SOURCE, "src"), *public]
    for header in headers("include"):
        for switch in ([], ["-DTHRUM_DISABLED"], ["-DTHRUM_WEAK"],
                       ["-DTHRUM_DISABLED", "-DTHRUM_WEAK"]):
            jobs.append((CC, [*C_FLAGS, "-Wpedantic", *switch], header, public))
            jobs.append((CC, ["-x", "c", "-std=gnu17", *switch], header, public))
            if shutil.which(CXX):
                jobs.append((CXX, CXX_FLAGS + switch, header, public))
                jobs.append((CXX, ["-x", "c++", "-std=c++20", "-Wpedantic", *switch], header,
                             public))
    for standard in ("c++17", "c++20"):
        for switch in ([], ["-DTHRUM_DISABLED"], ["-DTHRUM_WEAK"]):
            if shutil.which(CXX):
                jobs.append((CXX, ["-x", "c++", f"-std={standard}", "-Wpedantic", *switch],
                             "thrum.hpp", public))
    together = {}  # by folder: each header twice, in one go
    for header in headers("src"):
        if is_compiled_first(header):
            together.setdefault(os.path.dirname(header), []).append(header)
        else:
            jobs.append((CC, C_FLAGS, header, both))
    for some in together.values():
        again = [f'#include "{header}"' for header in some[1:] * 2]
        jobs.append((CC, C_FLAGS, some[0], both, "\n".join(again)))
    for compiler, flags, header, include, *text in jobs:
        fine, errors = compiles(compiler, flags, header, include, *text)
        if not fine:
            failed = True
            print(f"{header} does not compile alone: {compiler} {' '.join(flags)}\n{errors}")
    if not shutil.which(CXX):
        print(f"skipped: {CXX} is missing: the public headers were not tried as C++")
    return 1 if failed else 0


sys.exit(main())
