#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""All places that tell the version, the date of the release or a library's soversion tell the same."""

import email.utils
import glob
import os
import re
import sys

SOURCE = os.environ["SOURCE"]
METAINFO = "data/io.github.thrum.Thrum.metainfo.xml"


def read(path):
    with open(f"{SOURCE}/{path}", encoding="utf-8") as file:
        return file.read()


def first(pattern, text):
    found = re.search(pattern, text, flags=re.M)
    return found.group(1) if found else "none"


def versions(texts):
    yield "meson.build", first(r"^\tversion: '(.*)'", texts["meson.build"])
    yield "CHANGES.md", first(r"^## (\S+)", texts["CHANGES.md"])
    yield "debian/changelog", first(r"^thrum \((.*?)\)", texts["debian/changelog"])
    yield METAINFO, first(r'<release version="(.*?)"', texts[METAINFO])


def dates(texts):
    sent = email.utils.parsedate_tz(first(r"^ -- .*>  (.*)", texts["debian/changelog"]))
    yield "debian/changelog", "%d-%02d-%02d" % sent[:3] if sent else "none"
    yield METAINFO, first(r'<release .*?date="(.*?)"', texts[METAINFO])
    months = "January February March April May June July August September October November December".split()
    for page in [path for path in texts if path.startswith("man/")]:
        month, day, year = first(r"^\.Dd (.*)", texts[page]).replace(",", "").split()
        yield page, "%s-%02d-%02d" % (year, months.index(month) + 1, int(day))


def libraries(texts):
    """Yields each shared library with a soversion, and that."""
    source = texts["src/meson.build"]
    for name, body in re.findall(r"= library\('([\w-]+)',(.*?)install: true\)", source, flags=re.S):
        yield name, first(r"soversion: '(.*?)'", body)


def differing(what, found):
    found = list(found)
    if len({value for _, value in found}) > 1:
        yield f"{what}: " + ", ".join(f"{path} has {value}" for path, value in found)


def errors(texts):
    yield from differing("the version", versions(texts))
    yield from differing("the date of the release", dates(texts))
    for name, number in libraries(texts):
        package = f"lib{name}{number}"
        node = f"{name.replace('-', '_').upper()}_{number}"
        for path, wanted in (
            ("debian/control", f"Package: {package}\n"),
            (f"debian/{package}.install", f"usr/lib/*/lib{name}.so.{number}*\n"),
            (f"debian/{package}.symbols", f"lib{name}.so.{number} {package} #MINVER#\n (symver){node} "),
            (f"src/{name}.map", f"{node} {{\n"),
        ):
            if wanted not in texts.get(path, ""):
                yield f"lib{name} has soversion {number}, but {path} lacks {wanted.strip()!r}"


def main():
    paths = ["meson.build", "src/meson.build", "CHANGES.md", METAINFO, "debian/changelog", "debian/control"]
    for pattern in ("debian/lib*.install", "debian/lib*.symbols", "src/*.map", "man/*.[13]"):
        paths += [os.path.relpath(path, SOURCE) for path in glob.glob(f"{SOURCE}/{pattern}")]
    texts = {path: read(path) for path in paths}

    # The check must be able to fail, at each place.
    assert len(list(libraries(texts))) == 4
    version = dict(versions(texts))["meson.build"]
    changes = [(path, version, "99.1") for path, _ in versions(texts)]
    changes += [(path, "20", "19") for path, _ in dates(texts)]
    changes += [(f"src/{name}.map", f"_{number}", "_99") for name, number in libraries(texts)]
    changes += [("src/meson.build", "soversion: '", "soversion: '9"),
                ("debian/control", "Package: libthrum", "Package: lib")]
    for path, old, new in changes:
        if not list(errors({**texts, path: texts[path].replace(old, new)})):
            print(f"the check doesn't see {new} for {old} in {path}")
            return 1

    found = list(errors(texts))
    print("\n".join(found))
    return bool(found)


sys.exit(main())
