#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum metrics: promtool and Prometheus take what it gives, and the dashboard names what exists."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from obeys import PATIENCE, Command, Program, check, finish, folder, run  # noqa: E402

one, two = Program("one"), Program("two")
for program in (one, two):
    program.tell("add server/bytes 1234567")
    program.tell("add server/requests 12")
    program.tell("gauge server/connections 7")
    program.tell("observe server/latency-us 30 90")
    program.tell("observe server/latency-us 5000 10")
    program.tell('task 3 GET "/user\\17"')
one.tell("gauge odd-path/ü.count -5")
one.tell("gauge odd_path/ü.count 6")
one.tell("observe odd/temperature -40 2")
two.tell("add thrum/own 3")
two.tell("gauge 7up 1")
two.tell("add odd_path/ü.count 9")

# The text.
status, text, errors = run("metrics", one.pid, two.pid, "--once")
check(status == 0 and not errors, "metrics --once", status, errors)
check(text.endswith("\n# EOF\n"), "the end of OpenMetrics", text[-100:])
labels = f'program="obeys",pid="{one.pid}"'
for line in (
        f"server_bytes_total{{{labels}}} 1234567",
        f"server_connections{{{labels}}} 7",
        "# TYPE server_latency_seconds histogram",
        "# UNIT server_latency_seconds seconds",
        f'server_latency_seconds_bucket{{{labels},le="2.3e-05"}} 0',
        f'server_latency_seconds_bucket{{{labels},le="3.1e-05"}} 90',
        f'server_latency_seconds_bucket{{{labels},le="+Inf"}} 100',
        f"server_latency_seconds_sum{{{labels}}} 0.0527",
        f"server_latency_seconds_count{{{labels}}} 100",
        f'odd_temperature_bucket{{{labels},le="-1.0"}} 2',
        f'thrum_live_tasks{{{labels},label="GET \\"/user\\\\#\\"",kind="request"}} 3',
        f"thrum_recording{{{labels}}} 1",
        f'thrum_lost_total{{{labels},cause="no_packet"}} 0',
        f'_7up{{program="obeys",pid="{two.pid}"}} 1',
        f'program_thrum_own_total{{program="obeys",pid="{two.pid}"}} 3'):
    check(line in text.split("\n"), "no line", line)
check(len(re.findall(r"^odd_path____count_value(?:__[23])?(?:_total)?\{", text, re.M)) == 3,
      "three paths with one name")
names = re.findall(r"^# TYPE (\S+)", text, re.M)
check(len(names) == len(set(names)), "a name occurs twice", names)
check(text.count("\nserver_bytes_total{") == 2, "two processes")

# promtool reads the older format.
status, old, _ = run("metrics", one.pid, two.pid, "--once", "--format=prometheus")
check("# EOF" not in old and "# UNIT" not in old and "# TYPE server_bytes_total counter" in old, old)
if shutil.which("promtool"):
    done = subprocess.run(["promtool", "check", "metrics"], input=old, text=True,
                          capture_output=True, timeout=PATIENCE, check=False)
    # It may find the names of the program's counters bad, but not the text.
    check(done.returncode in (0, 3) and "error" not in done.stderr.lower(), done.stderr)
    check("thrum_" not in done.stdout + done.stderr.replace("program_thrum", ""), done.stderr)
else:
    print("skipped: promtool is missing, the text isn't checked by it")

# Over HTTP.
server = Command("metrics", one.pid, two.pid, "--listen", "127.0.0.1:0")
line = server.read(PATIENCE)
if "libmicrohttpd" in line:
    print("skipped: thrum was built without libmicrohttpd, nothing is served")
    finish()
url = re.search(r"http://\S+", line)[0]


def get(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers),
                                timeout=PATIENCE) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


kind, served = get(url)
check(kind.startswith("text/plain; version=0.0.4") and "server_bytes_total{" in served, kind)
kind, served = get(url, Accept="application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
check(kind.startswith("application/openmetrics-text") and served.endswith("# EOF\n"), kind)
try:
    get(url + "/nothing")
    check(False, "no 404")
except urllib.error.HTTPError as error:
    check(error.code == 404, error)

# Prometheus scrapes it.
if shutil.which("prometheus"):
    config = os.path.join(folder.name, "prometheus.yml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("global: {scrape_interval: 200ms}\n"
                   "scrape_configs:\n- job_name: thrum\n"
                   f"  static_configs: [{{targets: ['{url.split('/')[2]}']}}]\n")
    port, prometheus, found = 20000 + os.getpid() * 7 % 40000, None, {}
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and len(found) < 2:
        # It ends at once if the port is in use.
        if not prometheus or prometheus.poll() is not None:
            port += 1
            prometheus = subprocess.Popen(
                ["prometheus", f"--config.file={config}",
                 f"--web.listen-address=127.0.0.1:{port}",
                 f"--storage.tsdb.path={folder.name}/data-{port}", "--log.level=error"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            answer = json.loads(get(f"http://127.0.0.1:{port}/api/v1/query"
                                    "?query=server_latency_seconds_count")[1])
            found = {item["metric"]["pid"]: item["value"][1] for item in answer["data"]["result"]}
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.1)
    check(found == {one.pid: "100", two.pid: "100"}, "Prometheus knows", found)
    prometheus.kill()
    prometheus.wait()
else:
    print("skipped: prometheus is missing, nothing scrapes the metrics")

# A process that has ended is told as such; when all have, the command ends.
one.end()
end = time.monotonic() + PATIENCE
while time.monotonic() < end and f"thrum_recording{{{labels}}} 0" not in get(url)[1]:
    time.sleep(0.1)
check(f"thrum_recording{{{labels}}} 0" in get(url)[1], "the end of a process")
two.end()
try:
    while server.process.poll() is None:
        get(url)
        time.sleep(0.1)
except OSError:
    pass
check(server.wait() == 0 and "have ended" in server.output, server.output)

# The dashboard refers to metrics that exist, of thrum's own or of the example server.
dashboard = os.path.join(os.environ["SOURCE"], "data/grafana/thrum.json")
with open(dashboard, encoding="utf-8") as file:
    panels = json.load(file)["panels"]
expressions = [target["expr"] for panel in panels for target in panel.get("targets", [])]
check(len(expressions) >= 5, expressions)
used = {name for expression in expressions
        for name in re.findall(r"\b(?:thrum|server)_\w+", expression)}
samples = set(re.findall(r"^(\w+)\{", text, re.M))
check(used <= samples, "the dashboard names metrics that don't exist:", used - samples)

# Errors.
for arguments, text in (([], "needs --once or --listen"), (["--listen", "here"], "not \"here\""),
                        (["--listen", "127.0.0.1:99999"], "127.0.0.1:9464"),
                        (["--once", "--listen", ":0"], "needs --once or --listen")):
    status, _, errors = run("metrics", one.path, *arguments)
    check(status == 64 and text in errors, arguments, errors)
finish()
