#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The desktop viewer, used with mouse and keyboard: looking around."""

import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import (SECOND, check, exported, find, is_quiet, program, record, recorded, selected,
                    shown, wait_selected, window_of)


def fold(state):
    """1: idle time is folded, 2: it isn't, None: automatic."""
    found = re.search(r"(?:^|&)fold=(\d)", state)
    return int(found[1]) if found else None


def opens(desktop):
    viewer = desktop.view(record(desktop))
    viewer.wait("there is a window", lambda window: window.title)
    viewer.wait_shown()
    viewer.wait("the finding is told", lambda window: window.is_seen("show-finding-0"))
    check("lost_reply.thrum" in viewer.window().title, viewer.window().title)
    is_quiet(viewer)


def zooms(desktop):
    viewer = shown(desktop)
    viewer.point("picture", 0.5, 0.5)
    viewer.wait("a time is told", lambda window: "·" in window.status)
    viewer.settle()
    before = viewer.window().status.split(" · ")[0]
    viewer.wheel("picture", 2)
    viewer.wait("the window is smaller", lambda window: window_of(window.state))
    viewer.settle()
    start, end = window_of(viewer.window().state)
    check(end - start < 5 * SECOND, "zooming in shows more")
    after = viewer.window().status.split(" · ")[0]
    # The time below the pointer stays; it may have more digits.
    check(before.split()[0][:3] == after.split()[0][:3], f"{before} became {after}")
    viewer.drag("picture", (0.5, 0.5), (0.3, 0.5))
    viewer.wait("dragging pans", lambda window: window_of(window.state) not in
                (None, (start, end)))
    viewer.settle()
    moved = window_of(viewer.window().state)
    check(moved[0] > start, f"dragged to the left it shows what is earlier: {moved}")
    viewer.key("f")
    viewer.wait("f shows all", lambda window: window_of(window.state) is None)
    viewer.key("BackSpace")
    viewer.wait("backspace goes back", lambda window: window_of(window.state) == moved)
    viewer.key("f", "plus")
    viewer.wait("+ zooms", lambda window: window_of(window.state) not in (None, moved))
    # Idle time may have been folded automatically before.
    viewer.key("i")
    way = viewer.wait("i folds or unfolds", lambda window: fold(window.state))
    viewer.click("fold")
    viewer.wait("the button does the other", lambda window: fold(window.state) == 3 - way)
    is_quiet(viewer)


def length(state):
    start, end = window_of(state) or (0, 5 * SECOND)
    return end - start


def buttons(desktop):
    viewer = shown(desktop)
    viewer.click("zoom-in")
    viewer.wait("+ zooms in", lambda window: length(window.state) < 5 * SECOND)
    viewer.settle()
    once = length(viewer.window().state)
    viewer.point("zoom-in")
    desktop.xdotool("mousedown", 1)
    # On a slow machine the click was long, and the picture may be as near as it gets.
    viewer.wait("held it goes on", lambda window: length(window.state) < max(once / 50, 11))
    desktop.xdotool("mouseup", 1)
    viewer.settle()
    held = length(viewer.window().state)
    time.sleep(0.5)
    check(length(viewer.window().state) == held, "it goes on without being held")
    viewer.click("zoom-out")
    viewer.wait("− zooms out", lambda window: length(window.state) > held)
    viewer.key("Left")
    viewer.wait("keys are the picture's still", lambda window: length(window.state) > held)
    viewer.click("fit")
    viewer.wait("Fit shows all", lambda window: window_of(window.state) is None)
    is_quiet(viewer)


BAR = ["title", "words", "findings", "search", "zoom-out", "zoom-in", "fit", "fold", "export",
       "menu"]


def right(window, name):
    left, _, width, _ = window.places[name]
    return left + width


