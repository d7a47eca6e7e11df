#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A server that hangs, is full, or refuses: the agent says why, and all is stored once the server can."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, Program, check, finish, folder, run  # noqa: E402

if missing():
    print("skipped:", missing())
    sys.exit(77)

recordings, state = os.path.join(folder.name, "recordings"), os.path.join(folder.name, "state")
os.mkdir(recordings)
started = time.monotonic()


def begin(name, url, size="1M", *options):
    """A program, and an agent of its own."""
    os.mkdir(os.path.join(recordings, name))
    program = Program(f"recordings/{name}/{name}", size)
    agent = Command("ship", os.path.dirname(program.path), "--to", url, "--state", state + name, *options)
    return program, agent


def end(program, agent, url):
    """The program ends, and all of it is stored once."""
    program.end()
    agent.wait_for("its program has ended")
    name = os.path.basename(program.path)[:-len(".thrum")]
    status, text, errors = run("dump", "--format=tsv", url + "/" + name)
    check(text == run("dump", "--format=tsv", program.path)[1], name, errors)
    check(agent.end() == 0, agent.output)
    print(f"{time.monotonic() - started:.1f} s: {name}")


# A server that hangs doesn't hold the agent: it tells so in the time of an answer and of closing.
server = Server("hanging")
web, agent = begin("web", server.url())
agent.wait_for(".web.")
wait_until("the beginning", lambda: "main loop" in run("dump", server.url("/web"))[1])
server.hang()
web.tell("task 1 while it hangs")
since = time.monotonic()
agent.wait_for("tries again")
check(time.monotonic() - since < 40, "the agent hung", time.monotonic() - since)
print(f"noticed after {time.monotonic() - since:.1f} s")
# An agent that is interrupted meanwhile ends.
since = time.monotonic()
agent.process.terminate()
check(agent.wait() == 2 and " not " not in agent.output.split("tries again")[0], agent.output)
check(time.monotonic() - since < 40, "the agent didn't end", time.monotonic() - since)
server.hang(False)
agent = Command("ship", os.path.dirname(web.path), "--to", server.url(), "--state", state + "web")
end(web, agent, server.url())
server.kill()


# Streams that are full, and refuse what is new.
def stream(name, subjects, **limits):
    config = {"name": name, "subjects": [subjects], "storage": "file", "retention": "limits", "num_replicas": 1,
              **limits}
    return json.dumps(config)


server = Server("full")
packets = {"duplicate_window": 10**8}
check('"error"' not in server.ask("$JS.API.STREAM.CREATE.THRUM_PACKETS", stream(
    "THRUM_PACKETS", "thrum.rec.>", max_bytes=20000, discard="new", **packets)), "a small stream")
large, agent = begin("large", server.url())
for i in range(20):
    large.tell(f"observe latency {i} 300")
agent.wait_for("maximum bytes exceeded")
large.tell("task 1 while it is full")
check('"error"' not in server.ask("$JS.API.STREAM.UPDATE.THRUM_PACKETS", stream(
    "THRUM_PACKETS", "thrum.rec.>", discard="new", **packets)), "room")
agent.wait_for("stores again")
end(large, agent, server.url())
server.kill()

# A right that is taken away, and comes back.
RIGHTS = "authorization: {{users: [{{user: agent, password: secret, permissions: {{publish: {}}}}}," \
    " {{user: reader, password: secret}}]}}\n"
less, more = (RIGHTS.format(rights) for rights in (
    ["thrum.def.rack.>", "$JS.API.>"], ["thrum.rec.rack.>", "thrum.def.rack.>", "$JS.API.>"]))
server = Server("guarded", more)
url = server.url().replace("//", "//agent:secret@")
right, agent = begin("right", url, "1M", "--host=rack")
agent.wait_for(".right.")
reader = server.url().replace("//", "//reader:secret@")
wait_until("the beginning", lambda: "main loop" in run("dump", reader + "/right")[1])
server.reload(less)
right.tell("task 1 without a right")
line = agent.wait_for("hasn't the right")
check("thrum.rec.rack.right." in line and "tries again" in line, "the right's name", line)
server.reload(more)
agent.wait_for("stores again")
end(right, agent, reader)
server.kill()

# Messages are as long as the server takes them: packets are divided. It may take too little.
server = Server("short", payload=36000)
pieces, agent = begin("pieces", server.url(), "64M")
for i in range(40):
    pieces.tell(f"observe latency {i} 300")
end(pieces, agent, server.url())
server.kill()
server = Server("shorter", payload=20000)
status, _, errors = run("ship", pieces.path, "--to", server.url(), "--state", state + "short", "--once")
check(status == 2 and "max_payload must be 34816 or more" in errors, errors)
server.kill()


# Certificates of hosts: each may write in its own name only.
def certify(name, *extra):
    """Makes NAME.key and NAME.pem, signed by ca.pem."""
    at = os.path.join(folder.name, name)
    subprocess.run(["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", at + ".key", "-subj", "/CN=" + name,
                    *(["-x509", "-out", at + ".pem"] if name == "ca" else ["-out", at + ".csr"])],
                   check=True, capture_output=True)
    if name == "ca":
        return
    with open(at + ".ext", "w", encoding="utf-8") as file:
        file.write("\n".join(extra) + "\n")
    subprocess.run(["openssl", "x509", "-req", "-in", at + ".csr", "-CA", at[:-len(name)] + "ca.pem", "-CAkey",
                    at[:-len(name)] + "ca.key", "-CAcreateserial", "-extfile", at + ".ext", "-out", at + ".pem"],
                   check=True, capture_output=True)


def as_host(name, certificate=True):
    own = f"&cert={folder.name}/{name}.pem&key={folder.name}/{name}.key" if certificate else ""
    return f"tls://localhost:{server.port}", f"?ca={folder.name}/ca.pem{own}"


def ship_as(name, host, certificate=True):
    return run("ship", web.path, "--to", "".join(as_host(name, certificate)), "--host", host, "--state",
               f"{state}-{name}-{host}", "--once")


if not shutil.which("openssl"):
    print("not tried: certificates, as openssl is missing")
    finish()
certify("ca")
certify("server", "subjectAltName=DNS:localhost,IP:127.0.0.1", "extendedKeyUsage=serverAuth")
for name in "rack1", "rack2":
    certify(name, "extendedKeyUsage=clientAuth")
with open(os.path.join(os.environ["SOURCE"], "doc/fleet.md"), encoding="utf-8") as file:
    rights = " ".join(re.findall(r"^    (?:agent|maker) publishes: +(.+)$", file.read(), re.M))
users = ", ".join(f"{{user: 'CN={name}', permissions: {{publish: {rights.replace('HOST', name).split()}}}}}"
                  for name in ("rack1", "rack2"))
server = Server("certified", f"tls: {{cert_file: '{folder.name}/server.pem', key_file: '{folder.name}/server.key', "
                             f"ca_file: '{folder.name}/ca.pem', verify_and_map: true}}\n"
                             f"authorization: {{users: [{users}]}}\n")
status, _, errors = ship_as("rack1", "rack1")
check(status == 0, "with a certificate", errors)
status, _, errors = ship_as("rack2", "rack1")
check(status == 2 and "hasn't the right" in errors and "rack1" in errors, "in another's name", errors)
status, _, errors = ship_as("rack1", "rack1", False)
check(status == 2, "without a certificate", errors)
server.kill()
print(f"{time.monotonic() - started:.1f} s")
finish()
