#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The standard views of bands: the window paints what `thrum render` does."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"))
# pylint: disable=wrong-import-position
import desktop as driver
from common import check, is_quiet, program

MOST = 0.02  # of the pixels that may differ: edges of letters
VIEWS = os.path.join(os.environ["SOURCE"], "tests", "support", "views")


def state_of(name):
    with open(VIEWS, encoding="utf-8") as file:
        return dict(line.split() for line in file if not line.startswith("#"))[name]


def look(desktop, name):
    if not shutil.which("compare"):
        print("skipped: ImageMagick isn't installed")
        return
    trace, rendered, seen = (os.path.join(desktop.folder, file)
                             for file in ("queued.thrum", "rendered.png", "seen.png"))
    if not os.path.exists(trace):
        subprocess.run([program("tests", "thrum", "programs", "queued"), trace], check=True)
    viewer = desktop.view("--state", state_of(name), trace)
    viewer.wait_shown()
    desktop.xdotool("mousemove", 0, 0)
    viewer.settle()
    left, top = viewer.at("picture", 0, 0)
    right, bottom = viewer.at("picture", 1.0, 1.0)
    width, height = right - left, bottom - top
    subprocess.run([program("thrum"), "render", trace, "--view=" + state_of(name), "-o", rendered,
                    f"--width={width}", f"--height={height}"], check=True)

    def is_alike(_):
        desktop.picture(seen)
        compared = subprocess.run(
            ["compare", "-metric", "AE", "-fuzz", "25%", f"{seen}[{width}x{height}+{left}+{top}]",
             rendered, "null:"],
            capture_output=True, text=True, timeout=driver.PATIENCE, check=False)
        check(compared.returncode <= 1, compared.stderr)
        return float(compared.stderr.split()[0]) < MOST * width * height
    viewer.wait("the window's picture is as the rendered one", is_alike)
    if name == "range":
        viewer.wait("a range is told in words",
                    lambda window: "these 100 ms" in window.texts["picture"] and
                    "Greatest differences, " in window.texts["picture"])
        viewer.key("Escape")
        viewer.wait("without a range there are none",
                    lambda window: window.texts["picture"].startswith("shown: "))
    is_quiet(viewer)
    viewer.end()


def whole(desktop):
    look(desktop, "whole")


def zoomed(desktop):
    look(desktop, "zoomed")


def opened(desktop):
    look(desktop, "opened")


def story(desktop):
    look(desktop, "story")


def of_range(desktop):
    look(desktop, "range")


driver.run([whole, zoomed, opened, story, of_range])
