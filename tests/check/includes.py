#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Each room includes only what it may, and of other rooms only their faces. No room is crowded."""

import os
import re
import sys
import tempfile

# The rooms that a room may include, beside itself and include/. DESIGN.md shows the same table.
MAY = {
    "base": (),
    "port": (),
    "format": ("base",),
    "record": ("base", "format", "port"),
    "core": ("port",),
    "promise": (),
    "xen": (),
    "adapt": ("format", "port"),
    "read": ("base", "format"),
    "world": ("base", "read"),
    "fleet": ("base", "port", "format", "read"),
    "source": ("base", "port", "format", "read", "world", "fleet"),
    "import": ("base", "format", "read"),
    "model": ("base", "read"),
    "analyse": ("base", "model"),
    "words": ("base", "model", "analyse"),
    "draw": ("base",),
    "timeline": ("base", "model"),
    "scene": ("base", "model", "analyse", "words", "draw", "timeline"),
    "report": ("base", "model", "analyse", "words", "draw"),
    "stage": ("base", "model", "words", "draw", "scene", "report"),
    "store": ("base", "format", "model", "analyse", "words"),
    "monitor": ("base", "format", "read", "analyse", "words"),
}
# The headers that other rooms, and the apps, may include. All others are private to their room.
FACES = {
    "base": None,  # all
    "port": ("port.h", "cpu.h", "futex.h", "xen.h"),
    "format": ("format.h", "records.def", "clock.h", "control.h", "counters.h", "packet.h", "index.h", "scan.h",
               "copy.h", "request.h", "connection.h"),
    "record": (),
    "core": (),
    "promise": (),
    "xen": (),
    "adapt": ("forks.h",),
    "read": ("read.h", "clocks.h", "connection.h", "counters.h", "off_cpu.h", "ping.h"),
    "world": ("bundle.h", "world.h"),
    "fleet": ("fleet.h",),
    "source": ("input.h", "ahead/ahead.h", "control.h", "request.h", "run/run.h",
               "segment.h", "switches/switches.h", "zstd.h"),
    "import": ("import.h",),
    "model": ("model.h",),
    "analyse": ("graph.h", "label.h", "locks.h", "family/family.h", "bands/bands.h", "why/finding.h",
                "slow/slow.h", "slow/flame.h", "slow/answer.h", "story/story.h", "diff/diff.h",
                "odd/odd.h", "stats/stats.h", "thread.h"),
    "words": ("words.h", "match.h", "slow.h", "diff.h", "bands.h"),
    "draw": ("list.h", "theme.h", "canvas.h", "replay.h", "module.h"),
    "timeline": ("layout/layout.h", "index/index.h"),
    "scene": ("scene.h", "axis.h", "coarse.h"),
    "stage": ("stage.h",),
    "report": ("document/document.h", "document/program.h", "table/table.h", "chart.h", "flame.h"),
    "store": ("store.h",),
    "monitor": ("history.h", "labels.h", "sample.h", "metrics.h", "rule/rule.h", "unit.h", "window.h"),
}
# The stage is made of scenes and moves them: it sees more of their room than others do.
ALSO = {"stage": ("scene/move.h", "scene/state.h", "scene/counters.h")}


def storeys(*folders):
    """Folders that stand on one another: each may include those before it."""
    return {folder: folders[:i] for i, folder in enumerate(folders)}


