#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""tools/unicode.py [FOLDER] > src/base/utf8_columns.def: makes the table of characters that don't
take one column of a terminal. FOLDER holds EastAsianWidth.txt and UnicodeData.txt, such as Debian's
package unicode-data has them (/usr/share/unicode).

No columns: marks that combine (Mn, Me) and what formats (Cf) but the soft hyphen. Two columns: wide
and full-width characters (Unicode Standard Annex 11)."""

import sys

LAST = 0x10FFFF


def by_category(path):
    """The general category of each character, by code point."""
    categories = ["Cn"] * (LAST + 1)
    first = None
    for line in open(path, encoding="utf-8"):
        fields = line.split(";")
        code = int(fields[0], 16)
        if fields[1].endswith("First>"):
            first = code
            continue
        start = code if first is None else first
        categories[start:code + 1] = [fields[2]] * (code + 1 - start)
        first = None
    return categories


def wide(path):
    """The code points that are wide."""
    codes = set()
    for line in open(path, encoding="utf-8"):
        fields = line.split("#")[0].split(";")
        if len(fields) == 2 and fields[1].strip() in ("W", "F"):
            ends = [int(end, 16) for end in fields[0].strip().split("..")]
            codes.update(range(ends[0], ends[-1] + 1))
    return codes


def ranges(columns):
    """Stretches of neighbours that take the same number of columns, 0 or 2."""
    first = None
    for code in range(LAST + 2):
        here = columns[code] if code <= LAST else 1
        if first is not None and here != columns[first]:
            yield first, code - 1, columns[first]
            first = None
        if first is None and here != 1:
            first = code


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    categories = by_category(f"{folder}/UnicodeData.txt")
    version = open(f"{folder}/EastAsianWidth.txt", encoding="utf-8").readline()
    version = version.strip("# \n").removeprefix("EastAsianWidth-").removesuffix(".txt")
    columns = [1] * (LAST + 1)
    for code in wide(f"{folder}/EastAsianWidth.txt"):
        columns[code] = 2
    for code, category in enumerate(categories):
        if category in ("Mn", "Me", "Cf") and code != 0xAD:
            columns[code] = 0
    print("/* SPDX-License-Identifier: ISC */")
    print(f"/* Made by tools/unicode.py of Unicode {version}: X(first, last, columns). */")
    for first, last, count in ranges(columns):
        print(f"X(0x{first:x}, 0x{last:x}, {count})")


main()
