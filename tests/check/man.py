#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Every man page is well formed, every command and library has one, and the functions that a page
names exist. thrum(3) names every function of thrum.h."""

import glob
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ["SOURCE"]
BUILD = os.environ["BUILD"]
failures = []


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def declared(header):
    """The functions and function-like macros of a public header."""
    text = read(f"{SOURCE}/include/{header}")
    text = re.sub(r"^#define THRUM_\w+\(.*?[^\\]\n", "", text, flags=re.S | re.M)
    return set(re.findall(r"\b(thrum_[a-z]\w*)\(", text))


pages = glob.glob(f"{SOURCE}/man/*.[13]") + glob.glob(f"{BUILD}/man/*.1")
commands = re.findall(r"^\.Ss thrum (\w+)$", read(f"{SOURCE}/man/thrum.1"), flags=re.M)
names = {os.path.basename(page) for page in pages}
for command in commands:
    if command != "help" and f"thrum-{command}.1" not in names:
        failures.append(f"thrum {command} has no man page of its own")

for page, header in (("thrum.3", "thrum.h"), ("thrum-promise.3", "thrum/promise.h"),
                     ("thrum-trace.3", "thrum/trace.h")):
    functions = declared(header)
    named = set(re.findall(r"^\.Fn (\w+)", read(f"{SOURCE}/man/{page}"), flags=re.M))
    for name in sorted(named - functions):
        failures.append(f"{page} names {name}, which {header} doesn't declare")
    if page == "thrum.3":
        for name in sorted(functions - named):
            failures.append(f"{page} lacks {name}")

if not shutil.which("mandoc"):
    print("skipped in part: mandoc is missing, the pages aren't checked")
else:
    for page in pages:
        lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], capture_output=True,
                              text=True, check=False)
        if lint.stdout:
            failures.append(lint.stdout.strip())

print("\n".join(failures))
sys.exit(bool(failures))
