#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""thrum store: DuckDB reads the tables, which have what thrum shows; and the queries of doc/fleet.md run."""

import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile

THRUM, SOURCE, BUILD = os.environ["THRUM"], os.environ["SOURCE"], os.environ["BUILD"]
PATIENCE = 100  # s
folder = tempfile.TemporaryDirectory()
tables = os.path.join(folder.name, "tables")
failures = 0


def check(right, *what):
    global failures
    if not right:
        print("wrong:", *what)
        failures += 1


def run(*arguments, program=THRUM, expected=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=folder.name,
                          timeout=PATIENCE, check=False)
    check(done.returncode == expected, program, arguments, done.returncode, done.stderr)
    return done.stdout if expected == 0 else done.stderr


def files():
    return sorted(os.path.relpath(os.path.join(where, name), tables)
                  for where, _, names in os.walk(tables) for name in names)


if not os.path.exists(f"{BUILD}/examples/shop"):
    print("skipped: the examples aren't built")
    sys.exit(77)
run("hang", program=f"{BUILD}/examples/shop")
os.environ["THRUM_TRACE"] = os.path.join(folder.name, "server.thrum")
run("--seconds", "1", program=f"{BUILD}/examples/server")
recordings = ["web.thrum", "stock.thrum", "database.thrum", "server.thrum"]
run("store", *recordings, "-o", "tables")
before = files()
check({name.split("/")[0] for name in before} ==
      {"tasks", "runs", "waits", "counters", "histograms", "findings"}, before)
check(all(re.fullmatch(r"\w+/host=[^/]+/slot=\d{4}-\d\d-\d\dT\d\d-\d0/\w+-\d+-[0-9a-f]{8}\.parquet", name)
          for name in before), before)
run("store", *recordings, "-o", "tables")
check(files() == before, "the same files again", files())
for name in before:
    with open(os.path.join(tables, name), "rb") as file:
        content = file.read()
    check(content[:4] == content[-4:] == b"PAR1" and
          int.from_bytes(content[-8:-4], "little") < len(content), name)

# Errors.
check("-o FOLDER" in run("store", "web.thrum", expected=64), "no folder")
check("web.thrum" in run("store", "web.thrum", "-o", "web.thrum", expected=2), "a file is in the way")
run("store", "nothing.thrum", "-o", "other", expected=2)

# DuckDB.
query = os.path.join(SOURCE, "tests/store/query.mjs")
if not os.path.isdir(os.path.join(SOURCE, "tests/store/node_modules/@duckdb/node-api")):
    print("skipped: DuckDB is missing (tools/npm), nothing reads the tables")
    sys.exit(1 if failures else 77)


