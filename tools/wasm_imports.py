#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""wasm_imports.py FILE MODULE.NAME...: fails if a wasm file imports anything but these."""

import sys


def imports(data):
    """Yields "module.name" for each import: WebAssembly core 1.0, section 5.5.5."""
    at = 8

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def name():
        nonlocal at
        size = number()
        at += size
        return data[at - size:at].decode()

    assert data[:8] == b"\0asm\1\0\0\0", "no wasm module"
    while at < len(data):
        kind = number()
        end = number() + at
        if kind == 2:
            for _ in range(number()):
                yield f"{name()}.{name()}"
                form = number()
                assert form == 0, "something other than a function is imported"
                number()
        at = end


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    found = sorted(imports(data))
    wrong = [name for name in found if name not in sys.argv[2:]]
    print(f"{sys.argv[1]}: {len(data):,} bytes, imports: {' '.join(found) or 'none'}")
    if wrong:
        sys.exit(f"imports too much: {' '.join(wrong)}")


main()
