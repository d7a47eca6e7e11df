#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""measure.py BUILD: measures how long the desktop viewer takes to show traces and to make frames,
and its CPU time when nothing happens and when it follows a program. The display has no GPU (Xvfb).
"""

import glob
import os
import statistics
import struct
import subprocess
import sys
import time

SOURCE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
os.environ["BUILD"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(SOURCE, "tests", "gtk", "driver"))
import desktop as driver  # pylint: disable=wrong-import-position

BUILD = os.environ["BUILD"]
WIDTH, HEIGHT = 1600, 900  # of the picture
TICKS = os.sysconf("SC_CLK_TCK")


def row(name, figure, limit=None, unit="ms"):
    said = "" if limit is None else f"  limit {limit} {'ok' if figure <= limit else 'OVER'}"
    print(f"  {name:<44} {figure:9.1f} {unit}{said}", flush=True)


def cpu(pid):
    """The CPU time of a process in seconds."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def real(name):
    """The path of a real trace, or None."""
    folders = [os.environ.get("THRUM_MIRAGE_DATA", "")]
    folders += glob.glob(os.path.join(SOURCE, "..", "*", "data", "mirage"))
    for folder in folders:
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


class Frames:
    """The frames of a viewer from now on."""

    def __init__(self, file):
        self.file = file
        self.count = len(self.all())

    def all(self):
        """The numbers of each frame, as apps/gtk/picture/frames.h tells."""
        if not os.path.exists(self.file):
            return []
        with open(self.file, encoding="ascii") as lines:
            return [tuple(map(int, line.split())) for line in lines if line.endswith("\n")]

    def new(self):
        """The durations and the CPU times of the new frames, each sorted, in ms."""
        return [sorted(time / 1000 for time in times)
                for times in list(zip(*self.all()[self.count:]))[:2]]

    def updates(self):
        """The new frames that showed more than those before: their time, the time that they show,
        events, lost places."""
        frames = [frame[2:] for frame in self.all()[self.count:]]
        return [frame for before, frame in zip(frames, frames[1:]) if frame[1] > before[1]]


