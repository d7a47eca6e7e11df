# SPDX-License-Identifier: ISC
"""Asks thrum, and notes what is wrong."""

import os
import subprocess

THRUM = os.environ["THRUM"]
failures = []


def check(right, what):
    if not right:
        print(what)
        failures.append(what)


def ask(*arguments, status=0, **more):
    """Runs thrum, which must end with this status."""
    done = subprocess.run([THRUM, *arguments], capture_output=True, check=False, **more)
    check(done.returncode == status, f"thrum {arguments}: {done.returncode} {done.stderr!r}")
    return done


def thrum(*arguments):
    """What thrum prints."""
    return ask(*arguments).stdout
