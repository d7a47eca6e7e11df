#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The shared libraries export what the public headers declare: nothing more, nothing less."""

import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ["SOURCE"]
BUILD = os.environ["BUILD"]
# Some things are declared in thrum.h, but both libraries have them.
SHARED = {"thrum_error_message"}
LIBRARIES = {
    "libthrum.so": ("thrum.h", "THRUM_0"),
    "libthrum-trace.so": ("thrum/trace.h", "THRUM_TRACE_0"),
    "libthrum-promise.so": ("thrum/promise.h", "THRUM_PROMISE_0"),
    "libthrum-xen.so": ("thrum/xen.h", "THRUM_XEN_0"),
}


def declared(text):
    """Names that a header's text declares with an API macro."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#(?:[^\n\\]|\\.|\\\n)*", " ", text, flags=re.S | re.M)
    names = set()
    for declaration in re.findall(r"\bTHRUM__(?:API|PROMISE|TRACE)\b([^;{]*)", text):
        declaration = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", declaration, flags=re.S)
        match = re.search(r"\b(thrum_\w+)\s*\(", declaration) or \
            re.search(r"\b(thrum_\w+)\s*(?:\[.*)?$", declaration.strip())
        names.add(match.group(1) if match else f"(not understood: {declaration.strip()})")
    return names


def exported(library):
    """Names and versions of what a shared library defines for others."""
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    names = {}
    for line in lines:
        _, kind, name = line.split(None, 2)
        if kind != "A":
            name, _, version = name.partition("@@")
            names[name] = version
    return names


def faults(wanted, names, version):
    for name in sorted(wanted - set(names)):
        yield f"{name} is declared, but not exported"
    for name in sorted(set(names) - wanted - SHARED):
        yield f"{name} is exported, but not declared"
    for name in sorted(names):
        if names[name] != version:
            yield f"{name} has the version {names[name] or '(none)'}"


def self_test():
    text = ("#define THRUM__API extern\n/* THRUM__API int thrum_no(void); */\n"
            "THRUM__API const char *thrum_a(int, void (*f)(int));\n"
            "THRUM__API THRUM__MUST_USE int thrum_b(\n\tint x);\nTHRUM__API struct thrum__s thrum__c;\n"
            "THRUM__API void thrum_d(const char *, ...) __attribute__((format(printf, 1, 2)));\n")
    assert declared(text) == {"thrum_a", "thrum_b", "thrum__c", "thrum_d"}, declared(text)
    assert not list(faults({"thrum_a"}, {"thrum_a": "V"}, "V"))
    assert len(list(faults({"thrum_a"}, {"thrum_b": ""}, "V"))) == 3


def main():
    self_test()
    if not shutil.which("nm"):
        print("skipped: nm is missing")
        return 77
    if os.environ["SANITIZE"] != "none":
        print("skipped: sanitizers add symbols of their own")
        return 77
    failed = False
    tried = 0
    for library, (header, version) in LIBRARIES.items():
        path = os.path.join(BUILD, "src", library)
        if not os.path.exists(path):
            print(f"skipped: {library} is not built")
            continue
        tried += 1
        with open(os.path.join(SOURCE, "include", header), encoding="utf-8") as file:
            wanted = declared(file.read())
        for fault in faults(wanted, exported(path), version):
            print(f"{library}: {fault}")
            failed = True
    return 1 if failed else 0 if tried else 77


sys.exit(main())
