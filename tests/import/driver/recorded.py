# SPDX-License-Identifier: ISC
"""A recorded program, and when it ran."""

import subprocess
import time


def record(thrum, program, name):
    """Records a program in the file `name`. Returns the times of its first and last event, of the monotonic clock.

    They come from the recording: on a slow machine most of the command's time is before or after the program's."""
    subprocess.run([thrum, "record", "-o", name, "--", program], stderr=subprocess.DEVNULL, check=True)
    info = subprocess.run([thrum, "info", "--format=tsv", name], capture_output=True, text=True, check=True).stdout
    told = dict(line.split("\t", 1) for line in info.splitlines())
    start = int(told["start"]) - (time.time_ns() - time.monotonic_ns())
    return start, start + int(told["duration"])