def resize(viewer, wanted):
    """Resizes the window to a width, or to its minimum, and waits until the panel is at its right
    edge."""
    def look(window):
        number, _, _, width, _ = viewer.shape()
        if (width == wanted or wanted < width < 800) and 0 <= width - right(window, "pane") < 10:
            return True
        # A request is lost if it comes while the window resizes itself.
        viewer.desktop.xdotool("windowsize", number, wanted, 700)
        time.sleep(0.2)
        return False
    viewer.wait(f"it is {wanted} wide", look)
    viewer.settle()


def makes_room(desktop):
    """In a narrow window the least important parts disappear; none is cut or overlaps another."""
    viewer = shown(desktop)
    seen = []
    for width in 1200, 800, 200, 1201:
        resize(viewer, width)
        window = viewer.window()
        seen.append([name for name in BAR if window.is_seen(name)])
        for before, name in zip(seen[-1], seen[-1][1:]):
            check(window.places[name][0] >= right(window, before) - 1,
                  f"{name} lies on {before}, at {width}")
        check(right(window, "menu") < viewer.shape()[3], f"the menu is cut at {width}")
    check(seen[0] == BAR == seen[3], f"at 1200 there is {seen[0]}, again {seen[3]}")
    check("words" not in seen[1] and "menu" in seen[1] and "findings" in seen[1],
          f"at 800 there is {seen[1]}")
    check("search" in seen[2] and "menu" in seen[2], f"at least there is {seen[2]}")
    is_quiet(viewer)


def searches(desktop):
    viewer = shown(desktop)
    viewer.key("slash")
    viewer.type("heart")
    viewer.wait("it is searched", lambda window: "find=heart" in window.state)
    viewer.key("Return")
    first = viewer.wait("Enter selects a match", lambda window: selected(window.state))
    viewer.key("Down", "n")
    viewer.wait("the next match", lambda window: selected(window.state) not in (None, first))
    viewer.key("N")
    viewer.wait("N goes back", lambda window: selected(window.state) == first)
    viewer.key("Escape", "Escape")
    viewer.wait("escape clears", lambda window: "find=" not in window.state and
                selected(window.state) is None)
    is_quiet(viewer)


def tells_the_picture(desktop):
    """Screen readers find a sentence about all that the picture shows."""
    viewer = shown(desktop)
    told = viewer.wait("the picture is told", lambda window: window.texts.get("outline"))
    check(len(told) > 10, told)
    viewer.key("v")
    viewer.wait("so are bands", lambda window: window.texts.get("outline") not in (None, told))
    is_quiet(viewer)
    viewer.end()


def menu(desktop):
    viewer = shown(desktop)
    place = find(viewer, "client")
    viewer.click("picture", *place, button=3)
    viewer.wait_seen("menu-Select")
    viewer.settle()
    viewer.click("menu-Select")
    wait_selected(viewer, 3)
    viewer.click("picture", 0.5, 0.97)
    viewer.wait("a click beside it clears", lambda window: selected(window.state) is None)
    viewer.click("picture", *place)
    wait_selected(viewer, 3)
    viewer.click("picture", *place, times=2)
    viewer.wait("a double click fades the rest", lambda window: "related" in window.state)
    is_quiet(viewer)


def chooses_a_theme(desktop):
    viewer = shown(desktop)
    viewer.click("menu")
    viewer.click("menu-Theme")
    viewer.click("menu-Dark")
    viewer.wait("the menu is gone", lambda window: not window.is_seen("menu-Dark"))
    viewer.key("plus")
    viewer.wait("keys are the picture's again", lambda window: window_of(window.state))
    is_quiet(viewer)


def goes_to_a_time(desktop):
    viewer = shown(desktop)
    viewer.key("g")
    viewer.wait_seen("go-to-text")
    viewer.key("ctrl+a")
    viewer.type("2 ms + 4 ms")
    viewer.key("Return")
    viewer.wait("it is there", lambda window: (window_of(window.state) or (0, 0))[0] == 2000000)
    is_quiet(viewer)


