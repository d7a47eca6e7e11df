#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each layer includes only what it may: the table of layers, held over the #include lines."""

import os
import re
import sys
import tempfile

# What a folder may include beside itself and include/. DESIGN.md shows the same table.
MAY = {
    "base": (),
    "port": (),
    "format": ("base",),
    "record": ("base", "format", "port"),
    "promise": (),
    "read": ("base", "format"),
    "source": ("base", "port", "format", "read"),
    "model": ("base", "read"),
    "analyse": ("base", "model"),
    "words": ("base", "model", "analyse"),
    "draw": ("base",),
    "timeline": ("base", "model"),
    "scene": ("base", "model", "analyse", "words", "draw", "timeline"),
    "stage": ("base", "model", "words", "draw", "scene"),
    "report": ("base", "model", "analyse", "words", "draw"),
}
# Headers that belong to a library other than libc, and the rooms that may have them.
FOREIGN = {
    "uv.h": ("promise",),
    "cairo.h": ("draw",),
    "cairo-pdf.h": ("draw",),
    "pango/pangocairo.h": ("draw",),
    "gtk/gtk.h": (),
}
# These take bytes and give data: they never touch files, threads or the operating system.
PURE = ("base", "format", "read", "model", "analyse", "words", "timeline", "scene", "stage", "report")
IMPURE_HEADERS = re.compile(
    r"^(sys/(?!types\.h$|cdefs\.h$)|linux/|fcntl\.h$|unistd\.h$|pthread\.h$|threads\.h$|signal\.h$"
    r"|dirent\.h$|dlfcn\.h$|sched\.h$|poll\.h$|netinet/|arpa/|netdb\.h$)")
PUBLIC = re.compile(r"^thrum(/\w+)?\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>|(\S.*))')


def why_not(path, quoted, angled, computed):
    """Why the file `path`, relative to the top, mustn't include this; None when it may."""
    parts = path.split("/")
    name = quoted or angled
    if computed:
        return "the name of an included file must stand in the line"
    if parts[0] == "include":
        if PUBLIC.match(name):
            return None
        if quoted or name.split("/")[0] in MAY:
            return "a public header includes public headers only"
        return None
    layer = parts[1]
    if layer not in MAY:
        return f"src/{layer}/ is no layer that this test knows"
    if PUBLIC.match(name):
        return None
    if angled:
        if name.split("/")[0] in MAY:
            return 'headers of src/ are included as "layer/file.h"'
        if name in FOREIGN and layer not in FOREIGN[name]:
            return f"{layer} does without <{name}>"
        if layer in PURE and IMPURE_HEADERS.match(name):
            return f"{layer} never does I/O"
        return None
    other, slash, _ = name.partition("/")
    if not slash or other not in MAY:
        return 'headers of src/ are included as "layer/file.h"'
    if other != layer and other not in MAY[layer]:
        return f"{layer} may not include {other}"
    return None


def check(top, report=print):
    count = 0
    for root in ("include", "src"):
        for folder, folders, names in os.walk(os.path.join(top, root)):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), top)
                if not name.endswith((".c", ".h", ".def")) or path.count("/") < 1:
                    continue
                if root == "src" and path.count("/") == 1:
                    report(f"{path}: lies in no layer")
                    count += 1
                    continue
                with open(os.path.join(top, path), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        match = INCLUDE.match(line)
                        reason = match and why_not(path, *match.groups())
                        if reason:
                            report(f"{path}:{number}: {line.strip()}: {reason}")
                            count += 1
    return count


def self_test():
    wrong = (
        ("include/thrum.h", '#include "format/format.h"'),
        ("include/thrum/trace.h", "#include <read/read.h>"),
        ("src/port/x.c", '#include "format/format.h"'),
        ("src/port/x.c", "#include <uv.h>"),
        ("src/format/x.c", '#include "port/port.h"'),
        ("src/format/x.c", "#include <unistd.h>"),
        ("src/record/x.c", '#include "read/read.h"'),
        ("src/promise/x.c", '#include "record/lane.h"'),
        ("src/read/x.c", '#include "port/port.h"'),
        ("src/read/x.c", "#  include <sys/mman.h>"),
        ("src/source/x.c", '#include "record/lane.h"'),
        ("src/model/x.c", '#include "format/format.h"'),
        ("src/analyse/why/x.c", '#include "scene/scene.h"'),
        ("src/scene/paint/x.c", '#include "read/read.h"'),
        ("src/draw/x.c", '#include "model/model.h"'),
        ("src/scene/x.c", "#include <pango/pangocairo.h>"),
        ("src/record/x.h", '#include "lane.h"'),
        ("src/record/x.h", '#include "../read/read.h"'),
        ("src/record/x.h", "#include <format/format.h>"),
        ("src/record/x.h", "#include NAME"),
        ("src/other/x.c", "#include <stdio.h>"),
        ("src/x.c", ""),
    )
    right = (
        ("include/thrum/trace.h", "#include <thrum.h>"),
        ("include/thrum.h", "#include <stdint.h>"),
        ("src/port/x.c", "#include <sys/mman.h>"),
        ("src/record/x.c", '#include "record/lane.h"'),
        ("src/record/x.c", '#include "port/port.h"'),
        ("src/source/x.c", '#include "read/read.h"'),
        ("src/promise/x.c", "#include <uv.h>"),
        ("src/stage/x.c", '#include "thrum/trace.h"'),
    )
    for cases, expected in ((wrong, 1), (right, 0)):
        for path, line in cases:
            with tempfile.TemporaryDirectory() as top:
                os.makedirs(os.path.dirname(os.path.join(top, path)))
                with open(os.path.join(top, path), "w", encoding="utf-8") as file:
                    file.write(line + "\n")
                if check(top, report=lambda text: None) != expected:
                    sys.exit(f"the check is wrong about {line} in {path}")


self_test()
sys.exit(1 if check(os.environ["SOURCE"]) else 0)
