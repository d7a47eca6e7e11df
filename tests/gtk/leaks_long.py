#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Opens and closes ten recordings (three in CI) under valgrind, which must report no leak and no error
of ours. Reports whose stack has no function of ours but main are GTK's own."""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import check, record

STORIES = ["lost_reply", "leak_sessions", "deadlock_ring"]
# Each takes ten seconds and more under valgrind, and CI has no time.
COUNT = 3 if os.environ.get("CI") else 10
SUPPRESSIONS = "/usr/share/gtk-4.0/valgrind/gtk.supp"
# Frames as valgrind writes them: "by 0x1234: name (file.c:12)" or "(in /build/thrum-gtk)".
FRAME = re.compile(r"(?:at|by) 0x[0-9A-F]+: (\S+) \((?:in )?([^):]+)")
SOURCES = {name for folder in ("src", "apps") for _, _, names in
           os.walk(os.path.join(os.environ["SOURCE"], folder)) for name in names
           if name.endswith(".c")}


def ours(log):
    """The reports in a log whose stack has a function of ours other than main, without those of
    fontconfig, which keeps memory."""
    plain = re.sub(r"^==\d+== ?", "", log, flags=re.M)
    for report in re.split(r"\n\s*\n", plain):
        if "libfontconfig" in report:
            continue
        if any(name != "main" and (place in SOURCES or place.endswith("thrum-gtk"))
               for name, place in FRAME.findall(report)):
            yield report


def opens_and_closes(desktop):
    files = []
    for i in range(COUNT):
        files.append(os.path.join(desktop.folder, f"{i}.thrum"))
        shutil.copy(record(desktop, STORIES[i % len(STORIES)]), files[-1])
    log = os.path.join(desktop.folder, "log")
    under = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=30",
             "--log-file=" + log]
    if os.path.exists(SUPPRESSIONS):
        under.append("--suppressions=" + SUPPRESSIONS)
    # In one window: to draw ten would be slow here.
    viewer = desktop.view("--stacked", *files, under=under)
    viewer.wait_shown()
    viewer.wait("the finding is told", lambda window: window.is_seen("show-finding-0"))
    viewer.key("ctrl+w")
    check(viewer.process.wait(driver.PATIENCE) == 0, "it ends badly")
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    check("ERROR SUMMARY" in text, "valgrind didn't come to its end")
    found = list(ours(text))
    check(not found, "\n\n".join(found))


FORGED = "==1==    at 0x48: malloc (in /lib/vg.so)\n==1==    by 0x49: {} (window.c:12)\n"
check(list(ours(FORGED.format("on_key"))) and not list(ours(FORGED.format("main"))),
      "a leak of ours isn't seen")
if not shutil.which("valgrind") or os.environ["SANITIZE"] != "none":
    print("skipped: valgrind not installed, or of no use with a sanitizer")
    sys.exit(77)
driver.PATIENCE = 250
driver.run([opens_and_closes])