def measures(desktop):
    """What Shift and a drag do can be chosen in the menu, too."""
    viewer = shown(desktop)
    viewer.click("menu")
    viewer.wait_seen("menu-Measure")
    viewer.click("menu-Measure")
    viewer.wait("the menu is gone", lambda window: not window.is_seen("menu-Measure"))
    viewer.settle()
    viewer.drag("picture", (0.3, 0.8), (0.5, 0.8))
    viewer.wait("it is measured", lambda window: "measured" in window.status)
    check(window_of(viewer.window().state) is None, "the picture was moved, too")
    viewer.drag("picture", (0.5, 0.8), (0.3, 0.8))
    viewer.wait("the next drag pans", lambda window: "measured" not in window.status)
    is_quiet(viewer)


def marks_a_time(desktop):
    viewer = shown(desktop)
    viewer.key("m")
    viewer.wait_seen("mark-text")
    viewer.type("pause")
    viewer.key("Return")
    viewer.wait("it is marked", lambda window: re.search(r"mark=\d+:pause", window.state))
    is_quiet(viewer)


def two_traces(desktop):
    files = [record(desktop), record(desktop, "lost_reply", "healthy")]
    viewer = shown(desktop, *files)
    viewer.wait("each has a window", lambda _: len(viewer.windows()) == 2)
    viewer.end()
    viewer = shown(desktop, "--stacked", *files)
    viewer.wait_seen("pane-trace")
    check(len(viewer.windows()) == 1, "stacked ones have a window each")
    viewer.wheel("picture", 3)
    viewer.wait("they are zoomed", lambda window: window_of(window.state))
    is_quiet(viewer)


def two_traces_as_one(desktop):
    subprocess.run([program("examples", "annotate", "processes"), "bug"], check=False,
                   cwd=desktop.folder, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, THRUM_TRACE=os.path.join(desktop.folder, "client.thrum")))
    files = [os.path.join(desktop.folder, name + ".thrum") for name in ("client", "server")]
    viewer = shown(desktop, "--together", *files)
    check(list(viewer.windows()) == ["client.thrum + server.thrum – thrum"], "it isn't one trace")
    check("server/processes" in exported(viewer), "the picture has no server")
    is_quiet(viewer)


def exports(desktop):
    viewer = shown(desktop)
    check("client" in exported(viewer), "the picture has no client")
    is_quiet(viewer)


def has_few(file):
    """Whether so few events are recorded that the tasks are shown as rows at once."""
    with open(file + ".said", "rb") as said:
        return int.from_bytes(said.read(8), sys.byteorder) < 60000


def makes_rows(desktop):
    """Many tasks at once are shown as bands; their rows are made when they are asked for."""
    file = os.path.join(desktop.folder, "flood.thrum")
    with recorded(file, [program("bench", "gtk", "flood"), file, "100000"]):
        while has_few(file):
            time.sleep(0.2)
        shutil.copy(file, file + ".then")
    viewer = shown(desktop, file + ".then")
    check("as=" not in viewer.window().state, "rows are shown")
    viewer.key("v")
    viewer.wait("rows are shown", lambda window: "as=rows" in window.state and
                "being made" not in window.status)
    check("GET /item" in exported(viewer), "no task is named")
    viewer.click("bands")
    viewer.wait("bands are shown again", lambda window: "as=bands" in window.state)
    is_quiet(viewer)


def state(desktop):
    viewer = shown(desktop, "--state", "t=1000000..6000000&sel=3", record(desktop))
    viewer.wait("it shows what the text says", lambda window:
                window_of(window.state) == (1000000, 6000000) and selected(window.state) == 3)
    viewer.key("question")
    viewer.wait("the keys are told", lambda _: len(viewer.windows()) == 2)
    is_quiet(viewer)


driver.run([opens, zooms, buttons, makes_room, searches, tells_the_picture, menu, chooses_a_theme,
            goes_to_a_time, measures, marks_a_time, two_traces, two_traces_as_one, exports, makes_rows,
            state])
