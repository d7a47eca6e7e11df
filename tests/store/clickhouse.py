#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum store --to: ClickHouse has what thrum shows, once; and the queries for it in doc/fleet.md run."""

import atexit
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

THRUM, SOURCE, BUILD = os.environ["THRUM"], os.environ["SOURCE"], os.environ["BUILD"]
PATIENCE = 100  # s
sys.path.insert(0, os.path.join(SOURCE, "tests/thrum/driver"))
from jetstream import Server, missing, wait_until  # noqa: E402
from obeys import Command, check, failures, finish, folder  # noqa: E402


def run(*arguments, program=THRUM, expected=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=folder.name,
                          timeout=PATIENCE, check=False)
    check(done.returncode == expected, program, arguments, done.returncode, done.stderr)
    return done.stdout if expected == 0 else done.stderr


def skip(reason):
    print("skipped:", reason)
    sys.exit(1 if failures else 77)


if not os.path.exists(f"{BUILD}/examples/shop"):
    skip("the examples aren't built")
run("hang", program=f"{BUILD}/examples/shop")
recordings = ["web.thrum", "stock.thrum", "database.thrum"]

# Errors that need no server.
check("takes the place" in run("store", "web.thrum", "-o", "x", "--to", "clickhouse://h", expected=64), "both")
check("needs -o FOLDER" in run("store", "--follow", "nats://h", "--to", "clickhouse://h", expected=64), "no folder")
if "built without" in subprocess.run([THRUM, "store", "web.thrum", "--to", "clickhouse://127.0.0.1:1"], check=False,
                                     cwd=folder.name, capture_output=True, text=True).stderr:
    skip("this thrum was built without libcurl")
for address in ("http://host", "clickhouse://", "clickhouse://host/a`b", "clickhouse://host/a?b=c",
                "clickhouse://host/a&b", "clickhouse://me:sec/ret@host"):
    errors = run("store", "web.thrum", "--to", address, expected=64)
    check("clickhouse://HOST[:PORT][/DATABASE]" in errors and "sec" not in errors, address, errors)
errors = run("store", "web.thrum", "--to", "clickhouse://me:secret@127.0.0.1:1", expected=2)
check("127.0.0.1:1/: " in errors and "secret" not in errors, errors)
if not shutil.which("clickhouse-server"):
    skip("clickhouse-server is missing")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


CONFIG = """<yandex><logger><level>warning</level><console>1</console></logger>
<http_port>{0}</http_port><tcp_port>{1}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{2}/data/</path><tmp_path>{2}/tmp/</tmp_path><users_config>{2}/users.xml</users_config>
<mark_cache_size>67108864</mark_cache_size><default_profile>default</default_profile>
<default_database>default</default_database></yandex>"""
USERS = """<yandex><profiles><default></default></profiles><quotas><default></default></quotas>
<users><default><password>s@c%ret</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default></users></yandex>"""


def start():
    port = free_port()
    for name, text in (("config", CONFIG.format(port, free_port(), folder.name)), ("users", USERS)):
        with open(os.path.join(folder.name, name + ".xml"), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(folder.name, "log"), "w", encoding="utf-8") as log:
        server = subprocess.Popen(["clickhouse-server", "--config-file", os.path.join(folder.name, "config.xml")],
                                  stdout=log, stderr=log, cwd=folder.name)
    atexit.register(server.kill)
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ping").close()
            return port
        except OSError:
            time.sleep(0.1)
    with open(os.path.join(folder.name, "log"), encoding="utf-8") as log:
        skip("clickhouse-server doesn't start: " + log.read()[-300:].replace("\n", " "))


PORT = start()
TO = f"clickhouse://default:s%40c%25ret@127.0.0.1:{PORT}/traces"


def ask(query, database="traces"):
    """The rows of an answer, as texts."""
    url = f"http://127.0.0.1:{PORT}/?database={database}&user=default&password=s%40c%25ret"
    try:
        with urllib.request.urlopen(url, query.encode()) as answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]
    except urllib.error.HTTPError as error:
        check(False, query, error.read().decode())
        return []


def rows(command, recording, *options):
    names, *lines = [line.split("\t") for line in run(command, "--format=tsv", *options, recording).splitlines()]
    return [dict(zip(names, line)) for line in lines]


errors = run("store", "web.thrum", "--to", TO.replace("s%40c", "wrong"), expected=2)
check("assword" in errors or "Authentication" in errors or "Wrong" in errors, errors)
run("store", *recordings, "--to", TO)
TABLES = "tasks", "runs", "waits", "counters", "histograms", "findings"
counts = {table: ask(f"select count() from {table} final")[0][0] for table in TABLES}
for _ in range(2):
    run("store", *recordings, "--to", TO)
