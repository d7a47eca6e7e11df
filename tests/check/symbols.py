#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Global symbols of the rooms: each begins with its room, none but the public ones is visible from
outside a library, and all archives link together whole."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["SOURCE"]
BUILD = os.environ["BUILD"]
# A folder in a room gives its name, too, but for these, which would say the same twice.
ROOM_ONLY = {"thrum"}


def public_names():
    """What the public headers name: declared for users, or for the headers' own inline functions."""
    text = ""
    for path in glob.glob(f"{SOURCE}/include/**/*.h", recursive=True):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return set(re.findall(r"\bthrum_\w+", text))


def prefixes(member):
    """How names may begin in an object file, which meson calls room_folder_file.c.o."""
    room, *rest = member.removesuffix(".c.o").split("_")
    folders = os.listdir(f"{SOURCE}/src/{room}")
    folder = [rest[0]] if rest and rest[0] in folders and rest[0] not in ROOM_ONLY else []
    return [f"thrum__{name}_" for name in [room] + folder]


def fault(member, name, visibility, public):
    """What is wrong with a global symbol; None when nothing is."""
    if name in public:
        return None
    if not name.startswith(tuple(prefixes(member))):
        return f"{member}: {name} doesn't begin with its room: {' or '.join(prefixes(member))}"
    if visibility != "HIDDEN":
        return f"{member}: {name} is visible from outside (THRUM__MUST_USE needs no visibility)"
    return None


def symbols(archive):
    """Each global symbol that an archive defines: object file, name, visibility."""
    lines = subprocess.run(["readelf", "--symbols", "--wide", archive], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    member = ""
    for line in lines:
        header = re.match(r"File: .*[(\[/]([^/()[\]]*\.o)[)\]]?$", line)
        if header:
            member = header.group(1)
        fields = line.split()
        if len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6] != "UND":
            yield member, fields[7], fields[5]


def self_test():
    public = {"thrum_start", "thrum__wait"}
    for good in (("record_hot.c.o", "thrum__wait", "DEFAULT"),
                 ("record_lane.c.o", "thrum__record_write", "HIDDEN"),
                 ("scene_paint_grid.c.o", "thrum__paint_grid", "HIDDEN"),
                 ("scene_paint_grid.c.o", "thrum__scene_grid", "HIDDEN")):
        assert fault(*good, public) is None, good
    for bad in (("scene_paint_grid.c.o", "thrum__grid", "HIDDEN"),
                ("model_rows.c.o", "thrum__scene_rows", "HIDDEN"),
                ("model_rows.c.o", "thrum__model_rows", "DEFAULT")):
        assert fault(*bad, public), bad


def main():
    self_test()
    if not shutil.which("readelf"):
        print("skipped: readelf is missing")
        return 77
    if os.environ["SANITIZE"] != "none":
        print("skipped: sanitizers add symbols of their own")
        return 77
    archives = sorted(glob.glob(f"{BUILD}/src/libroom-*.a"))
    assert len(archives) > 10, archives
    public = public_names()
    faults = [found for archive in archives for member, name, visibility in symbols(archive)
              if (found := fault(member, name, visibility, public))]

    # The library that is loaded into other programs defines the functions of theirs that it wraps,
    # and nothing else.
    adapters = f"{BUILD}/src/libthrum-adapt.so"
    if os.path.exists(adapters):
        lines = subprocess.run(["readelf", "--dyn-syms", "--wide", adapters], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        wrapped = re.compile(
            r"(pthread|mtx|cnd|thrd|sem|uv|epoll|g|event|evthread|evdns|evhttp|bufferevent|evconnlistener)_\w+"
            r"|(__)?p?poll(_chk)?|p?select|call_once|f?exec\w+|v?fork|_[eE]xit|(quick_)?exit|abort|prctl|posix_spawnp?"
            r"|chroot|pivot_root|set(re|res|e)?uid|(set|p)rlimit(64)?|mlockall"
            r"|(__)?read(_chk)?|readv|(__)?recv(from|m?msg)?(_chk)?|writev?|send(to|m?msg|file(64)?)?"
            r"|accept4?|connect|flock|lockf(64)?|fcntl(64)?|f(data)?sync|syncfs|getaddrinfo|getnameinfo"
            r"|sem(timed)?op|semctl|msg(rcv|snd)|mq_(open|notify|(timed)?(send|receive))|__mq_open_2"
            r"|gethostbyname|wait(pid|id|3|4)?|system|p(open|close)|u?sleep|(clock_)?nanosleep"
            r"|sig(wait(info)?|suspend|queue)|pause|kill|ioctl|open(at)?(64)?|__open(at)?(64)?_2"
            r"|f?close|close_range|closefrom|unlink(at)?|remove|dup[23]?|fdopen|listen|setsockopt|pipe2?"
            r"|socketpair|(__)?f(gets|read)(_chk)?|f?getc|getline|(__)?getdelim|eventfd(_read|_write)?"
            r"|timerfd_(create|settime)|timer_create|mkdtemp"
            r"|(__)?v?dprintf(_chk)?|(vm)?splice|tee|(__)?io_uring_\w+|syscall|(_|sig)?longjmp|__longjmp_chk")
        for fields in map(str.split, lines):
            if (len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK") and fields[5] != "HIDDEN"
                    and fields[6] != "UND" and not wrapped.fullmatch(fields[7])):
                faults.append(f"{adapters} exports {fields[7]}")
    print("\n".join(faults))

    with tempfile.TemporaryDirectory() as folder:
        whole = subprocess.run(
            [os.environ["CC"], "-shared", "-o", f"{folder}/whole.so", "-Wl,--whole-archive",
             *archives, "-Wl,--no-whole-archive"], capture_output=True, text=True, check=False)
        print(whole.stderr)
    return 1 if faults or whole.returncode != 0 else 0


sys.exit(main())
