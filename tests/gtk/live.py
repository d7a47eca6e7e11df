#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The desktop viewer with programs that record, and with files that are no good."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import (TABS, check, coloured, exported, is_quiet, page, program, record, selected,
                    shown, wait_selected)

CHOSEN = bytes((0xE6, 0xF0, 0xFB))  # the ground of a chosen row, in light


class Recorded:
    """A program that records, as long as the with lasts."""

    def __init__(self, desktop):
        self.file = os.path.join(desktop.folder, "live.thrum")
        self.command = [program("tests", "thrum", "programs", "steady")]

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, THRUM_TRACE=self.file, THRUM_SIZE="4M"))
        until = time.monotonic() + driver.PATIENCE
        while not os.path.exists(self.file) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.unlink(self.file)


def seen_end(window):
    """How far the status line says that one sees, in ms."""
    found = re.search(r"… ([\d.]+) (ms|s)\b", window.status)
    return float(found[1]) * (1000 if found[2] == "s" else 1) if found else 0


def seen_length(window):
    """How much that is, in ms."""
    found = re.search(r"seen: ([\d.]+)( ms| s|) …", window.status)
    unit = {" ms": 1, " s": 1000}.get(found[2], 1000) if found else 0
    return seen_end(window) - float(found[1]) * unit if found else 0


def live(desktop):
    with Recorded(desktop) as recorded:
        viewer = shown(desktop, str(recorded.process.pid))
        first = seen_end(viewer.window())
        viewer.wait("new events come", lambda window: seen_end(window) > first + 300)
        viewer.click("pause")
        viewer.settle()
        paused = seen_end(viewer.window())
        time.sleep(0.4)
        check(seen_end(viewer.window()) == paused, "paused it goes on")
        check("paused at" in exported(viewer), "the ruler doesn't tell the pause")
        viewer.click("pause")
        viewer.wait("it goes on", lambda window: seen_end(window) > paused)
        check(">now " in exported(viewer), "the ruler doesn't tell that it goes on")
        check(not viewer.window().is_seen("message"), "what is live has a message")
        recorded.process.send_signal(signal.SIGKILL)
        viewer.wait_seen("message")
        check(viewer.window().is_seen("picture"), "the picture is gone")
        check("ended by SIGKILL at" in exported(viewer), "the ruler doesn't tell the end")
        is_quiet(viewer)


def keeps_the_last(desktop):
    """Of a program for which a second is 20 ms, whose first ones are forgotten."""
    file = os.path.join(desktop.folder, "hurry.thrum")
    process = subprocess.Popen([program("tests", "gtk", "programs", "hurry"), file])
    try:
        until = time.monotonic() + driver.PATIENCE
        while not os.path.exists(file) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)
        viewer = shown(desktop, file)
        viewer.wait("15 s are seen", lambda window: seen_end(window) > 15000)
        viewer.click("menu")
        viewer.click("menu-Keep-Last-10-s")
        viewer.wait("10 s are seen", lambda window: 8000 < seen_length(window) < 13000)
        later = seen_end(viewer.window()) + 5000
        viewer.wait("it goes on so", lambda window: seen_end(window) > later and
                    8000 < seen_length(window) < 13000)
        is_quiet(viewer)
        viewer.end()
    finally:
        process.kill()
        process.wait()


def chosen_rows(viewer):
    """Pixels of the list of tasks that are a chosen row's; None: can't be told."""
    if not shutil.which("import"):
        return None
    left, top = viewer.at("tasks", 2, 2)
    return coloured(viewer.desktop, CHOSEN, left, top, *viewer.window().places["tasks"][2:])


def has_chart(window):
    return " tasks, " in window.texts.get("chart-words", "")


def turn_quickly(viewer, *pages):
    """Turns to one page after the other, without waiting until all is still."""
    places = {name: viewer.at("pane-pages", TABS[name]) for name, _ in pages}
    for name, inside in pages:
        viewer.desktop.xdotool("mousemove", *places[name])
        viewer.press()
        viewer.wait(f"{name} are seen", lambda window, inside=inside: window.is_seen(inside))


def turns_pages(desktop):
    """While many events come: what isn't seen keeps nothing that is gone, what was chosen and asked
    for stays."""
    # A sanitizer and our own checks after each update cost too much for more.
    rate = 20000 if os.environ["SANITIZE"] == "none" else 2000
    file = os.path.join(desktop.folder, "flood.thrum")
    process = subprocess.Popen([program("bench", "gtk", "flood"), file, str(rate)])
    try:
        time.sleep(1)
        viewer = shown(desktop, file)
        page(viewer, "tasks", "tasks")
        viewer.click("tasks", 40, 12)
        viewer.click("tasks-filter")
        viewer.type("item/7")
        viewer.wait_seen("tasks-count")
        viewer.click("tasks", 40, 42)
        task = viewer.wait("a row is chosen", lambda window: selected(window.state))
        page(viewer, "statistics", "chart")
        # On a slow machine statistics may wait until the program is paused.
        viewer.wait("statistics are told", lambda window: has_chart(window) or
                    window.is_seen("pane-waiting"))
        has_range = has_chart(viewer.window())
        if has_range:
            viewer.drag("chart", (0.1, 0.5), (0.99, 0.5))
            viewer.wait_seen("chart-show")
        for _ in range(3):
            turn_quickly(viewer, *[("details", "pane-details"), ("tasks", "tasks"),
                                   ("statistics", "chart"), ("tasks", "tasks")] * 2)
            viewer.point("menu")
            if has_range:
                viewer.wait_seen("tasks-all")
            check(viewer.window().texts["tasks-filter"] == "item/7", "the filter is gone")
            wait_selected(viewer, task)
            rows = chosen_rows(viewer)
            check(rows is None or rows > 200, "no row is chosen any more")
        count = viewer.window().texts["tasks-count"]
        viewer.wait("rows come", lambda window: window.texts["tasks-count"] != count or
                    window.is_seen("pane-waiting"))
        is_quiet(viewer)
        viewer.end()
    finally:
        process.kill()
        process.wait()
        os.unlink(file)


