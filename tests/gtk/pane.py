#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The side panel of the desktop viewer: links, lists, the histogram."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import (check, exported, find, is_quiet, page, program, record, selected, shown,
                    wait_selected, window_of)


def links(desktop):
    viewer = shown(desktop)
    viewer.wait_seen("pair-Duration")
    places = viewer.window().places
    check(places["finding-0"][1] < places["pair-Duration"][1], "the finding isn't first")
    viewer.click("show-finding-0")
    viewer.wait("the finding is shown", lambda window: selected(window.state))
    viewer.key("f")
    viewer.click("picture", *find(viewer, "client"))
    wait_selected(viewer, 3)
    viewer.wait_seen("pair-Waits-for")
    viewer.click("pair-Waits-for", 6)
    wait_selected(viewer, 4)
    viewer.key("BackSpace")
    wait_selected(viewer, 3)
    is_quiet(viewer)


def findings_of_why(desktop):
    """The window has the findings of `thrum why`: also of slots that were lost, and none where all is well."""
    folder = os.path.join(desktop.folder, "kept")
    archive = os.path.join(os.environ["SOURCE"], "tests", "why", "unseen", "recordings.tar.xz")
    names = ["xx_agent.broken", "zz_uv_slots.broken", "af_buildgraph.broken", "xx_agent.healthy"]
    os.makedirs(folder)
    subprocess.run(["tar", "--extract", "--occurrence", "--file", archive, "--directory", folder,
                    *(name + ".thrum" for name in names)], check=True)
    for name in names:
        file = os.path.join(folder, name + ".thrum")
        told = subprocess.run([os.environ["THRUM"], "why", "--format=json", file], check=False,
                              stdout=subprocess.PIPE).stdout.splitlines()
        check(bool(told) == name.endswith("broken"), f"why tells {len(told)} findings of {name}")
        viewer = shown(desktop, file)
        viewer.settle()
        seen = [place for place in viewer.window().places if place.startswith("finding-")]
        check(len(seen) == len(told), f"{len(seen)} findings of {name} instead of {len(told)}")
        viewer.end()


