#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The desktop viewer's side panel while a program runs."""

import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import (TABS, check, coloured, is_quiet, page, program, recorded, selected, shown,
                    wait_selected)

CHOSEN = bytes((0xE6, 0xF0, 0xFB))  # the background of the selected row in the light theme


def has_chosen_row(viewer):
    """Whether the list of tasks shows a selected row; True without ImageMagick."""
    if not shutil.which("import"):
        return True
    left, top = viewer.at("tasks", 2, 2)
    return coloured(viewer.desktop, CHOSEN, left, top, *viewer.window().places["tasks"][2:]) > 200


def has_chart(window):
    return " tasks, " in window.texts.get("chart-words", "")


def turn_quickly(viewer, *pages):
    """Turns to one page after the other, without waiting until the window settles."""
    places = {name: viewer.at("pane-pages", TABS[name]) for name, _ in pages}
    for name, inside in pages:
        viewer.desktop.xdotool("mousemove", *places[name])
        viewer.press()
        viewer.wait(f"{name} are seen", lambda window, inside=inside: window.is_seen(inside))


def turns_pages(desktop):
    """While many events come, hidden pages keep nothing that is freed, and the user's choices
    stay."""
    # With a sanitizer and our own checks after each update, more takes too long.
    rate, rounds = (20000, 3) if os.environ["SANITIZE"] == "none" else (2000, 1)
    file = os.path.join(desktop.folder, "flood.thrum")
    with recorded(file, [program("bench", "gtk", "flood"), file, str(rate)]):
        time.sleep(1)
        viewer = shown(desktop, file)
        page(viewer, "tasks", "tasks")
        viewer.click("tasks", 40, 12)
        viewer.click("tasks-filter")
        viewer.type("item/7")
        viewer.wait_seen("tasks-count")
        page(viewer, "statistics", "chart")
        # On a slow machine statistics may wait for a pause.
        viewer.wait("statistics are told", lambda window: has_chart(window) or
                    window.is_seen("pane-waiting"))
        has_range = has_chart(viewer.window())
        if has_range:
            viewer.drag("chart", (0.01, 0.5), (0.99, 0.5))
            viewer.wait_seen("chart-show")
        page(viewer, "tasks", "tasks")
        viewer.click("tasks", 40, 42)
        task = viewer.wait("a row is chosen", lambda window: selected(window.state))
        for _ in range(rounds):
            turn_quickly(viewer, *[("details", "pane-details"), ("tasks", "tasks"),
                                   ("statistics", "chart"), ("tasks", "tasks")] * 2)
            viewer.point("menu")
            if has_range:
                viewer.wait_seen("tasks-all")
            check(viewer.window().texts["tasks-filter"] == "item/7", "the filter is gone")
            wait_selected(viewer, task)
            viewer.wait("a row is chosen still", lambda _: has_chosen_row(viewer))
        if has_range:
            viewer.click("tasks-all")  # tasks that come now may take any time
        count = viewer.window().texts["tasks-count"]
        viewer.wait("rows come", lambda window: window.texts["tasks-count"] != count or
                    window.is_seen("pane-waiting"))
        is_quiet(viewer)
        viewer.end()


def counts_later(desktop):
    """A count that would hold up following for too long waits for a pause."""
    if os.environ["SANITIZE"] != "none":
        print("counts_later: left out: with a sanitizer so large a trace takes minutes to open")
        return
    file = os.path.join(desktop.folder, "many.thrum")
    with recorded(file, [program("tests", "gtk", "programs", "many"), file, "12", "on"],
                  subprocess.PIPE) as process:
        process.stdout.readline()
        viewer = shown(desktop, file)
        viewer.wait("it waits", lambda window: re.match(
            r"Counted up to .* s\. Pause to count the rest\.", window.texts.get("pane-waiting", "")))
        viewer.click("pause")
        viewer.wait("it counts", lambda window: not window.is_seen("pane-waiting"))
        is_quiet(viewer)
        viewer.end()


driver.run([turns_pages, counts_later])