check(counts == {table: ask(f"select count() from {table} final")[0][0] for table in TABLES}, "once", counts)
for recording in recordings:
    pid = json.loads(run("info", "--format=json", recording))["pid"]
    tasks = [task for task in rows("tasks", recording) if task["kind"] != "thread"]
    got = ask(f"select task, label, kind, state from tasks final where pid = {pid} order by task")
    expected = sorted(([task["task"], task["label"], task["kind"], task["state"]] for task in tasks),
                      key=lambda row: int(row[0]))
    check(got == expected, recording, got[:5], expected[:5])
    runs = len(rows("stats", recording, "--by=run", "--top=1000000"))
    values = rows("dump", recording, "--event=counter")
    check(ask(f"select count(), sum(value) from counters final where pid = {pid}") ==
          [[str(len(values)), str(sum(int(event["value"]) for event in values))]], "counters", recording)
check(ask("select pattern, for_pattern, ended is null from waits final where for_pattern = 'tape'") ==
      [["backup", "tape", "1"]], "the wait that hangs")
check(["never resolved", "backup"] in ask("select class, cause from findings final where cause = 'backup'"), "finding")

# A task that was open when it was stored first is there once when it has ended.
program = subprocess.Popen([f"{BUILD}/tests/thrum/programs/obeys"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           text=True, env={**os.environ, "THRUM_TRACE": os.path.join(folder.name, "open.thrum")})
for line, state in (("gauge level 7", ""), ("task 1 tab\\and “quotes”", "pending"), ("resolve", "resolved")):
    program.stdin.write(line + "\n")
    program.stdin.flush()
    program.stdout.readline()
    run("store", "open.thrum", "--to", TO)
    got = ask("select label, state from tasks final where program = 'open' and kind = 'request'")
    check(got == ([["tab\\\\and “quotes”", state]] if state else []), got)
program.stdin.close()
program.wait()

with open(os.path.join(SOURCE, "doc/fleet.md"), encoding="utf-8") as file:
    text = file.read()
queries = re.findall(r"```sql\n(.*?)```", text[text.index("## ClickHouse"):], re.S)
queries = [query.strip() for block in queries for query in block.split(";\n") if query.strip()]
check(len(queries) >= 10, "queries for ClickHouse in doc/fleet.md")
for query in queries:
    check(ask(query) or "'failed'" in query, "a query of doc/fleet.md gives nothing:", query)

# The histograms' percentiles are within 3.2 % of those of the tasks themselves. Rows of an earlier look don't count.
text, = (text for text in queries if "histograms" in text)
got = ask(text)
ask("insert into histograms select host, recording, 1, slot, program, pid, minute, pattern, kind, low + 1, high, tasks "
    "from histograms")
check(got and ask(text) == got, "histograms of the last look", got, ask(text))
for *group, count, p50, p99 in got:
    hour, host, pattern = group
    lengths = [int(row[0]) for row in ask(
        f"""select took from tasks final where kind = 'request' and ended is not null and pattern = '{pattern}' and
        host = '{host}' and toStartOfHour(toDateTime(intDiv(ended, 1000000000))) = '{hour}' order by took""")]
    check(int(count) == len(lengths), "count", group, count, len(lengths))
    for part, ms in (0.5, p50), (0.99, p99):
        true = lengths[math.ceil(part * len(lengths)) - 1]
        check(abs(float(ms) * 1e6 - true) <= 0.032 * true + 1, "percentile", group, part, ms, true)

# A finding that a later look doesn't have is no more.
found = ask("select count() from findings final where class <> ''")
check(ask("select count() from last_findings") == found != [["0"]], "findings of the only look")
program = subprocess.Popen([f"{BUILD}/tests/thrum/programs/obeys"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           text=True, env={**os.environ, "THRUM_TRACE": os.path.join(folder.name, "late.thrum")})
for lines, pause, late in (("task 20 query 1", "resolve", "task 1 query 2"), 2, 1), (("resolve",), 0, 0):
    for line in lines:
        program.stdin.write(line + "\n")
        program.stdin.flush()
        program.stdout.readline()
    time.sleep(pause)
    run("store", "late.thrum", "--to", TO)
    got = ask("select count() from last_findings where program = 'late'")
    check(got == [[str(late)]], "findings of the last look", got, late)
found = ask("select count() from findings final where program = 'late' and class <> ''")
check(found == [["1"]], "the look before", found)
program.stdin.close()
program.wait()

# A server's recordings are inserted as they come, and once.
if missing():
    print("not tried: --follow, as", missing())
    finish()
server, state = Server(), os.path.join(folder.name, "state")
expected = int(counts["tasks"])
for more in recordings, ["open.thrum"]:
    run("ship", *more, "--to", server.url(), "--state", state, "--once")
    expected += more == ["open.thrum"]
    store = Command("store", "--follow", "--every=100ms", server.url(), "--to", TO.replace("traces", "followed"),
                    "-o", os.path.join(folder.name, "note"))
    wait_until("its table", lambda: ask("select 1 from system.tables where name = 'tasks' and database = 'followed'"))
    wait_until("all is inserted", lambda: ask("select count() from tasks final", "followed") == [[str(expected)]])
    check(store.end() == 0, store.output)
got = ask("select distinct program, for_program from waits final where for_program <> program order by program",
          "followed")
check(got == [["stock", "database"], ["web", "stock"]], "waits for other processes", got)
check(not os.path.exists(os.path.join(folder.name, "note/tasks")), "no files")
server.kill()
finish()
