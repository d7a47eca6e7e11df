#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Holds that the models in verify/ speak of the code as it is: each file and function that a comment
names is there, and the functions in order.pml's table have the barriers that the table lists, no more and
no fewer."""

import glob
import os
import re
import sys

TOP = os.environ.get("SOURCE", ".")
ROW = re.compile(r"^ \*   ([A-Z_]+) +(src/\S+) +(\w+) +(\S.*)$", re.M)
BARRIER = re.compile(r"memory_order_(?:release|acq_rel|seq_cst)|__ATOMIC_(?:RELEASE|ACQ_REL|SEQ_CST)"
                     r"|atomic_thread_fence\(memory_order_acquire\)|atomic_compare_exchange_strong\(cell,")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def body(text, function):
    """The function's definition, or None."""
    found = re.search(rf"^\w[^\n;=]*\b{function}\([^;{{]*\)\n{{\n.*?^}}", text, re.M | re.S)
    return found and found.group()


def missing_names(path, everything):
    """What a model's comments name and the code doesn't have."""
    comments = " ".join(re.findall(r"/\*.*?\*/", read(path), re.S))
    for file in sorted(set(re.findall(r"\bsrc/[\w/]+\.[ch]\b", comments))):
        if not os.path.exists(os.path.join(TOP, file)):
            yield f"{path}: there is no {file}"
    for name in sorted(set(re.findall(r"\b([a-z_]+)\(\)", comments))):
        if not re.search(rf"\b(?:\w+__\w+_)?{name}\(", everything):
            yield f"{path}: no function {name}() in src/"


def wrong_barriers(path):
    """Where the table of barriers and the code differ."""
    model = read(path)
    texts = {}
    for name, file, function, text in ROW.findall(model):
        if not re.search(rf"^#define {name}\s+\(MUTATION != \d+\)$", model, re.M):
            yield f"{path}: {name} isn't defined"
        texts.setdefault((file, function), set()).add(text.strip())
    if not texts:
        yield f"{path}: no table of barriers"
    for (file, function), listed in texts.items():
        code = body(read(file), function)
        if not code:
            yield f"{path}: {file} has no function {function}"
            continue
        for text in sorted(listed):
            if text not in code:
                yield f"{path}: {function} in {file} has no {text}"
        count, expected = len(BARRIER.findall(code)), sum(code.count(text) for text in listed)
        if count != expected:
            yield f"{path}: {function} in {file} has {count} barriers, the table {expected}"


def main():
    everything = "\n".join(read(os.path.relpath(file, TOP))
                           for file in glob.glob(os.path.join(TOP, "src/**/*.[ch]"), recursive=True))
    wrong = []
    for path in sorted(glob.glob(os.path.join(TOP, "verify/*.pml"))):
        wrong += missing_names(os.path.relpath(path, TOP), everything)
    wrong += wrong_barriers("verify/order.pml")
    print("\n".join(wrong) or "the models name the code as it is")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
