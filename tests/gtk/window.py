#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The desktop viewer, used as a person uses it: with mouse and keyboard, on a display of its own."""

import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
import desktop as driver  # pylint: disable=wrong-import-position

BUILD = os.environ["BUILD"]
SECOND = 10**9


def check(right, what):
    if not right:
        raise AssertionError(what)


def program(*parts):
    return os.path.join(BUILD, *parts)


def record(desktop, name="lost_reply", *arguments):
    """A recording with one finding: a client (3) waits for a reply (4) that card (2) has given."""
    file = os.path.join(desktop.folder, name + "".join(arguments) + ".thrum")
    if not os.path.exists(file):
        subprocess.run([program("tests", "why", "programs", name), file, *arguments], check=False)
    return file


def is_quiet(viewer):
    said = viewer.output()
    check("WARNING" not in said and "CRITICAL" not in said, f"it says: {said}")


def shown(desktop, *arguments, **environment):
    viewer = desktop.view(*(arguments or [record(desktop)]), **environment)
    viewer.wait_shown()
    # The pane is filled anew when its numbers are there.
    viewer.wait("it has details", lambda window: any(
        name.startswith("pair-") for name in window.places))
    return viewer


def window_of(state):
    """What the state says of the window of time, in ns; None: all."""
    found = re.search(r"(?:^|&)t=(-?\d+)\.\.(-?\d+)", state)
    return (int(found[1]), int(found[2])) if found else None


def selected(state):
    found = re.search(r"(?:^|&)sel=(\d+)", state)
    return int(found[1]) if found else None


def wait_selected(viewer, task):
    viewer.wait(f"task {task} is selected", lambda window: selected(window.state) == task)


def find(viewer, words):
    """A place on the picture where the status line names a task so."""
    (left, top), (right, bottom) = viewer.at("picture", 0, 0), viewer.at("picture", 1.0, 1.0)
    for part in range(10, 100, 2):
        for across in 0.1, 0.5, 0.9:
            viewer.desktop.xdotool("mousemove", round(left + across * (right - left)),
                                   round(top + part / 100 * (bottom - top)), "sleep", 0.08)
            if words in viewer.window().status:
                time.sleep(0.1)
                if words in viewer.window().status:
                    return across, part / 100
    raise AssertionError(f"\"{words}\" is nowhere: {viewer.window().status}")


# ---- Looking around ------------------------------------------------------------------------------


def opens(desktop):
    begin = time.monotonic()
    viewer = desktop.view(record(desktop))
    viewer.wait("there is a window", lambda window: window.title)
    viewer.wait_shown()
    check(time.monotonic() - begin < driver.PATIENCE / 2, "it takes its time")
    viewer.wait("the finding is told", lambda window: window.is_seen("show-finding-0"))
    check("lost_reply.thrum" in viewer.window().title, viewer.window().title)
    is_quiet(viewer)


def zooms(desktop):
    viewer = shown(desktop)
    viewer.point("picture", 0.5, 0.5)
    viewer.wait("a time is told", lambda window: "·" in window.status)
    before = viewer.window().status.split(" · ")[0]
    viewer.wheel("picture", 2)
    viewer.wait("the window is smaller", lambda window: window_of(window.state))
    viewer.settle()
    start, end = window_of(viewer.window().state)
    check(end - start < 5 * SECOND, "zooming in shows more")
    after = viewer.window().status.split(" · ")[0]
    # What the pointer is on stays below it; more digits of its time may be told.
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
    viewer.key("i")
    viewer.wait("i unfolds", lambda window: "fold" in window.state)
    viewer.click("fold")
    viewer.wait("the button folds", lambda window: "fold=2" not in window.state)
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


def menu(desktop):
    viewer = shown(desktop)
    place = find(viewer, "client")
    viewer.click("picture", *place, button=3)
    viewer.wait_seen("popup")
    viewer.key("Down", "Return")
    wait_selected(viewer, 3)
    viewer.click("picture", 0.5, 0.97)
    viewer.wait("a click beside it clears", lambda window: selected(window.state) is None)
    viewer.click("picture", *place)
    wait_selected(viewer, 3)
    viewer.click("picture", *place, times=2)
    viewer.wait("a double click fades the rest", lambda window: "related" in window.state)
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


# ---- The pane ------------------------------------------------------------------------------------


def links(desktop):
    viewer = shown(desktop)
    viewer.click("show-finding-0")
    viewer.wait("the finding is shown", lambda window: window_of(window.state))
    viewer.key("f")
    viewer.click("picture", *find(viewer, "client"))
    wait_selected(viewer, 3)
    viewer.wait_seen("pair-Waits-for")
    viewer.click("pair-Waits-for", 6)
    wait_selected(viewer, 4)
    viewer.key("BackSpace")
    wait_selected(viewer, 3)
    is_quiet(viewer)


def page(viewer, name, inside):
    """Turns to a page of the pane by its tab."""
    tab = {"details": 0.15, "tasks": 0.5, "statistics": 0.85}[name]
    viewer.click("pane-pages", tab)
    viewer.wait_seen(inside)


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
    for _ in range(5):
        viewer.click("statistics-of")
        viewer.key("Down", "Return")
        viewer.wait_seen("statistics")
    check(not viewer.window().is_seen("chart"), "a chart of runs")
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


def exports(desktop):
    viewer = shown(desktop)
    file = os.path.join(viewer.folder, "picture.svg")
    viewer.click("export")
    viewer.key("ctrl+a")
    viewer.type(file)
    viewer.key("Return")
    until = time.monotonic() + driver.PATIENCE
    while not os.path.exists(file) and time.monotonic() < until:
        time.sleep(0.05)
    check(os.path.exists(file), "nothing was exported")
    time.sleep(0.1)
    with open(file, encoding="utf-8") as text:
        check("client" in text.read(), "the picture has no client")
    is_quiet(viewer)


def state(desktop):
    viewer = shown(desktop, "--state", "t=1000000..6000000&sel=3", record(desktop))
    viewer.wait("it shows what the text says", lambda window:
                window_of(window.state) == (1000000, 6000000) and selected(window.state) == 3)
    viewer.key("question")
    viewer.wait("the keys are told", lambda _: len(viewer.windows()) == 2)
    is_quiet(viewer)


# ---- What is written -----------------------------------------------------------------------------


class Recorded:
    """A program that records, as long as the with lasts."""

    def __init__(self, desktop):
        self.file = os.path.join(desktop.folder, "live.thrum")
        server = program("examples", "server", "server")
        self.command = [server, "--seconds", "60"] if os.path.exists(server) else [
            program("tests", "thrum", "programs", "steady")]

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


def live(desktop):
    with Recorded(desktop) as recorded:
        viewer = shown(desktop, str(recorded.process.pid))
        first = seen_end(viewer.window())
        viewer.wait("new events come", lambda window: seen_end(window) > first + 300)
        viewer.click("pause")
        time.sleep(0.4)
        paused = seen_end(viewer.window())
        time.sleep(0.4)
        check(seen_end(viewer.window()) == paused, "paused it goes on")
        viewer.click("pause")
        viewer.wait("it goes on", lambda window: seen_end(window) > paused)
        check(not viewer.window().is_seen("message"), "what is live has a message")
        recorded.process.send_signal(signal.SIGKILL)
        viewer.wait_seen("message")
        check(viewer.window().is_seen("picture"), "the picture is gone")
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


driver.run([opens, zooms, searches, menu, goes_to_a_time, links, tasks, statistics, two_traces,
            exports, state, live, attaches, reloads, refuses, shows_the_rest])