# The folders of these, and which others each may include. Files beside the folders include any. A parts.h
# is for the files of its own folder.
FOLDERS = {
    "src/adapt": storeys("base", "shared", "descriptor", "relatives", "ends", "look", "call", "ipc", "pthread",
                         "uv", "event", "glib", "uring"),
    "src/promise": {
        "core": (),
        "sync": (),
        "uv": ("sync",),
    },
    "apps/thrum": {
        "line": (),
        "trace": ("line",),
        "capture": ("line", "trace"),
        "convert": ("line", "trace"),
        "list": ("line", "trace"),
        "picture": ("line", "trace", "capture", "convert"),
        "answer": ("line", "trace", "picture"),
        "live": ("line", "trace", "capture"),
        "server": ("line", "trace", "answer"),
    },
    "apps/gtk": {
        "desktop": (),
        "trace": (),
        "pane": ("desktop", "trace"),
        "picture": ("desktop", "trace"),
        "window": ("desktop", "trace", "pane", "picture"),
    },
}
# The headers that lie beside these folders.
BESIDE = {"apps/gtk": ("app.h", "places.h")}
# A folder with more files or lines than this has to be named here, with the reason.
FILES_MAX, LINES_MAX = 25, 6000
CROWDED = {}
# Headers that belong to a library other than libc, and the rooms that may have them.
FOREIGN = {
    "uv.h": ("promise", "adapt"),
    "microhttpd.h": (),
    "curl/curl.h": (),
    "curses.h": (),
    "event2/event.h": ("adapt",),
    "event2/event_compat.h": ("adapt",),
    "event2/event_struct.h": ("adapt",),
    "event2/bufferevent.h": ("adapt",),
    "event2/bufferevent_compat.h": ("adapt",),
    "event2/dns.h": ("adapt",),
    "event2/http.h": ("adapt",),
    "event2/listener.h": ("adapt",),
    "event2/util.h": ("adapt",),
    "gio/gio.h": ("adapt",),
    "gio/gunixfdlist.h": ("adapt",),
    "glib-unix.h": ("adapt",),
    "xengnttab.h": ("source", "xen"),
    "xenstore.h": ("source", "xen"),
    "xentoollog.h": ("source", "xen"),
    "nats/nats.h": ("fleet",),
    "json-c/json.h": ("import",),
    "elfutils/libdwfl.h": ("source",),
    "dwarf.h": ("source",),
    "zstd.h": ("source", "store"),
    "cairo.h": ("draw",),
    "cairo-pdf.h": ("draw",),
    "pango/pangocairo.h": ("draw",),
    "gtk/gtk.h": (),
}
# These take bytes and give data: they never touch files, threads or the operating system.
PURE = ("base", "format", "read", "model", "analyse", "words", "timeline", "scene", "stage", "report",
        "monitor", "store", "import")
IMPURE_HEADERS = re.compile(
    r"^(sys/(?!types\.h$|cdefs\.h$)|linux/|fcntl\.h$|unistd\.h$|pthread\.h$|threads\.h$|signal\.h$"
    r"|dirent\.h$|dlfcn\.h$|sched\.h$|poll\.h$|netinet/|arpa/|netdb\.h$)")
