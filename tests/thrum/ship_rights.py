#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The rights that doc/fleet.md names are enough for agents and readers, and forbid all else."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

for inbox in "", "a..b", ".a", "a.", "a*", "a.>", "a b", "a" * 120:
    status, _, errors = run("fleet", "list", "nats://127.0.0.1:1/?inbox=" + inbox.replace(" ", "%20"))
    check(status == 64 and "is no subject such as _INBOX.reader" in errors, inbox, errors)
if missing():
    print("skipped:", missing())
    sys.exit(77)

with open(os.path.join(os.environ["SOURCE"], "doc/fleet.md"), encoding="utf-8") as file:
    named = {(who, what): subjects.split() for who, what, subjects in
             re.findall(r"^    (agent|maker|reader) (publishes|subscribes): +(.+)$", file.read(), re.M)}


def user(name, publishes, subscribes):
    return f"{{user: '{name}', password: secret, permissions: {{publish: {publishes}, subscribe: {subscribes}, " \
        "allow_responses: true}}"


def agent_user(name, *more):
    publishes, subscribes = ([subject.replace("HOST", name) for subject in named["agent", what]]
                             for what in ("publishes", "subscribes"))
    return user(name, publishes + list(more), subscribes)


READER = user("reader", named["reader", "publishes"],
              [subject.replace("READER", "reader") for subject in named["reader", "subscribes"]])
USERS = ", ".join([agent_user("rack1", *named["maker", "publishes"]), agent_user("rack2"), READER])
server = Server(config=f"authorization: {{users: [{USERS}]}}\n")


def url(name, rest=""):
    return server.url(rest).replace("//", f"//{name}:secret@")


def ship(path, name, host, *options):
    return run("ship", path, "--to", url(name), "--host", host, "--once", "--state",
               os.path.join(folder.name, f"{name}-{host}"), *options)


web, stock = Program("web"), Program("stock")
web.tell("task 1 GET /")
# Only the maker makes the streams; then the others have all that they need.
status, _, errors = ship(stock.path, "rack2", "rack2")
check(status == 2 and "hasn't the right" in errors and "STREAM.CREATE.THRUM_PACKETS" in errors, "no maker", errors)
agents = []
for name, program, label in ("rack1", web, "GET /"), ("rack2", stock, "main loop"):
    agents.append(Command("ship", program.path, "--to", url(name), "--host", name, "--state",
                          os.path.join(folder.name, name)))
    wait_until(name, lambda: label in run("dump", url("reader", f"/{name}/*?inbox=_INBOX.reader"))[1])
status, text, errors = run("fleet", "list", "--format=tsv", url("reader", "/?inbox=_INBOX.reader"))
check(status == 0 and text.count("\n") == 3, "a list", text, errors)
# They are followed with the same rights.
reader = Command("dump", "--follow", "--format=tsv", url("reader", "/?inbox=_INBOX.reader"))
reader.wait_for("GET /")
web.tell("task 1 later")
reader.wait_for("later")

# No agent writes in another's name, nor hears another's answers.
for name, host in ("rack2", "rack1"), ("rack1", "rack2"), ("reader", "rack1"):
    status, _, errors = ship(web.path, name, host)
    check(status == 2 and "hasn't the right" in errors and "secret" not in errors, name, "as", host, errors)
status, _, errors = run("dump", url("reader", "/rack1/web"))
check(status == 2 and "hasn't the right" in errors, "answers of others", errors)
status, _, errors = run("dump", url("rack1", "/rack1/web?inbox=_INBOX.rack1"))
check(status == 2 and "hasn't the right" in errors, "an agent that reads", errors)
status, _, errors = run("dump", url("nobody", "/rack1/web"))
check(status == 2 and "secret" not in errors, "no user", errors)
for program in web, stock:
    program.end()
check(reader.wait() == 0, reader.output)
for agent in agents:
    check(agent.wait() == 0, agent.output)
    check("hasn't the right" not in agent.output, agent.output)
server.kill()
finish()
