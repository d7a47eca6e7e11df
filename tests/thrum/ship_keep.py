#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A server that keeps little has the names of a program that runs for long."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

KEEP = 4  # s

if missing():
    print("skipped:", missing())
    sys.exit(77)

server = Server()
web = Program("web")
agent = Command("ship", web.path, "--to", server.url(), "--state", os.path.join(folder.name, "state"),
                f"--keep={KEEP}s")
agent.wait_for(".web.")
web.tell("gauge first/counter 1")


def parts():
    return server.about("THRUM_TABLES").get("state", {}).get("num_subjects", 0)


def dump():
    return run("dump", "--format=tsv", server.url("/web"))[1]


wait_until("the first counter", lambda: "first/counter" in dump())
all_parts = parts()
check(server.about("THRUM_TABLES")["config"]["max_age"] == 2 * KEEP * 10**9, "how long tables are kept")
# The server drops what was sent at the beginning.
end = time.monotonic() + 2 * KEEP + 3
while time.monotonic() < end:
    web.tell("gauge first/counter 2")
    check(parts() == all_parts, "all parts are there", all_parts, parts())
    time.sleep(0.5)
last = server.about("THRUM_TABLES")["state"]
check(last["messages"] == all_parts, last)
web.tell("gauge first/counter 77")
wait_until("the counter's name", lambda: any("first/counter" in line and "77" in line for line in dump().splitlines()))
web.end()
agent.wait_for("its program has ended")
status, text, errors = run("dump", "--format=tsv", server.url("/web"))
check(status == 0 and "first/counter" in text, "a program that has ended", text, errors)
agent.wait()
server.kill()
finish()
