#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum fleet: rates, findings by recording, and the worst first."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

if missing():
    print("skipped:", missing())
    sys.exit(77)
if not os.path.exists(os.environ["BUILD"] + "/examples/shop"):
    print("skipped: the examples aren't built")
    sys.exit(77)

recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
os.mkdir(recordings)
subprocess.run([os.environ["BUILD"] + "/examples/shop", "hang"], cwd=recordings, check=True, timeout=60)
server = Server(payload=1 << 20)
agent = Command("ship", recordings, "--to", server.url(), "--state", state)
busy, idle = Program("recordings/busy", "16M"), Program("recordings/idle")


def listed(*options):
    status, text, errors = run("fleet", "list", "--format=json", *options, server.url())
    check(status == 0, errors)
    return {row["program"]: row for row in map(json.loads, text.splitlines())}


wait_until("the streams", lambda: run("fleet", "list", server.url())[0] == 0)
wait_until("all", lambda: set(listed()) == {"busy", "idle", "web", "stock", "database"} and
           all(listed()[name]["state"] != "running" for name in ("web", "stock", "database")))
for i in range(30):
    busy.tell(f"observe latency {i} 1000")
wait_until("a rate", lambda: listed()["busy"]["record-rate"] > 0)
rows = listed()
check(rows["busy"]["records"] > 30000 and rows["busy"]["byte-rate"] > 4 * rows["busy"]["record-rate"], rows["busy"])
check(rows["idle"]["records"] < 100 and rows["idle"]["record-rate"] < rows["busy"]["record-rate"], rows["idle"])
check(rows["web"]["record-rate"] == 0 and "findings" not in rows["web"], rows["web"])

# The finding is that of the program which causes it.
rows = listed("--findings")
check({name: rows[name]["findings"] for name in rows} ==
      {"busy": 0, "idle": 0, "web": 0, "stock": 0, "database": 1}, "findings", rows)
check("GET /item/5" in rows["database"]["worst"] and rows["web"]["worst"] == "", "the worst", rows["database"])
status, text, errors = run("fleet", "list", "--findings", "--format=tsv", server.url())
names, *lines = [line.split("\t") for line in text.splitlines()]
check(all(len(line) == len(names) for line in lines) and
      [line[names.index("findings")] for line in lines] == ["0", "1", "0", "0", "0"], text, errors)

# The worst comes first, though others store more.
status, text, errors = run("fleet", "top", "--findings", "--count=1", server.url())
order = [line.split()[1] for line in text.splitlines()[1:6]]
check(order[0] == "database" and order[1:3] == ["busy", "idle"], "the order", order, errors)
status, text, errors = run("fleet", "top", "--count=1", server.url())
order = [line.split()[1] for line in text.splitlines()[1:6]]
check(order[:2] == ["busy", "idle"] and "records/s" in text, "without findings", order, errors)
# A recording that was stored lately may be old: then there is nothing to look at, and top goes on.
since = time.strftime("%Y-%m-%dT%H:%M:%S")
status, _, errors = run("ship", "--once", "--host=late", "--state", state + "2", "--to", server.url(),
                        os.path.join(recordings, "web.thrum"))
check(status == 0, "an old recording", errors)
for command in ["list"], ["top", "--count=1"]:
    status, text, errors = run("fleet", *command, "--findings", server.url("/late/*?from=" + since))
    check(status == 0 and "\nno findings: none of the recordings that match is of that time\n" in text, text, errors)

busy.end()
wait_until("no rate any more", lambda: listed()["busy"]["record-rate"] == 0 and listed()["busy"]["state"] != "running")
idle.end()
agent.end()
server.kill()
finish()