def counts_later(desktop):
    """What takes so long to count that following stood still waits for a pause."""
    if os.environ["SANITIZE"] != "none":
        print("counts_later: left out: there, so big a trace takes minutes to open")
        return
    file = os.path.join(desktop.folder, "many.thrum")
    process = subprocess.Popen([program("tests", "gtk", "programs", "many"), file, "6", "on"],
                               stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        viewer = shown(desktop, file)
        viewer.wait("it waits", lambda window: re.match(
            r"Counted up to .* s; pause to count on\.", window.texts.get("pane-waiting", "")))
        viewer.click("pause")
        viewer.wait("it counts", lambda window: not window.is_seen("pane-waiting"))
        is_quiet(viewer)
        viewer.end()
    finally:
        process.kill()
        process.wait()
        os.unlink(file)


def snapshots(desktop):
    with Recorded(desktop) as recorded:
        viewer = shown(desktop, recorded.file)
        first = seen_end(viewer.window())
        file = os.path.join(viewer.folder, "snapshot.thrum")
        viewer.click("menu")
        viewer.click("menu-Save-a-Snapshot…")
        viewer.wait_dialog()
        viewer.key("ctrl+a")
        viewer.type(file)
        viewer.key("Return")
        viewer.wait("it is saved", lambda _: os.path.exists(file))
        told = subprocess.run([os.environ["THRUM"], "info", file], capture_output=True, text=True,
                              check=False)
        check(told.returncode == 0 and "events" in told.stdout, f"a bad snapshot: {told}")
        viewer.wait("the window goes on", lambda window: seen_end(window) > first)
        check(not viewer.window().is_seen("message"), "a snapshot is told in a message")
        is_quiet(viewer)


def attaches(desktop):
    with Recorded(desktop) as recorded:
        viewer = desktop.view()
        viewer.wait_seen("empty-attach")
        viewer.click("empty-attach")
        row = f"process-{recorded.process.pid}"
        viewer.click(row)
        viewer.wait("it is followed", lambda window: seen_end(window) > 0)
        is_quiet(viewer)


def reloads(desktop):
    file = os.path.join(desktop.folder, "changing.thrum")
    for name, arguments in ("lost_reply", []), ("deadlock_ring", []):
        with open(record(desktop, name, *arguments), "rb") as source:
            content = source.read()
        with open(file, "wb") as target:
            target.write(content)
        if name == "lost_reply":
            viewer = shown(desktop, file)
            before = viewer.window().status
        else:
            viewer.key("F5")
    viewer.wait("it is the new one", lambda window: window.status and window.status != before)
    is_quiet(viewer)


# ---- What is wrong -------------------------------------------------------------------------------


def refuses(desktop):
    contents = {"empty.thrum": b"", "text.thrum": b"this is no trace\n" * 400,
                "cut.thrum": open(record(desktop), "rb").read()[:3000]}
    for name, content in contents.items():
        file = os.path.join(desktop.folder, name)
        with open(file, "wb") as target:
            target.write(content)
        viewer = desktop.view(file)
        viewer.wait_seen("message")
        is_quiet(viewer)
        viewer.end()
    viewer = desktop.view(os.path.join(desktop.folder, "nowhere.thrum"))
    viewer.wait_seen("message")
    is_quiet(viewer)


def shows_the_rest(desktop):
    """Of a damaged recording what is whole; of one without events nothing, in words."""
    content = bytearray(open(record(desktop, "leak_sessions"), "rb").read())
    packets = int.from_bytes(content[32 + 16 * 4:32 + 16 * 4 + 8], "little")
    for place in range(packets + 200, len(content), 4096):
        content[place] ^= 0xff
    damaged = os.path.join(desktop.folder, "damaged.thrum")
    with open(damaged, "wb") as target:
        target.write(content)
    viewer = shown(desktop, damaged)
    viewer.wait_seen("message")
    is_quiet(viewer)
    viewer.end()
    data = os.path.join(os.environ["SOURCE"], "tests", "read", "data", "mirage")
    for name in "labels.ctf", "extremes.ctf", "odd.ctf", "zeroed.ctf":
        viewer = shown(desktop, os.path.join(data, name))
        page(viewer, "tasks", "tasks")
        viewer.click("tasks", 40, 42)
        page(viewer, "details", "pane-details")
        is_quiet(viewer)
        viewer.end()


driver.run([live, keeps_the_last, turns_pages, counts_later, snapshots, attaches, reloads, refuses,
            shows_the_rest])