PUBLIC = re.compile(r"^thrum(/\w+)?\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>|(\S.*))')


def why_not(path, quoted, angled, computed):
    """Why the file `path`, relative to the top, mustn't include this; None when it may."""
    parts = path.split("/")
    name = quoted or angled
    top = "/".join(parts[:2])
    if len(parts) > 3 and top in FOLDERS and parts[2] not in FOLDERS[top]:
        return f"{top}/{parts[2]}/ is no folder that this test knows"
    if computed:
        return "the name of an included file must stand in the line"
    if parts[0] == "include":
        if PUBLIC.match(name):
            return None
        if quoted or name.split("/")[0] in MAY:
            return "a public header includes public headers only"
        return None
    if parts[0] == "apps":
        other, slash, header = name.partition("/")
        if quoted and slash and other in MAY and not is_face(other, header):
            return f"{name} is private to {other}"
        return why_not_app(top, parts[2:], quoted)
    room = parts[1]
    if room not in MAY:
        return f"src/{room}/ is no room that this test knows"
    if PUBLIC.match(name):
        return None
    if angled:
        if name.split("/")[0] in MAY:
            return 'headers of src/ are included as "room/file.h"'
        if name in FOREIGN and room not in FOREIGN[name]:
            return f"{room} does without <{name}>"
        if room in PURE and IMPURE_HEADERS.match(name):
            return f"{room} never does I/O"
        return None
    other, slash, header = name.partition("/")
    if not slash or other not in MAY:
        return 'headers of src/ are included as "room/file.h"'
    if other != room and other not in MAY[room]:
        return f"{room} may not include {other}"
    if other != room and not is_face(other, header) and name not in ALSO.get(room, ()):
        return f"{name} is private to {other}"
    return why_not_folder(top, parts[2:], header) if other == room else None


def why_not_app(app, parts, quoted):
    """The same for a file in `app`, whose path in it is `parts`."""
    if app not in FOLDERS or not quoted or PUBLIC.match(quoted):
        return None
    if "/" not in quoted and quoted not in BESIDE.get(app, ()):
        return f'headers of {app} are included as "folder/file.h"'
    return why_not_folder(app, parts, quoted)


def why_not_folder(top, parts, header):
    """The same for a file and a header that are both in `top`."""
    known = FOLDERS.get(top, {})
    folder = parts[0] if len(parts) > 1 else None
    other, _, name = header.partition("/")
    if other not in known or other == folder:
        return None
    if folder and other not in known[folder]:
        return f"{folder} may not include {other}"
    return f"{header} is private to {other}" if name == "parts.h" else None


def is_face(room, header):
    return FACES[room] is None or header in FACES[room]


def crowd(top, report):
    """How many folders have too many files or lines."""
    count = 0
    for root in ("src", "apps"):
        for folder, folders, names in os.walk(os.path.join(top, root)):
            folders[:] = [name for name in folders if name != "node_modules"]
            names = [name for name in names if name.endswith((".c", ".h", ".def", ".ts"))]
            lines = 0
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    lines += sum(1 for _ in file)
            path = os.path.relpath(folder, top)
            if (len(names) > FILES_MAX or lines > LINES_MAX) and path not in CROWDED:
                report(f"{path}: {len(names)} files, {lines} lines: make rooms of it")
                count += 1
    return count


def check(top, report=print):
    count = 0
    for root in ("include", "src", "apps"):
        for folder, folders, names in os.walk(os.path.join(top, root)):
            folders[:] = sorted(name for name in folders if name != "node_modules")
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), top)
                if not name.endswith((".c", ".h", ".def")) or path.count("/") < 1:
                    continue
                if root == "src" and path.count("/") == 1:
                    report(f"{path}: lies in no room")
                    count += 1
                    continue
                with open(os.path.join(top, path), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        match = INCLUDE.match(line)
                        reason = match and why_not(path, *match.groups())
                        if reason:
                            report(f"{path}:{number}: {line.strip()}: {reason}")
                            count += 1
    return count + crowd(top, report)


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
        ("src/report/x.c", '#include "words/parts.h"'),
        ("src/scene/x.c", '#include "timeline/index/parts.h"'),
        ("src/adapt/base/x.c", '#include "adapt/call/call.h"'),
        ("apps/thrum/x.c", '#include "scene/paint/paint.h"'),
        ("apps/thrum/x.c", '#include "command.h"'),
        ("apps/thrum/line/x.c", '#include "trace/input.h"'),
        ("apps/thrum/trace/x.c", '#include "input.h"'),
        ("apps/thrum/live/top/x.c", '#include "picture/as.h"'),
        ("apps/thrum/other/x.c", '#include "line/text.h"'),
        ("apps/gtk/trace/x.c", '#include "pane/pane.h"'),
        ("apps/gtk/picture/x.c", '#include "pane/pane.h"'),
        ("apps/gtk/window/x.c", '#include "pane/parts.h"'),
        ("apps/gtk/x.c", '#include "window/parts.h"'),
        ("apps/gtk/window/x.c", '#include "window.h"'),
        ("apps/gtk/other/x.c", '#include "app.h"'),
        ("src/promise/sync/x.c", '#include "promise/core/core.h"'),
        ("src/promise/sync/x.c", '#include "promise/uv/glue.h"'),
        ("src/promise/other/x.c", '#include "promise/promise.h"'),
        ("src/model/x.c", "\n" * LINES_MAX),
    )
    right = (
        ("include/thrum/trace.h", "#include <thrum.h>"),
        ("include/thrum.h", "#include <stdint.h>"),
        ("src/port/x.c", "#include <sys/mman.h>"),
        ("src/record/x.c", '#include "record/lane.h"'),
        ("src/record/x.c", '#include "port/port.h"'),
        ("src/source/x.c", '#include "read/read.h"'),
        ("src/promise/x.c", "#include <uv.h>"),
        ("src/adapt/x.c", '#include "adapt/call/call.h"'),
        ("src/adapt/call/x.c", '#include "adapt/base/base.h"'),
        ("src/adapt/base/x.c", '#include "adapt/adapt.h"'),
        ("src/stage/x.c", '#include "thrum/trace.h"'),
        ("src/stage/x.c", '#include "scene/move.h"'),
        ("apps/thrum/x.c", '#include "scene/scene.h"'),
        ("apps/thrum/x.c", '#include "live/live.h"'),
        ("apps/thrum/trace/x.c", '#include "line/text.h"'),
        ("apps/thrum/live/top/x.c", '#include "live/live.h"'),
        ("apps/thrum/capture/x.c", '#include "thrum.h"'),
        ("apps/gtk/window/x.c", '#include "window/parts.h"'),
        ("apps/gtk/window/x.c", '#include "app.h"'),
        ("apps/gtk/places.c", '#include "window/window.h"'),
        ("src/promise/uv/x.c", '#include "promise/sync/waiters.h"'),
        ("src/promise/core/x.c", '#include "promise/promise.h"'),
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
