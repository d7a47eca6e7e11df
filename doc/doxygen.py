#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A filter for doxygen: turns the plain comments of a public header into those that it reads, and
shows each call as programs write it."""

import re
import sys



def declare(comment):
    """Declares the macros whose prototypes stand in a comment alone."""
    prototypes = re.findall(r"^ \* {3}(\w+ \**(thrum_[a-z]\w*)\([^;]*\));$", comment.group(), re.M)
    macros = [prototype for prototype, name in prototypes if f"#define {name}(" in whole]
    return comment.group() + "".join(re.sub(r"\n \*\s*", " ", macro) + ";\n" for macro in macros)


def share(match):
    """Gives the comment before several declarations to each of them."""
    comment, rest = match.groups()
    first, *others = re.findall(r"[^;]*;[^\n]*\n", rest)
    name = re.search(r"\b(thrum_[a-z]\w*) ?\(", first)
    if not name or "\n\n" in rest:
        return match.group()
    return comment + first + "".join(
        other if f"{name.group(1)}(" in other else f"/** @copydoc {name.group(1)} */\n{other}"
        for other in others)


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
if sys.argv[1].endswith(".h"):
    text = text.replace("/* SPDX-License-Identifier: ISC */\n", "", 1)
    whole = text
    text = re.sub(r"^/\* -+ Implementation.*", "", text, flags=re.S | re.M)
    # Calls that give their place first.
    for name in re.findall(r"^#define thrum_(\w+)\(\.\.\.\) thrum__\1\(THRUM__", text, re.M):
        text = re.sub(rf"^#define thrum_{name}\(.*\n", "", text, flags=re.M)
        text = re.sub(rf"\bthrum__{name}\(struct thrum_site\s*\*place,\s*", f"thrum_{name}(", text)
    text = re.sub(r"^/\*\n(?: \*.*\n)+? \*/\n", declare, text, flags=re.M)
    # The first comment is about the file; one with a rule begins a section.
    text = re.sub(r"^/\*\n \* ([\w./]+\.h): ", r"/**\n * @file \1\n * ", text, count=1)
    text = re.sub(r"^/\* -{4} (.*?) -+ \*/$", r"/** @name \1 */", text, flags=re.M)
    text = re.sub(r"^(\t*)/\*(?=[ \n])", r"\1/**", text, flags=re.M)
    text = re.sub(r"(?<=[,;]) */\* ", " /**< ", text)
    text = re.sub(r"^(/\*\*(?:[^*]|\*(?!/))*\*/\n)((?:[A-Za-z_][^;{}#/]*\([^;{}#/]*;\n)+)(?=\n|/)", share, text,
                  flags=re.M)
sys.stdout.write(text)
