#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The standard views of bands as SVG: how much of each colour there is, and the texts, compared with
golden/views. After a wanted change: UPDATE=1 THRUM=build/thrum BUILD=build SOURCE=. python3
tests/thrum/views.py, and look at the diff, and at the pictures that `thrum render` makes."""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SOURCE = os.environ["SOURCE"]
GOLDEN = os.path.join(SOURCE, "tests", "thrum", "golden", "views")
RECT = re.compile(r"h(\d+)v(\d+)")
OFF = 0.03  # of an area, since the places of texts and their grounds depend on fonts


def views():
    with open(os.path.join(SOURCE, "tests", "support", "views"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                yield line.split()


def drawn(file, state):
    """Lines of the picture's colours with the area of their rectangles, and of its texts."""
    picture = subprocess.run([os.environ["THRUM"], "render", file, "--format=svg", "--output=-",
                              "--width=1000", "--height=560", "--view=" + state],
                             check=True, capture_output=True).stdout
    areas, texts = {}, set()
    for element in xml.etree.ElementTree.fromstring(picture).iter():
        if element.tag.endswith("path") and element.get("fill", "none") != "none":
            area = sum(int(width) * int(height)
                       for width, height in RECT.findall(element.get("d")))
            areas[element.get("fill")] = areas.get(element.get("fill"), 0) + area
        elif element.tag.endswith("}text"):
            texts.add("".join(element.itertext()))
    return [f"{colour} {area}" for colour, area in sorted(areas.items())], sorted(texts)


def is_near(line, wanted):
    (colour, area), (other, size) = line.split(), wanted.split()
    return colour == other and abs(int(area) - int(size)) <= OFF * int(size) + 20


def compare(name, got, wanted):
    """Says what differs; returns whether all is as wanted."""
    (areas, texts), (old_areas, old_texts) = got, wanted
    right = len(areas) == len(old_areas) and all(map(is_near, areas, old_areas))
    if not right:
        print(f"{name}: the colours are {areas}, not {old_areas}")
    # A few texts have room with some fonts only.
    odd = set(texts) ^ set(old_texts)
    if len(odd) > 2:
        print(f"{name}: these texts are new or gone: {sorted(odd)}")
    return right and len(odd) <= 2


def read_golden():
    found = {}
    with open(GOLDEN, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("view "):
                areas, texts = found[line[5:]] = [], []
            else:
                (areas if line.startswith("#") else texts).append(line.removeprefix("text "))
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "queued.thrum")
        subprocess.run([os.path.join(os.environ["BUILD"], "tests", "thrum", "programs", "queued"),
                        file], check=True)
        got = {name: drawn(file, state) for name, state in views()}
    if os.environ.get("UPDATE"):
        with open(GOLDEN, "w", encoding="utf-8") as golden:
            for name, (areas, texts) in got.items():
                lines = ["view " + name, *areas, *("text " + text for text in texts)]
                golden.write("\n".join(lines) + "\n")
    wanted = read_golden()
    if list(got) != list(wanted):
        sys.exit(f"golden/views has {list(wanted)}")
    sys.exit(not all([compare(name, got[name], wanted[name]) for name in got]))


main()