def ask(*queries):
    queries = [text.replace("'tables/", f"'{tables}/") for text in queries]
    done = subprocess.run(["node", query], input=json.dumps(queries), capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    if done.returncode != 0:
        print("wrong:", done.stderr[-2000:])
        sys.exit(1)
    return json.loads(done.stdout)


def rows(command, recording, *options):
    """What thrum prints as tab-separated values, by column."""
    names, *lines = [line.split("\t") for line in run(command, "--format=tsv", *options, recording).splitlines()]
    return [dict(zip(names, line)) for line in lines]


def expect(query_text, expected):
    got = ask(query_text)[0]
    check(got == expected, query_text, "gives", got[:5], "and not", expected[:5])


for recording in recordings:
    pid = json.loads(run("info", "--format=json", recording))["pid"]
    tasks = [task for task in rows("tasks", recording) if task["kind"] != "thread"]
    expect(f"""select task, label, kind, state from 'tables/tasks/**/*.parquet' where pid = {pid}
           order by task""",
           sorted(([task["task"], task["label"], task["kind"], task["state"]] for task in tasks),
                  key=lambda row: int(row[0])))
    values = rows("dump", recording, "--event=counter")
    expect(f"select count(*), sum(value) from 'tables/counters/**/*.parquet' where pid = {pid}",
           [[str(len(values)), str(sum(int(event["value"]) for event in values)) if values else None]])
    runs = rows("stats", recording, "--by=run", "--top=1000000")
    longest = runs[0]
    as_long = sum((row["task"], row["length"]) == (longest["task"], longest["length"]) for row in runs)
    expect(f"""select count(*) from 'tables/runs/**/*.parquet' where pid = {pid} and task = {longest["task"]}
           and took = {longest["length"]}
           and epoch_ns(ended) - epoch_ns(began) = took""", [[str(as_long)]])
expect("""select pattern, for_pattern, ended is null from 'tables/waits/**/*.parquet' where for_pattern = 'tape'""",
       [["backup", "tape", "true"]])
found = ask("select class, cause from 'tables/findings/**/*.parquet' where cause = 'backup'")[0]
check(["never resolved", "backup"] in found, found)

# Waits and findings that cross processes name the other process, and the task as its own table has it.
pids = {name: str(json.loads(run("info", "--format=json", name + ".thrum"))["pid"])
        for name in ("web", "stock", "database")}
ids = {task["label"]: task["task"] for name in pids for task in rows("tasks", name + ".thrum")}
expect("""select program, pattern, for_program, for_pid, waits_for from 'tables/waits/**/*.parquet'
       where for_program <> program and ended is null order by program""",
       [["stock", "count item #", "database", pids["database"], ids["select item 5"]],
        ["web", "GET /item/#", "stock", pids["stock"], ids["count item 5"]]])
expect("""select count(*), min(w.took) > 0, max(w.took) <= max(t.took) from 'tables/waits/**/*.parquet' w
       join 'tables/tasks/**/*.parquet' t on t.pid = w.pid and t.task = w.task
       where w.for_program = 'database' and w.program = 'stock' and w.ended is not null""", [["4", "true", "true"]])
hosts = "select distinct host from 'tables/tasks/**/*.parquet' where program = 'web'"
expect("""select program, task, cause_program, cause_pid, cause_task, cause_host from 'tables/findings/**/*.parquet'
       where cause = 'backup'""",
       [["web", ids["GET /item/5"], "database", pids["database"], ids["backup"], ask(hosts)[0][0][0]]])
alone = tempfile.mkdtemp(dir=folder.name)
run("store", "stock.thrum", "-o", alone)
check(ask(f"select count(*) from '{alone}/waits/**/*.parquet'")[0] == [["0"]] if
      os.path.isdir(os.path.join(alone, "waits")) else True, "no other side is known")

# Numbers stand as differences where that takes less room: of any size, and any count of them.
numbers = [0, 2**63 - 1, -2**63, -1, 2**63 - 1, 0, *range(1000, 1300), *(2**i for i in range(63)),
           *(-2**i for i in range(63))]
for count in 1, 2, 33, 128, 129, 130, len(numbers):
    name = f"numbers{count}"
    subprocess.run([f"{BUILD}/tests/thrum/programs/obeys"], text=True, stdout=subprocess.DEVNULL, check=True,
                   input="".join(f"gauge number {number}\n" for number in numbers[:count]),
                   env={**os.environ, "THRUM_TRACE": os.path.join(folder.name, name)})
    run("store", name, "-o", name + "-tables")
    got, = ask(f"""select value from '{folder.name}/{name}-tables/counters/**/*.parquet' where counter = 'number'
               order by time""")
    check([int(row[0]) for row in got] == numbers[:count], "numbers", count, got[:5])
used = ask(*(f"select distinct encodings from parquet_metadata('{tables}/{name}')" for name in files()))
for encoding in "DELTA_BINARY_PACKED", "PLAIN":
    check(any(encoding in row[0] for encodings in used for row in encodings), encoding)

with open(os.path.join(SOURCE, "doc/fleet.md"), encoding="utf-8") as file:
    queries = re.findall(r"```sql\n(.*?)```", file.read().split("## ClickHouse")[0], re.S)
check(len(queries) >= 10, "queries in doc/fleet.md")
for text, result in zip(queries, ask(*queries)):
    check(result or "'failed'" in text, "a query of doc/fleet.md gives nothing:", text)

# The histograms' percentiles are within 3.2 % of those of the tasks themselves, whatever is merged.
text, = (text for text in queries if "histograms" in text)
for unit in "hour", "minute":
    took = collections.defaultdict(list)
    for *group, length in ask(f"""select date_trunc('{unit}', ended) as unit, host, pattern, took
                                  from 'tables/tasks/**/*.parquet' where kind = 'request' and ended is not null""")[0]:
        took[tuple(group)].append(int(length))
    got = ask(text.replace("'hour'", f"'{unit}'"))[0]
    check({tuple(row[:3]) for row in got} == set(took) and max(map(len, took.values()), default=0) > 100, "groups", got)
    for *group, count, p50, p99 in got:
        lengths = sorted(took[tuple(group)])
        check(int(count) == len(lengths), "count", group, count, len(lengths))
        for part, ms in (0.5, p50), (0.99, p99):
            true = lengths[math.ceil(part * len(lengths)) - 1]
            check(abs(float(ms) * 1e6 - true) <= 0.032 * true + 1, unit, group, part, ms, true)
sys.exit(1 if failures else 0)
