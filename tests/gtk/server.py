#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The desktop viewer follows what a server keeps, and several programs at once."""

import contextlib
import os
import re
import signal
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver"),
                os.path.join(os.environ["SOURCE"], "tests/thrum/driver")]
# pylint: disable=wrong-import-position
import desktop as driver
import jetstream
import obeys
from common import check, exported, is_quiet, program, recorded, shown


def seen_end(window):
    """The end of the visible time in the status line, in s."""
    found = re.search(r"… ([\d.]+) (ms|s)\b", window.status)
    return float(found[1]) / (1000 if found[2] == "ms" else 1) if found else 0


@contextlib.contextmanager
def steady(folder, name):
    file = os.path.join(folder, name + ".thrum")
    with recorded(file, [program("tests", "thrum", "programs", "steady")], THRUM_TRACE=file,
                  THRUM_SIZE="4M") as process:
        yield process


def goes_on(viewer):
    first = seen_end(viewer.window())
    viewer.wait("new events come", lambda window: seen_end(window) > first + 0.3)


@contextlib.contextmanager
def shipped(desktop):
    """A server to which the recordings of a folder are sent; the folder."""
    folder = os.path.join(desktop.folder, "shipped")
    os.makedirs(folder, exist_ok=True)
    server = jetstream.Server()
    agent = obeys.Command("ship", folder, "--to", server.url(), "--host", "rack1", "--state",
                          os.path.join(desktop.folder, "state"))
    yield server, agent, folder
    agent.end()
    server.kill()


def is_silent(window):
    return re.fullmatch(r"live, silent for \d+ s", window.texts.get("live", ""))


def tells_silence(viewer, process):
    """A program that is stopped is silent, and no longer so when it goes on."""
    process.send_signal(signal.SIGSTOP)
    viewer.wait("its silence is told", is_silent)
    first = seen_end(viewer.window())
    viewer.wait("it gets older meanwhile", lambda window: is_silent(window) and
                seen_end(window) > first + 1)
    process.send_signal(signal.SIGCONT)
    viewer.wait("its silence ends", lambda window: window.texts.get("live") == "live")
    goes_on(viewer)


def follows_a_server(desktop):
    """The agent sends what it has once a second; the server may be gone for a while."""
    with shipped(desktop) as (server, agent, folder), steady(folder, "live") as process:
        agent.wait_for(".live.")
        jetstream.wait_until("packets", lambda: "steady" in obeys.run("tasks", server.url("/live"))[1])
        for address in "/rack1/live", "/live?last=10m":
            viewer = shown(desktop, server.url(address))
            goes_on(viewer)
            check("steady" in exported(viewer), "no task in the picture")
            check(not viewer.window().is_seen("message"), "what is live has a message")
            if address == "/rack1/live":
                tells_silence(viewer, process)
            if address == "/live?last=10m":
                server.kill()
                agent.wait_for("tries again")
                server.start()
                agent.wait_for("stores again")
                goes_on(viewer)
                process.kill()
                viewer.wait_seen("message")
                check("killed at" in exported(viewer), "the ruler doesn't tell the end")
            is_quiet(viewer)
            viewer.end()


def tells_what_is_missing(desktop):
    """No recording has that name, and then there is no server."""
    with shipped(desktop) as (server, _, _):
        jetstream.wait_until("streams", lambda: server.about("THRUM_TABLES"))
        for words in "no recording that matches", "can't be reached":
            viewer = desktop.view(server.url("/nobody"))
            viewer.wait_seen("message")
            told = viewer.window().texts["message-words"]
            check(words in told, f"the message is: {told}")
            is_quiet(viewer)
            viewer.end()
            server.kill()


def follows_several(desktop):
    """Two programs in one window, as one trace and one above the other. One is killed, the other goes on."""
    for option in "--together", "--stacked":
        with steady(desktop.folder, "other"):
            with steady(desktop.folder, "one") as process:
                viewer = shown(desktop, option, os.path.join(desktop.folder, "one.thrum"),
                               os.path.join(desktop.folder, "other.thrum"))
                goes_on(viewer)
                process.kill()
                goes_on(viewer)
                is_quiet(viewer)
                viewer.end()


reason = jetstream.missing()
if reason:
    print(f"not tried: a server, as {reason}")
driver.run([follows_several] + ([] if reason else [follows_a_server, tells_what_is_missing]))
