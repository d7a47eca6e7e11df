#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The desktop viewer while it opens large recordings, and with dropped files."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import check, coloured, is_quiet, program, record

# Millions of events: if the first opens too soon, the next is tried.
SIZES = (3, 9) if os.environ["SANITIZE"] == "none" else (1, 3, 9)
RUN = bytes((0x0B, 0x62, 0xB8))  # the colour of runs in the light theme


def big(desktop, millions):
    file = os.path.join(desktop.folder, f"many-{millions}.thrum")
    if not os.path.exists(file):
        subprocess.run([program("tests", "gtk", "programs", "many"), file, str(millions)],
                       check=True)
    return file


def is_loading(viewer):
    """Waits until progress is visible. Returns False if the trace is shown already."""
    return viewer.wait("it opens", lambda window: "loading" if window.is_seen("cancel") else
                       "shown" if window.is_seen("picture") else None) == "loading"


def with_big(desktop, case, traces=1):
    """Runs a case with a viewer that is opening; how large a trace that takes depends on the
    machine."""
    for millions in SIZES:
        viewer = desktop.view("--stacked", *[big(desktop, millions)] * traces)
        if is_loading(viewer) and case(viewer):
            return
        viewer.end()
    print(f"skipped: {SIZES[-1]} million events are opened too soon here")


def is_idle(pid):
    """Whether a process uses less than a tenth of a processor for a while."""
    ticks = []
    for wait in 0.4, 0:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            ticks.append(sum(map(int, file.read().rpartition(")")[2].split()[11:13])))
        time.sleep(wait)
    return ticks[1] - ticks[0] < 4


def cancel(viewer):
    """Cancels at once: to settle would wait for the end of opening. Returns False if too late."""
    seen = []
    while not seen:
        found = viewer.find("cancel")
        if not found:
            return False
        left, top, width, height = found[1]
        corner = viewer.shape()[1:3]
        viewer.desktop.xdotool("mousemove", corner[0] + left + width // 2,
                               corner[1] + top + height // 2)
        viewer.press()
        # The button moves when the coarse picture appears. A press that missed it is made again.
        until = time.monotonic() + 5
        while not seen and time.monotonic() < until:
            seen = [name for name in ("empty-open", "picture") if viewer.window().is_seen(name)]
            time.sleep(0.02)
    if "picture" in seen:
        return False
    check(not viewer.window().is_seen("loading"), "it still says that it opens")
    viewer.wait("what was cancelled ends", lambda _: is_idle(viewer.process.pid))
    is_quiet(viewer)
    return True


def cancels(desktop):
    with_big(desktop, cancel)


def coarse(viewer):
    """Each trace has a coarse picture, one above the other. Returns False if too late."""
    corner = viewer.shape()[1:3]
    words, is_seen = "", False
    while True:
        window = viewer.window()
        if not window.is_seen("coarse"):
            check(not is_seen, words)
            return False
        words = window.texts.get("loading-words", words)
        left, top, width, height = window.places["coarse"]
        both = [coloured(viewer.desktop, RUN, corner[0] + left,
                         corner[1] + top + part * height // 2, width, height // 2)
                for part in range(2)]
        # The words may come after it.
        is_seen |= min(both) > 100
        if is_seen and re.search(r"many-\d+\.thrum: (reading .* of .*|laying out)", words):
            return True


def shows_coarse_pictures(desktop):
    if not shutil.which("import"):
        print("skipped: ImageMagick isn't installed")
        return
    with_big(desktop, coarse, 2)


def finds_later(desktop):
    """The picture of a big trace comes before its findings, which come by themselves."""
    viewer = desktop.view(big(desktop, 1))
    viewer.wait_shown()
    viewer.wait("the finding is told", lambda window: window.is_seen("show-finding-0"))
    is_quiet(viewer)
    viewer.end()


def opens_by_uri(desktop):
    """As file managers name files."""
    file = Path(record(desktop)).rename(Path(desktop.folder) / "with space.thrum")
    viewer = desktop.view(file.as_uri())
    viewer.wait_shown()
    check("with space.thrum" in viewer.window().title, viewer.window().title)
    is_quiet(viewer)


def drop(viewer, file, what, condition):
    """Drags a file from another program's window to the viewer's, and waits until it is taken."""
    desktop = viewer.desktop
    left, top = viewer.at("ground")
    with subprocess.Popen([program("tests", "gtk", "programs", "gtk_offer"), Path(file).as_uri()],
                          env=desktop.environment) as offer:
        try:
            number = viewer.wait("there is something to drag", lambda _: desktop.xdotool(
                "search", "--onlyvisible", "--name", "^offer$").strip())
            desktop.xdotool("windowmove", "--sync", number, 0, 0)
            desktop.xdotool("mousemove", 60, 40, "mousedown", 1)
            for place in (70, 50), (90, 60), (left, top), (left + 5, top + 5):
                desktop.xdotool("mousemove", *place, "sleep", 0.2)
            desktop.xdotool("mouseup", 1)
            viewer.wait(what, condition)
        finally:
            offer.kill()


def takes_what_is_dropped(desktop):
    viewer = desktop.view()
    drop(viewer, record(desktop), "it is opened",
         lambda window: window.is_seen("picture") and "lost_reply" in window.title)
    text = os.path.join(desktop.folder, "text.txt")
    with open(text, "w", encoding="ascii") as file:
        file.write("this is no trace\n" * 400)
    drop(viewer, text, "it is refused", lambda window: "text.txt: neither a recording" in
         window.texts.get("message-words", ""))
    check("lost_reply" in viewer.window().title and viewer.window().is_seen("picture"),
          "what was shown is gone")
    is_quiet(viewer)


def opens_the_whole_run(desktop):
    """A file is opened with those of the processes that its program forked, as by the command."""
    if os.environ["SANITIZE"] != "none":
        return  # unmodified programs can't be recorded then
    file = os.path.join(desktop.folder, "family.thrum")
    subprocess.run([os.environ["THRUM"], "record", "-o", file, "--",
                    program("tests", "adapt", "programs", "relatives"), "ring", "fine"],
                   stderr=subprocess.DEVNULL, check=True)
    name = "family.thrum + 3 more"
    viewer = desktop.view()
    drop(viewer, file, "it is opened", lambda window: window.is_seen("picture") and
         name in window.title)
    viewer.end()
    viewer = desktop.view(file)
    viewer.wait_shown()
    check(name in viewer.window().title, viewer.window().title)
    is_quiet(viewer)


driver.run([cancels, shows_coarse_pictures, finds_later, opens_by_uri, takes_what_is_dropped,
            opens_the_whole_run])