def notes(desktop):
    """A press on a finding's note shows its card; the keys stay those of the picture."""
    viewer = shown(desktop)
    viewer.key("b")
    viewer.wait("the finding is shown", lambda window: selected(window.state))
    page(viewer, "tasks", "tasks")
    viewer.key("Escape")
    place = re.search(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>Signal lost', exported(viewer))
    viewer.click("picture", float(place[1]) + 10, float(place[2]) - 4)
    viewer.wait_seen("finding-0")
    viewer.settle()
    top, pane = viewer.window().places["finding-0"][1], viewer.window().places["pane-details"]
    check(pane[1] <= top < pane[1] + pane[3], f"its card is at {top}, in a pane at {pane}")
    before = window_of(viewer.window().state)
    viewer.key("w")
    viewer.wait("the picture has the keys", lambda window: window_of(window.state) != before)
    is_quiet(viewer)


def tasks(desktop):
    viewer = shown(desktop)
    page(viewer, "tasks", "tasks")
    viewer.click("tasks-filter")
    viewer.type("send")
    viewer.wait_seen("tasks-count")
    viewer.click("tasks", 40, 42)
    wait_selected(viewer, 5)
    viewer.click("tasks-filter")
    viewer.key("ctrl+a", "BackSpace")
    viewer.wait("all are there again", lambda window: not window.is_seen("tasks-count"))
    # By label: c before h, so the first row is card; the other way round send.
    viewer.click("tasks", 40, 12)
    viewer.click("tasks", 40, 42)
    wait_selected(viewer, 2)
    viewer.click("tasks", 40, 12)
    viewer.click("tasks", 40, 42)
    wait_selected(viewer, 5)
    is_quiet(viewer)


def statistics(desktop):
    viewer = shown(desktop)
    page(viewer, "statistics", "chart")
    viewer.drag("chart", (0.6, 0.5), (0.99, 0.5))
    viewer.click("chart-show")
    viewer.wait_seen("tasks-all")
    viewer.click("tasks-all")
    viewer.wait("the range is cleared", lambda window: not window.is_seen("tasks-all"))
    page(viewer, "statistics", "chart")
    viewer.drag("chart", (0.6, 0.5), (0.99, 0.5))
    viewer.key("Escape")
    viewer.wait("no range", lambda window: not window.is_seen("chart-show"))
    viewer.key("Left", "shift+Left")
    viewer.wait_seen("chart-show")
    viewer.key("Escape")
    viewer.wait("no range any more", lambda window: not window.is_seen("chart-show"))
    for _ in range(5):
        viewer.click("statistics-of")
        viewer.key("Down", "Return")
        viewer.wait_seen("statistics")
    check(not viewer.window().is_seen("chart"), "a chart of counters")
    is_quiet(viewer)


def counters(desktop):
    """A tree in the statistics, and groups in the menu, as there are many."""
    file = os.path.join(desktop.folder, "counters.thrum")
    said = "".join(f"gauge net/tcp/{name} 1\n" for name in "abcdefghijkl")
    subprocess.run([program("tests", "thrum", "programs", "obeys")], input=said, text=True,
                   env=dict(os.environ, THRUM_TRACE=file), check=True, stdout=subprocess.DEVNULL)
    viewer = shown(desktop, file)
    page(viewer, "statistics", "chart")
    viewer.click("statistics-of")
    viewer.key("End", "Return")
    viewer.wait("the tree is shown", lambda window: window.is_seen("statistics") and
                not window.is_seen("chart"))
    viewer.click("counters")
    viewer.wait_seen("counter-1-12")
    check(viewer.window().texts["counter-1-12"] in "abcdefghijkl", "a name has its path")
    viewer.click("counter-1-12")
    viewer.wait("it is switched", lambda window: "counter=net/tcp/" in window.state)
    is_quiet(viewer)


def why_slow(desktop):
    viewer = shown(desktop)
    page(viewer, "slow", "slow-empty")
    page(viewer, "details", "pane-details")
    viewer.click("picture", *find(viewer, "client"))
    wait_selected(viewer, 3)
    viewer.key("y")
    viewer.wait_seen("slow-words")
    viewer.wait("there is a picture", lambda window: window.places["slow-picture"][3] > 60)
    check("panel=slow" in viewer.window().state, viewer.window().state)
    check("as=bands" in viewer.window().state, "its story needs bands")
    viewer.key("v")
    viewer.wait("rows are shown", lambda window: "as=bands" not in window.state)
    # A click there leads to a task, and to the details about it.
    height = viewer.window().places["slow-picture"][3]
    for y in range(4, height, 8):
        viewer.click("slow-picture", 60, y)
        viewer.take_in()
        if viewer.window().is_seen("pane-details"):
            break
    viewer.wait_seen("pair-State")
    viewer.click("picture", *find(viewer, "client"), button=3)
    viewer.wait_seen("menu-Why-Slow")
    viewer.settle()
    viewer.click("menu-Why-Slow")
    viewer.wait_seen("slow-words")
    wait_selected(viewer, 3)
    is_quiet(viewer)


def follows_the_selection(desktop):
    viewer = desktop.view("--state", "panel=slow", record(desktop))
    viewer.wait_shown()
    viewer.wait_seen("slow-empty")
    viewer.click("picture", *find(viewer, "client"))
    viewer.wait_seen("slow-words")
    viewer.key("Escape")
    viewer.wait_seen("slow-empty")
    is_quiet(viewer)


def differences(desktop):
    files = [record(desktop, "lost_reply", "healthy"), record(desktop)]
    viewer = shown(desktop, "--stacked", *files)
    check(not viewer.window().is_seen("diff-words"), "the page is shown unasked")
    viewer.end()
    viewer = desktop.view("--stacked", "--state", "panel=differences", *files)
    viewer.wait_shown()
    viewer.wait_seen("diff-words")
    check(not viewer.window().is_seen("pane-trace"), "one of the traces can be chosen")
    viewer.click("difference-0", 40, 10)
    viewer.wait("both are selected", lambda window: "&sel=" in window.state and
                "2.sel=" in window.state)
    check(viewer.window().is_seen("diff-words"), "the page has gone")
    is_quiet(viewer)


def ranges(desktop):
    """A range that is dragged after a task was selected is told, and can be zoomed to."""
    viewer = shown(desktop, "--state", "as=bands&sel=3", record(desktop))
    viewer.wait_seen("pair-Site")
    check(not viewer.window().is_seen("range-zoom"), "there is no range yet")
    viewer.drag("picture", (0.5, 67), (0.7, 67))
    viewer.wait("there is a range", lambda window: "range=" in window.state)
    viewer.wait_seen("range-zoom")
    check(viewer.window().is_seen("range-note") and viewer.window().is_seen("range-save"),
          "buttons are missing")
    check(not viewer.window().is_seen("range-open"), "no durations are chosen")
    wanted = re.search(r"range=(\d+\.\.\d+)", viewer.window().state)[1]
    viewer.click("range-zoom")
    viewer.wait("it is shown", lambda window: f"t={wanted}" in window.state)
    is_quiet(viewer)


def opens_sites(desktop):
    """A call site opens in the editor, if its file is there."""
    viewer = shown(desktop, "--state", "sel=3", record(desktop))
    viewer.wait_seen("pair-Site")
    viewer.end()
    source = os.path.join(desktop.folder, "tests", "why", "programs", "lost_reply.c")
    os.makedirs(os.path.dirname(source))
    with open(source, "w", encoding="ascii"):
        pass
    told = os.path.join(desktop.folder, "told")
    editor = os.path.join(desktop.folder, "code")
    with open(editor, "w", encoding="ascii") as script:
        script.write(f'#!/bin/sh\necho "$@" >{told}.new\nmv {told}.new {told}\n')
    os.chmod(editor, 0o755)
    viewer = shown(desktop, "--state", "sel=3", record(desktop), VISUAL="vi",
                   EDITOR=editor + " --wait")
    viewer.wait_seen("pair-Site")
    left = viewer.find("pair-Site")[1][2]
    for x in range(left - 10, 0, -20):  # the function's name comes before the link
        viewer.click("pair-Site", x, 8)
        viewer.take_in()
        if os.path.exists(told):
            break
    viewer.wait("the editor was started", lambda _: os.path.exists(told))
    with open(told, encoding="ascii") as file:
        words = file.read().split()
    path, _, line = words[-1].rpartition(":")
    check(words[:-1] == ["--wait", "-g"] and path.endswith("/lost_reply.c") and line.isdigit(),
          f"it was started with {words}")
    is_quiet(viewer)


driver.run([links, findings_of_why, notes, opens_sites, ranges, tasks, statistics, counters, why_slow,
            follows_the_selection, differences])
