#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""src/adapt/seccomp.c lists the system calls that the recorder and the adapters make: those that they name, and
those of the C library's functions that they use. Each of these functions must be known here."""

import glob
import os
import platform
import re
import shutil
import subprocess
import sys

# The system calls of glibc's functions.
CALLS = {
    "access": "access", "clock_gettime": "clock_gettime", "dlclose": "munmap", "dlopen": "openat",
    "fclose": "close", "fcntl": "fcntl",
    "flock": "flock", "fopen": "openat fcntl", "free": "munmap madvise", "fscanf": "read", "fstat": "fstat",
    "fstatat": "newfstatat", "ftruncate": "ftruncate", "close": "close", "calloc": "brk mmap mprotect",
    "gethostname": "uname", "geteuid": "geteuid", "getitimer": "getitimer", "getpeername": "getpeername",
    "getpgrp": "getpgrp",
    "getpid": "getpid", "getppid": "getppid", "getrandom": "getrandom", "getrlimit": "prlimit64",
    "getsockname": "getsockname", "getsockopt": "getsockopt", "gettid": "gettid", "isatty": "ioctl",
    "kill": "kill",
    "lstat": "newfstatat", "madvise": "madvise", "malloc": "brk mmap mprotect", "mkdir": "mkdir",
    "mmap": "mmap", "mq_getattr": "mq_getsetattr", "mremap": "mremap", "msgctl": "msgctl",
    "munlock": "munlock", "munmap": "munmap", "nanosleep": "clock_nanosleep", "open": "openat",
    "openat": "openat", "poll": "poll", "posix_fallocate": "fallocate", "ppoll": "ppoll", "prctl": "prctl",
    "process_vm_readv": "process_vm_readv", "pthread_mutex_lock": "futex", "pthread_mutex_trylock": "futex",
    "pthread_mutex_unlock": "futex", "pthread_once": "futex", "pthread_sigmask": "rt_sigprocmask",
    "pwrite": "pwrite64", "read": "read", "readlink": "readlink", "readlinkat": "readlinkat",
    "realloc": "mremap", "renameat": "renameat", "sched_getaffinity": "sched_getaffinity",
    "semctl": "semctl", "sigaction": "rt_sigaction",
    "sigaltstack": "sigaltstack", "sigpending": "rt_sigpending", "sigtimedwait": "rt_sigtimedwait",
    "stat": "newfstatat", "statx": "statx", "strdup": "brk mmap mprotect",
    "timerfd_gettime": "timerfd_gettime", "unlinkat": "unlinkat",
}
# These make none of their own; adjtimex() is left out under a filter.
NONE = set("""abort adjtimex dl_iterate_phdr dlerror dlsym dlvsym environ fileno gai_strerror getauxval
    getenv inet_ntop inet_pton mallopt memchr memcmp memcpy memmem memmove memset program_invocation_name
    program_invocation_short_name pthread_cond_init pthread_condattr_destroy pthread_condattr_init
    pthread_condattr_setclock pthread_condattr_setpshared pthread_key_create pthread_key_delete
    pthread_mutex_init pthread_mutexattr_destroy pthread_mutexattr_init pthread_mutexattr_setpshared
    pthread_mutexattr_setrobust pthread_self pthread_setcancelstate pthread_setspecific pthread_testcancel
    qsort secure_getenv sem_getvalue setenv snprintf stpcpy strerrorname_np strtol strtoul strtoull syscall
    sysconf unsetenv vsnprintf""".split())
PURE = ("str", "sigaddset", "sigandset", "sigdelset", "sigemptyset", "sigfillset", "sigis", "thrum_", "_")
OTHERS = ("uv_", "g_", "ev", "bufferevent_", "io_uring_", "call_once")

source, build = os.environ["SOURCE"], os.environ["BUILD"]
libraries = [os.path.join(build, "src", name) for name in ("libthrum.so", "libthrum-adapt.so")]
if (platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc" or not shutil.which("nm")
        or not all(map(os.path.exists, libraries)) or os.environ.get("SANITIZE", "none") != "none"):
    print("skipped: no libraries that are known, or no nm")
    sys.exit(77)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


used = set()
for library in libraries:
    for line in subprocess.run(["nm", "-D", "--undefined-only", library], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        name = line.split()[-1].split("@")[0].removeprefix("__isoc99_").removeprefix("__isoc23_")
        used.add(name.removesuffix("64"))
made = {}
for folder in ("adapt", "record", "port"):
    for path in glob.glob(os.path.join(source, "src", folder, "**", "*.c"), recursive=True):
        text = read(path)
        used.update(re.findall(r"\breal_(\w+)\(NULL\)", text))
        for call in re.findall(r"\b(?:real_)?syscall(?:\(NULL\))?\(\s*SYS_(\w+)", text):
            made[call] = os.path.relpath(path, source)
# It is of 32 bits.
made.pop("mmap2", None)
failed = False
for name in sorted(used):
    if name in CALLS:
        made.update((call, name + "()") for call in CALLS[name].split())
    elif name not in NONE and not name.startswith(PURE + OTHERS):
        print(f"tests/check/own_calls.py doesn't know the system calls of {name}()")
        failed = True
listed = re.findall(r"^\tSYS_(\w+),$", read(os.path.join(source, "src/adapt/seccomp.c")), re.M)
for call in sorted(set(made) - set(listed)):
    print(f"src/adapt/seccomp.c doesn't list {call}, which {made[call]} makes")
    failed = True
if not listed or not made or len(set(listed)) != len(listed):
    print("src/adapt/seccomp.c lists no calls, or one twice:", sorted({c for c in listed if listed.count(c) > 1}))
    failed = True
sys.exit(failed)
