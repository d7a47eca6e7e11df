#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""At least 90 % of the names in the demo's first frame say something other than a bare id."""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

thrum = os.environ["THRUM"]
server = os.path.join(os.environ["BUILD"], "examples", "server")
# A task without a label and a call site has its kind and its id as its name.
BARE = re.compile(r"^(‹ )?[a-z_]+ -?\d+…?$")
LABELS = re.compile(r"^(‹ )?(client|loop|report) \d+…?$")  # the example's own
FONTS = {"label", "strong", "note"}


def names(svg):
    """Each text, with the class of its group."""
    for group in tree.parse(svg).getroot().iter("{http://www.w3.org/2000/svg}g"):
        for text in group.iter("{http://www.w3.org/2000/svg}text"):
            yield group.get("class") or "", "".join(text.itertext())


if not os.access(server, os.X_OK):
    print("skipped: the example server is not built, which needs libuv")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    trace, svg = os.path.join(folder, "server.thrum"), os.path.join(folder, "server.svg")
    subprocess.run([thrum, "record", "-o", trace, "--size=1M", "--", server, "--threads=3",
                    "--seconds=1", "--hang"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60, check=True)
    subprocess.run([thrum, "render", trace, "-o", svg], timeout=60, check=True)
    found = list(names(svg))
    said = [text for style, text in found if FONTS & set(style.split())]
bare = [text for text in said if BARE.match(text) and not LABELS.match(text)]
print(f"{len(said)} names, {len(bare)} bare: {bare[:5]}")
if len(said) < 5:
    print(f"hardly any names in the picture; its texts are {found[:10]}")
    sys.exit(1)
if len(bare) > len(said) / 10:
    sys.exit(1)
