#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""doc/adapters.md lists the calls for which the adapters' library stands in: no more, no less. The
library itself waits in the real functions: its own waits are not the program's."""

import os
import re
import shutil
import subprocess
import sys

LIBRARY = os.path.join(os.environ["BUILD"], "src/libthrum-adapt.so")

if not os.path.exists(LIBRARY) or not shutil.which("nm"):
    print("skipped: there is no library of the adapters, or no nm")
    sys.exit(77)
lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True,
                       text=True).stdout.splitlines()
defined = {line.split()[-1].split("@")[0] for line in lines}
# The linker makes these for a section.
defined -= {"__start_thrum_reals", "__stop_thrum_reals"}
with open(os.path.join(os.environ["SOURCE"], "doc/adapters.md"), encoding="utf-8") as file:
    text = file.read()
listed = re.findall(r"`(\w+)`", text.partition("## All calls\n")[2].partition("**pthread**")[2])
failed = False
# Without one of the libraries, its adapter is not built.
families = [family for family in ("uv_", "ev", "bufferevent", "g_", "io_uring")
            if not any(name.startswith(family) for name in defined)]
for name in sorted(set(listed) - defined):
    if not name.lstrip("_").startswith(tuple(families)):
        print(f"doc/adapters.md lists {name}, but thrum doesn't stand in for it")
        failed = True
for name in sorted(defined - set(listed)):
    print(f"doc/adapters.md doesn't list {name}, for which thrum stands in, under \"All calls\"")
    failed = True
if len(listed) != len(set(listed)):
    print("doc/adapters.md lists a call twice:", sorted(n for n in set(listed) if listed.count(n) > 1))
    failed = True

with open(os.path.join(os.environ["SOURCE"], "src/adapt/call/blocking.def"), encoding="utf-8") as file:
    waiting = set(re.findall(r"^(?:WAITS|TRIES)\([^,]+, (\w+),", file.read(), re.M))
relocations = subprocess.run(["readelf", "--relocs", "--wide", LIBRARY], check=True, capture_output=True,
                             text=True).stdout
called = {name.split("@")[0] for name in re.findall(r" R_\w+_(?:JUMP_SL\w*|GLOB_DAT) +\w+ (\S+)", relocations)}
if not waiting or not called & defined:
    print("blocking.def or the library's relocations are not understood")
    failed = True
for name in sorted(waiting & called):
    print(f"the adapters call {name}, for which they stand in themselves: call real_{name}")
    failed = True
sys.exit(failed)
