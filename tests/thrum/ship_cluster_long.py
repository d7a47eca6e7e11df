#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Three servers keep what is recorded, whichever of them is killed or hangs: all of it, once."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Cluster, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

if missing():
    print("skipped:", missing())
    sys.exit(77)

recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
os.mkdir(recordings)
cluster = Cluster()
agent = Command("ship", recordings, "--to", cluster.url(), "--state", state, "--replicas=3")
web = Program("recordings/web")
key = agent.wait_for(".web.").split()[-1]
started = time.monotonic()


def dump(where):
    return run("dump", "--format=tsv", where)[1]


def pair(stream="THRUM_PACKETS"):
    wait_until("a leader of " + stream, lambda: cluster.leader(stream))
    return cluster.leader(stream)


def told(words):
    """Records a task, and waits until it is stored."""
    web.tell("task 1 " + words)
    wait_until(words, lambda: words.encode() in cluster.latest(f"thrum.rec.{key}.0"))
    print(f"{time.monotonic() - started:.1f} s: {words}")


told("in the beginning")
config = cluster.nodes[0].about("THRUM_PACKETS").get("config", {})
check(config.get("num_replicas") == 3, "three copies", config)

follower = pair()[1]
follower.kill()
told("without a follower")
follower.start()

leader = pair()[0]
leader.kill()
told("without a leader")
# A reader finds another node, too.
wait_until("a reader", lambda: "without a follower" in dump(cluster.url("/web")))
leader.start()

leader = pair("THRUM_TABLES")[0]
leader.hang()
told("while a leader hangs")
leader.hang(False)

for node in cluster.nodes:
    node.kill()
web.tell("task 1 while all are dead")
agent.wait_for("tries again")
for node in cluster.nodes:
    node.start()
told("in the end")
web.end()
agent.wait_for("web.thrum: its program has ended")
wait_until("all of it, once", lambda: dump(cluster.url("/web")) == dump(web.path))
check(dump(web.path).count("while all are dead") == 1, "in the recording")
check(agent.end() == 0, agent.output)
check(agent.output.count("stores again") < 12, "it tells when it stores again", agent.output)
for node in cluster.nodes:
    node.kill()
print(f"{time.monotonic() - started:.1f} s")
finish()
