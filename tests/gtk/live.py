#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The desktop viewer with programs that are recording, and with bad files."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import check, exported, is_quiet, page, program, record, recorded, shown


def live_file(desktop):
    return os.path.join(desktop.folder, "live.thrum")


def steady(desktop):
    file = live_file(desktop)
    return recorded(file, [program("tests", "thrum", "programs", "steady")], THRUM_TRACE=file,
                    THRUM_SIZE="4M")


def seen_end(window):
    """The end of the visible time in the status line, in ms."""
    found = re.search(r"… ([\d.]+) (ms|s)\b", window.status)
    return float(found[1]) * (1000 if found[2] == "s" else 1) if found else 0


def seen_length(window):
    """The length of the visible time, in ms."""
    found = re.search(r"shown: ([\d.]+)( ms| s|) …", window.status)
    unit = {" ms": 1, " s": 1000}.get(found[2], 1000) if found else 0
    return seen_end(window) - float(found[1]) * unit if found else 0


def live(desktop):
    with steady(desktop) as process:
        viewer = shown(desktop, str(process.pid))
        first = seen_end(viewer.window())
        viewer.wait("new events come", lambda window: seen_end(window) > first + 300)
        viewer.click("pause")
        viewer.settle()
        paused = seen_end(viewer.window())
        time.sleep(0.4)
        check(seen_end(viewer.window()) == paused, "paused it goes on")
        check(viewer.window().texts.get("live") is None, "paused it is live")
        check("paused at" in exported(viewer), "the ruler doesn't tell the pause")
        viewer.click("pause")
        viewer.wait("it goes on", lambda window: seen_end(window) > paused)
        check(">now " in exported(viewer), "the ruler doesn't tell that it goes on")
        check(viewer.window().texts["live"] == "live", "it isn't live")
        check(not viewer.window().is_seen("message"), "what is live has a message")
        process.send_signal(signal.SIGSTOP)
        stopped = seen_end(viewer.window())
        viewer.wait("an idle program gets older", lambda window: seen_end(window) > stopped + 2500)
        viewer.wait("its silence is told", lambda window: re.fullmatch(
            r"live, silent for \d+ s", window.texts.get("live", "")))
        process.send_signal(signal.SIGKILL)
        viewer.wait_seen("message")
        check(viewer.window().is_seen("picture"), "the picture is gone")
        check("ended by SIGKILL at" in exported(viewer), "the ruler doesn't tell the end")
        is_quiet(viewer)


def keeps_the_last(desktop):
    """A program whose clock runs 50 times as fast; its first seconds are forgotten."""
    file = os.path.join(desktop.folder, "hurry.thrum")
    with recorded(file, [program("tests", "gtk", "programs", "hurry"), file]):
        for view in "rows", "bands":
            viewer = shown(desktop, "--state", "as=" + view, file)
            viewer.wait("15 s are seen", lambda window: seen_end(window) > 15000)
            viewer.click("menu")
            viewer.click("menu-Keep-Last-10-s")
            viewer.wait("10 s are seen", lambda window: 8000 < seen_length(window) < 13000)
            later = seen_end(viewer.window()) + 5000
            viewer.wait("it goes on so", lambda window, later=later: seen_end(window) > later and
                        8000 < seen_length(window) < 13000)
            is_quiet(viewer)
            viewer.end()


def snapshots(desktop):
    with steady(desktop):
        viewer = shown(desktop, live_file(desktop))
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


def levels(file):
    """The levels of a program's categories, as the command tells them."""
    told = subprocess.run([os.environ["THRUM"], "ctl", file, "--status", "--format", "tsv"],
                          capture_output=True, text=True, check=True).stdout
    return {line.split("\t")[0]: line.split("\t")[2] for line in told.splitlines()}


def switches_categories(desktop):
    with steady(desktop):
        file = live_file(desktop)
        viewer = shown(desktop, file)
        viewer.click("categories")
        for name, level in ("wait", "off"), ("log", "debug"), ("wait", "on"), ("log", "all"):
            viewer.click(f"category-{name}-{level}")
            viewer.wait(f"{name} is {level}", lambda _, name=name, level=level:
                        levels(file)[name] == level)
        check(not viewer.window().is_seen("message"), "a change is told in a message")
        viewer.key("Escape")
        os.rename(file, file + ".away")
        viewer.click("categories")
        viewer.wait_seen("message")
        check("can't be opened for writing" in viewer.window().texts["message-words"],
              "the message has no reason")
        os.rename(file + ".away", file)
        is_quiet(viewer)


def scroll_to(viewer, name, scroller):
    """Turns the wheel until a row of a list is seen whole."""
    for _ in range(200):
        (_, top, _, height), (_, view, _, room) = (viewer.wait_seen(widget)[1]
                                                   for widget in (name, scroller))
        if view <= top and top + height <= view + room:
            return
        viewer.wheel(scroller, 1 if top < view else -1)
    raise AssertionError(f"{name} can't be scrolled to")


def attaches(desktop):
    """Others record, too; the wanted program is below those that the list has room for."""
    with contextlib.ExitStack() as others:
        for number in range(10):
            file = os.path.join(desktop.folder, f"other-{number}.thrum")
            others.enter_context(recorded(file, [program("tests", "thrum", "programs", "steady")],
                                          THRUM_TRACE=file, THRUM_SIZE="256K"))
        process = others.enter_context(steady(desktop))
        viewer = desktop.view()
        viewer.wait_seen("empty-attach")
        viewer.click("empty-attach")
        row = f"process-{process.pid}"
        scroll_to(viewer, row, "attach-scroller")
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


# ---- Bad files -------------------------------------------------------------------------------


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
    """Shows the intact part of a damaged recording, and a message for one without events."""
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


driver.run([live, keeps_the_last, snapshots, switches_categories, attaches, reloads, refuses,
            shows_the_rest])
