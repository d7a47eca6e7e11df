# SPDX-License-Identifier: ISC
"""What the tests of the desktop viewer have in common: traces, and what its state says."""

import contextlib
import os
import re
import subprocess
import time

import desktop as driver

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


@contextlib.contextmanager
def recorded(file, command, stdout=subprocess.DEVNULL, **environment):
    """A program that records to the file, as long as the with lasts; its process."""
    process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, **environment))
    try:
        until = time.monotonic() + driver.PATIENCE
        while not os.path.exists(file) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait()
        os.unlink(file)


def is_quiet(viewer):
    # GTK 4.8 says so of a button that was pressed while a menu went, on a slow machine.
    said = re.sub(r"\n\(.*Broken accounting of active state for widget.*\n", "", viewer.output())
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


def exported(viewer):
    """The picture, as SVG."""
    file = os.path.join(viewer.folder, "picture.svg")
    viewer.click("export")
    viewer.wait_dialog()
    viewer.key("ctrl+a")
    viewer.type(file)
    viewer.key("Return")
    viewer.wait("it is exported", lambda _: os.path.exists(file))
    viewer.settle()
    with open(file, encoding="utf-8") as text:
        picture = text.read()
    os.unlink(file)  # so that nothing is to be replaced the next time
    return picture


def coloured(desktop, colour, left, top, width, height):
    """How many of every seventh pixel of a part of the screen have a colour; needs ImageMagick."""
    pixels = subprocess.run(["import", "-window", "root", "-crop", f"{width}x{height}+{left}+{top}",
                             "-depth", "8", "rgb:-"], env=desktop.environment, check=True,
                            capture_output=True, timeout=driver.PATIENCE).stdout
    return sum(pixels[i:i + 3] == colour for i in range(0, len(pixels), 3 * 7))


def find(viewer, words):
    """A place on the picture where the status line names a task so."""
    (left, top), (right, bottom) = viewer.at("picture", 0, 0), viewer.at("picture", 1.0, 1.0)
    for across in 0.1, 0.5, 0.9:
        for part in range(10, 100, 3):
            viewer.desktop.xdotool("mousemove", round(left + across * (right - left)),
                                   round(top + part / 100 * (bottom - top)))
            viewer.take_in()
            if words in viewer.window().status:
                return across, part / 100
    raise AssertionError(f"\"{words}\" is nowhere: {viewer.window().status}")


TABS = {"details": 0.1, "tasks": 0.35, "statistics": 0.6, "slow": 0.87}


def page(viewer, name, inside):
    """Turns to a page of the pane by its tab."""
    viewer.click("pane-pages", TABS[name])
    viewer.wait_seen(inside)