def has_findings(file):
    done = subprocess.run([os.path.join(BUILD, "thrum"), "why", file], check=False,
                          stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        sys.exit(f"measure: thrum why {file} fails")
    return done.returncode == 1


def show(desktop, file):
    """Opens a viewer whose picture has the size of the figures. Returns it with the file of its
    frames; the ms until the window, the trace and its findings (0: it has none) were visible, and the
    CPU time until the trace was; and the size of the picture."""
    finds = has_findings(file)
    frames = os.path.join(desktop.folder, "frames")
    if os.path.exists(frames):
        os.unlink(frames)
    begin = time.monotonic()
    viewer = desktop.view(file, THRUM_GTK_FRAMES=frames)
    viewer.wait("there is a window", lambda window: window.title)
    took = [time.monotonic() - begin]
    viewer.wait_shown()
    took.append(time.monotonic() - begin)
    ran = cpu(viewer.process.pid)
    if finds:
        viewer.wait("the findings are told", lambda window: window.is_seen("findings"))
    took.extend([time.monotonic() - begin if finds else 0, ran])
    viewer.key("F9")
    _, (_, _, width, height) = viewer.wait_seen("picture")
    number, _, _, whole_width, whole_height = viewer.shape()
    desktop.xdotool("windowsize", number, whole_width + WIDTH - width,
                    whole_height + HEIGHT - height)
    viewer.settle()
    _, (_, _, width, height) = viewer.wait_seen("picture")
    return viewer, frames, [seconds * 1000 for seconds in took], (width, height)


def look_around(viewer):
    """Zooms in and out at several places, pans, goes through the tracks: each key is ten frames."""
    for across in 0.5, 0.2, 0.8:
        viewer.point("picture", across, 0.5)
        for keys in ["plus"] * 6, ["Right"] * 3, ["Down"] * 2, ["minus"] * 4, ["Left"] * 3:
            viewer.desktop.xdotool("key", "--delay", 120, *keys)
        viewer.desktop.xdotool("click", "--repeat", 20, "--delay", 20, 4)
        viewer.desktop.xdotool("click", "--repeat", 20, "--delay", 20, 5)
        viewer.desktop.xdotool("key", "--delay", 200, "i", "e", "e", "i", "r", "r", "f")
    viewer.settle()


def frames_of(desktop, name, file, limit):
    viewer, record, took, size = show(desktop, file)
    print(f"{name}: picture of {size[0]} × {size[1]}")
    row("window visible", took[0], 200 if limit == 20 else None)
    row("trace visible", took[1], None if limit == 20 else 2000)
    if took[2] > 0:
        row("findings visible", took[2])
    row("CPU time until the trace is visible", took[3])
    frames, server = Frames(record), cpu(desktop.server.pid)
    look_around(viewer)
    times, ran = frames.new()
    row(f"frame, median of {len(times)}", statistics.median(times))
    row("frame, 99 of 100 within", times[len(times) * 99 // 100], limit)
    row("frame, longest", times[-1])
    row("its CPU time, median", statistics.median(ran))
    row("its CPU time, 99 of 100 within", ran[len(ran) * 99 // 100])
    row("its CPU time, longest", ran[-1])
    row("CPU time of the display for it, mean",
        (cpu(desktop.server.pid) - server) * 1000 / len(times))
    viewer.end()
    desktop.viewers.remove(viewer)
    row("CPU when nothing happens", idle(desktop, file, took[1]), 1, "%")


def idle(desktop, file, took):
    """CPU in percent of a core, of a viewer that doesn't write its places for tests."""
    process = subprocess.Popen([os.path.join(BUILD, "thrum-gtk"), file], env=desktop.environment)
    time.sleep(3 + 2 * took / 1000)
    before = cpu(process.pid)
    time.sleep(5)
    used = cpu(process.pid) - before
    process.kill()
    process.wait()
    return used / 5 * 100


def say_behind(updates, recorded, last):
    """Prints how far the viewer is behind a program that recorded so many events until `last`."""
    behind = sorted((at - until) / 1e6 for at, until, _, _ in updates if at <= last)
    at, until, events, _ = [update for update in updates if update[0] <= last][-1]
    row(f"an update is behind, median of {len(behind)}", statistics.median(behind))
    row("an update is behind, 99 of 100 within", behind[len(behind) * 99 // 100], 500)
    row("behind when it was killed", (last - until) / 1e6, 500)
    row("behind when it was killed, events", recorded - events, unit="")
    at, until, events, lost = updates[-1]
    row("all is visible after", max(at - last, 0) / 1e6, 500)
    row("its last time, by both clocks, differs by", abs(until - last) / 1e6)
    row("events recorded", recorded, unit="")
    row("of these never shown", max(recorded - events, 0), 0, "")
    row("places where some are lost", lost, 0, "")


def follow(desktop, rate, limit):
    """Follows a program that records `rate` events a second, in a viewer that writes no places."""
    file = os.path.join(desktop.folder, "flood.thrum")
    program = subprocess.Popen([os.path.join(BUILD, "bench", "gtk", "flood"), file, str(rate)])
    time.sleep(1.5)  # until its clock is calibrated
    record = os.path.join(desktop.folder, "frames")
    viewer = subprocess.Popen([os.path.join(BUILD, "thrum-gtk"), file],
                              env=dict(desktop.environment, THRUM_GTK_FRAMES=record))
    print(f"following {rate:,} events/s")
    time.sleep(4)
    frames = Frames(record)
    before, begin = cpu(viewer.pid), time.monotonic()
    time.sleep(8)
    used = (cpu(viewer.pid) - before) / (time.monotonic() - begin)
    row("CPU, of one core", used * 100, limit, "%")
    program.kill()
    program.wait()
    time.sleep(5)
    with open(file + ".said", "rb") as said:
        say_behind(frames.updates(), *struct.unpack("QQ", said.read()))
    viewer.kill()
    viewer.wait()


def main():
    driver.PATIENCE = 120
    reason = driver.missing()
    if reason:
        print(f"left out: {reason}")
        return
    with driver.Desktop(1800, 1200) as desktop:
        net = real("net.ctf")
        if net:
            frames_of(desktop, "net", net, 20)
        else:
            print("net: left out: THRUM_MIRAGE_DATA has no net.ctf")
        big = os.path.join(desktop.folder, "big.thrum")
        subprocess.run([os.path.join(BUILD, "bench", "web", "recording"), big, "10000000"],
                       check=True)
        frames_of(desktop, "10 million events", big, 25)
        follow(desktop, 100_000, None)
        follow(desktop, 1_000_000, 50)


main()
