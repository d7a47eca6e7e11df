#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes fuzz/seeds/bundle/ from the seeds of thrum_trace: archives of two or three recordings."""

import io
import os
import struct
import tarfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")


def recording(name):
    with open(os.path.join(HERE, "thrum_trace", name), "rb") as file:
        return file.read()


def bundle(*names, clocks=b""):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for i, name in enumerate(names):
            content = recording(name)
            entry = tarfile.TarInfo(f"{i}-{name}.thrum")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        if clocks:
            entry = tarfile.TarInfo("thrum.clocks")
            entry.size = len(clocks)
            archive.addfile(entry, io.BytesIO(clocks))
    return file.getvalue()


def main():
    names = sorted(os.listdir(os.path.join(HERE, "thrum_trace")), key=lambda name: len(recording(name)))
    small = names[:6]
    seeds = {"two": bundle(*small[:2]), "three": bundle(*small[2:5]), "twice": bundle(small[0], small[0]),
             "cut": bundle(*small[:2])[:9000],
             "clocks": bundle(*small[:2], clocks=struct.pack("<2Q4q", 1, 2, 3, 4, 5, 6) * 3)}
    os.makedirs(os.path.join(HERE, "bundle"), exist_ok=True)
    for name, content in seeds.items():
        with open(os.path.join(HERE, "bundle", name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
