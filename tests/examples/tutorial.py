#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The tutorial: its commands print what it says they print, and its code is the example's. The
page about the port: so is the code that it compares. The README: its places in the examples.

Numbers may differ. With --pictures, what the commands drew becomes the tutorial's pictures.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(SOURCE, "build")))
MARK = "\001"


def commands(text):
    """Yields (command, the lines that it prints)."""
    command, printed = None, []
    for line in text.split("\n") + [""]:
        if line.startswith("    $ ") or not line.startswith("    "):
            if command:
                yield command, printed
            command, printed = line[6:] if line.startswith("    $ ") else None, []
        else:
            printed.append(line)


def plain(lines):
    """Without what may differ: widths, and numbers and their units, but not the lines of code."""
    text = [re.sub(r"(?<!\.c:)(?<!\d)\d+(\.\d+)*( (ns|µs|ms|s)\b)?", "#", " ".join(line.split())) for line in lines]
    return [line for line in text if line]


def run(all_commands, folder):
    """Runs them in one shell; gives what each printed, and its exit status."""
    script = "".join(f"{command}\nstatus=$?; printf '{MARK}%d{MARK}' $status; (exit $status)\n"
                     for command, _ in all_commands)
    environment = dict(os.environ, PATH=f"{BUILD}:{BUILD}/examples:{os.environ['PATH']}")
    environment.pop("THRUM_TRACE", None)
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    parts = done.stdout.decode().split(MARK)
    return list(zip(parts[0::2], map(int, parts[1::2])))


def faults(text, folder):
    """Runs the commands in the folder, and yields what is wrong."""
    known = list(commands(text))
    results = run(known, folder)
    if not known or len(results) != len(known):
        yield f"{len(known)} commands, of which {len(results)} ran"
    for number, ((command, printed), (output, status)) in enumerate(zip(known, results)):
        if plain(printed) != plain(output.split("\n")):
            yield f"$ {command}\n{output}but the tutorial says:\n" + "\n".join(printed)
        if status and known[number + 1:number + 2] != [("echo $?", [f"    {status}"])] \
                and "giving up" not in output:
            yield f"$ {command}\nends with status {status}"


def code_faults(text, code):
    for block in re.findall(r"```c\n(.*?)```", text, re.DOTALL):
        for line in block.split("\n"):
            if line.strip() not in code:
                yield f"the example has no line\n{line}"


def place_faults(text):
    """Places such as [examples/shop.c:91 run_stock] lie in the function."""
    for name, line, function in re.findall(r"\[(examples/[\w/]+\.c):(\d+) (\w+)\]", text) + [
            (name, line, function) for function, name, line in
            re.findall(r"in (\w+), (examples/[\w/]+\.c):(\d+)", text)]:
        heads = [head for head in read(name).split("\n")[:int(line)] if re.match(r"[a-z].*\(", head)]
        if not heads or f"{function}(" not in heads[-1]:
            yield f"{name}:{line} is not in {function}"


def port_faults(text, old, new):
    for block in re.findall(r"```diff\n(.*?)```", text, re.DOTALL):
        for line in block.split("\n"):
            code = {"-": old, "+": new}.get(line[:1], old + new)
            if line[1:].strip() not in code:
                yield f"the port has no line\n{line}"


def read(*names):
    text = ""
    for name in names:
        with open(os.path.join(SOURCE, *name.split("/")), encoding="utf-8") as file:
            text += file.read()
    return text


def self_test(folder):
    good = "    $ echo a 12 ms\n    a 3.5 s\n    $ false\n    $ echo $?\n    1\n"
    if list(faults(good, folder)):
        sys.exit(f"the test refuses a good text: {list(faults(good, folder))}")
    for bad in ("", "    $ echo a\n    b\n", "    $ echo a\n", "    $ false\n", "    $ exit 0\n"):
        if not list(faults(bad, folder)):
            sys.exit(f"the test accepts a bad text: {bad!r}")
    if not list(code_faults("```c\ny;\n```\n", "x;")):
        sys.exit("the test accepts other code")
    if not list(place_faults("[examples/shop.c:1 main]")):
        sys.exit("the test accepts another place")
    if len(list(port_faults("```diff\n-a\n-b\n+b\n```\n", "a", "b"))) != 1:
        sys.exit("the test accepts another port")


def main():
    if not os.path.exists(os.path.join(BUILD, "examples", "arp")):
        print("skipped: the example arp isn't built (libuv is missing)")
        return 77
    text = read("doc/tutorial.md")
    with tempfile.TemporaryDirectory() as folder:
        self_test(folder)
        wrong = list(faults(text, folder)) + list(code_faults(text, read("examples/arp/arp.c")))
        wrong += place_faults(read("README.md"))
        wrong += port_faults(read("doc/port.md"), read("examples/port_plain/upstream.c"),
                             read("examples/port_promise/upstream.c"))
        for picture in re.findall(r"\(pictures/(.*?)\)", text):
            if not os.path.exists(os.path.join(folder, picture)):
                wrong.append(f"no command draws {picture}")
            elif "--pictures" in sys.argv:
                os.makedirs(os.path.join(SOURCE, "doc", "pictures"), exist_ok=True)
                shutil.copyfile(os.path.join(folder, picture),
                                os.path.join(SOURCE, "doc", "pictures", picture))
            elif not os.path.exists(os.path.join(SOURCE, "doc", "pictures", picture)):
                wrong.append(f"doc/pictures/{picture} is missing")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
