#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""window-pictures.py BUILD FOLDER: makes screenshots of the desktop viewer for review, with the
views of tools/page-pictures.mjs in FOLDER: window-NAME.png, and both-NAME.png with the page's beside
it. Prints how many pixels of the picture itself differ by a quarter of the colour range or more;
page and window draw text by different means."""

import json
import os
import re
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ["BUILD"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(SOURCE, "tests", "gtk", "driver"))
# pylint: disable=wrong-import-position
import desktop as driver

VIEWS = ["page", "zoomed", "server", "tasks", "statistics", "dark"]


def fit(viewer, width, height):
    """Resizes the window until its picture has this size."""
    for _ in range(5):
        viewer.settle()
        _, (_, _, now_width, now_height) = viewer.wait_seen("picture")
        if (now_width, now_height) == (width, height):
            return
        number, _, _, all_width, all_height = viewer.shape()
        viewer.desktop.xdotool("windowsize", "--sync", number, all_width + width - now_width,
                               all_height + height - now_height)
        time.sleep(0.3)
    raise AssertionError(f"the picture can't have {width} by {height}")


def take(desktop, folder, name):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        page = json.load(file)
    area = [round(page[key]) for key in ("width", "height", "x", "y")]
    viewer = desktop.view("--state", page["state"], page["recording"])
    viewer.wait_shown()
    fit(viewer, area[0], area[1])
    desktop.xdotool("mousemove", 0, 0)
    time.sleep(0.6)  # until blinking has ended
    viewer.settle()
    number, _, _, width, height = viewer.shape()
    screen = os.path.join(folder, f"window-{name}.png")
    subprocess.run(["import", "-window", str(number), screen], env=desktop.environment, check=True)
    subprocess.run(["convert", os.path.join(folder, name + ".png"), screen, "+append",
                    os.path.join(folder, f"both-{name}.png")], check=True)
    left, top = viewer.wait_seen("picture")[1][:2]
    crops = []
    for source, x, y in (f"{folder}/{name}.png", area[2], area[3]), (screen, left, top):
        crops.append(os.path.join(viewer.folder, os.path.basename(source)))
        subprocess.run(["convert", source, "-crop", f"{area[0]}x{area[1]}+{x}+{y}", "+repage",
                        crops[-1]], check=True)
    told = subprocess.run(["compare", "-metric", "AE", "-fuzz", "25%", *crops,
                           os.path.join(folder, f"difference-{name}.png")],
                          capture_output=True, text=True, check=False).stderr
    print(f"{name}: {100 * float(re.split('[ (]', told)[0]) / area[0] / area[1]:.2f} % differ, "
          f"{width} by {height}")
    viewer.end()


def main():
    folder = os.path.abspath(sys.argv[2])
    reason = driver.missing()
    if reason:
        sys.exit(f"window-pictures: {reason}")
    with driver.Desktop(1600, 900) as desktop:
        for name in VIEWS:
            take(desktop, folder, name)


main()
