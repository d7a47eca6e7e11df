#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`convert --to`: the viewers themselves read what it writes: speedscope's page, in Chromium, and
Perfetto's trace processor, where it is there. PERFETTO_PROTO names Perfetto's own perfetto_trace.proto, by which
protoc reads them. protobuf.py asks Go's pprof."""

import base64
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests/thrum/driver"))
from asks import check, failures, thrum  # noqa: E402

BUILD = os.environ["BUILD"]
PAGE = os.path.join(os.environ["SOURCE"], "tests/thrum/formats/node_modules/speedscope/dist/release/index.html")
PATIENCE = 90
PROCESSORS = ("trace_processor_shell", "trace_processor")


def browser():
    names = [os.environ.get("CHROMIUM", ""), "chromium-headless-shell", "chromium"]
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


def speedscope(data, folder):
    """Returns the title of speedscope's page once it has read a file: its name, or why it can't read it."""
    script = os.path.join(folder, "profile.js")
    with open(script, "w", encoding="ascii") as file:
        # Its message about a failure waits for somebody to press a button.
        file.write("window.alert = text => { document.title = 'failed: ' + text; };\n"
                   f"speedscope.loadFileFromBase64('profile', '{base64.b64encode(data).decode()}')")
    done = subprocess.run([browser(), "--headless", "--no-sandbox", "--use-gl=swiftshader", "--disable-dev-shm-usage",
                           "--enable-unsafe-swiftshader", "--allow-file-access-from-files",
                           f"--user-data-dir={folder}/browser", "--virtual-time-budget=20000", "--dump-dom",
                           f"file://{PAGE}#localProfilePath={script}"],
                          capture_output=True, check=False, timeout=PATIENCE, text=True, errors="replace")
    found = re.search("<title>(.*?)</title>", done.stdout)
    return html.unescape(found[1]) if found else done.stderr[-1000:]


def try_speedscope(traces, folder):
    if not os.path.exists(PAGE):
        print("skipped: speedscope is missing (tools/npm), nothing of it reads its format")
        return False
    if not browser():
        print("skipped: no Chromium, speedscope isn't asked")
        return False
    for trace, name in traces:
        data = thrum("convert", "--to=speedscope", trace, "-")
        title = speedscope(data, folder)
        check(title == f"{name} - speedscope", f"speedscope of {trace}: {title}")
    # It reads Chrome's format, too. A file has no name there.
    title = speedscope(thrum("convert", "--to=chrome", traces[0][0], "-"), folder)
    check(title == "profile - speedscope", f"speedscope of Chrome's: {title}")
    # An event that ends what has not begun.
    broken = json.loads(data)
    events = broken["profiles"][0]["events"]
    events[0]["type"] = "C"
    title = speedscope(json.dumps(broken).encode(), folder)
    check(not title.endswith(" - speedscope"), f"speedscope reads anything: {title}")
    return True


def try_perfetto(traces, folder):
    processor = next(filter(None, map(shutil.which, PROCESSORS)), None)
    if not processor:
        print("skipped: trace_processor_shell is missing, Perfetto isn't asked")
        return False
    query, path = os.path.join(folder, "query.sql"), os.path.join(folder, "trace.pftrace")
    with open(query, "w", encoding="ascii") as file:
        file.write("select count(*) as flows from flow; "
                   "select name, value from stats where severity = 'error' and value > 0;\n")
    for trace, _ in traces:
        thrum("convert", "--to=perfetto", trace, path)
        done = subprocess.run([processor, "-q", query, path], capture_output=True, check=False, text=True,
                              timeout=PATIENCE)
        lines = done.stdout.split()
        check(done.returncode == 0 and any(line.isdigit() and int(line) > 0 for line in lines), f"{trace}: {done}")
        check("track_event" not in done.stdout, f"{trace}: {done.stdout}")
    return True


def try_perfetto_proto(traces, folder):
    """Google's decoder reads the traces by Perfetto's own description of its format, without a field that
    this doesn't know."""
    proto = os.environ.get("PERFETTO_PROTO")
    if not proto or not shutil.which("protoc"):
        print("skipped: PERFETTO_PROTO names no perfetto_trace.proto, or protoc is missing")
        return False
    path = os.path.join(folder, "trace.pftrace")
    for trace, _ in traces:
        thrum("convert", "--to=perfetto", trace, path)
        with open(path, "rb") as file:
            done = subprocess.run(["protoc", "--decode=perfetto.protos.Trace", f"--proto_path={os.path.dirname(proto)}",
                                   proto], stdin=file, capture_output=True, check=False, text=True, timeout=PATIENCE)
        check(done.returncode == 0 and done.stdout.count("track_event {") > 20, f"{trace}: {done.stderr}")
        unknown = re.findall(r"^ *[0-9]+(?:: | \{).*", done.stdout, re.M)
        check(not unknown, f"{trace}: fields that Perfetto doesn't know: {unknown[:3]}")
    return True


with tempfile.TemporaryDirectory() as here:
    server, shop = os.path.join(here, "server.thrum"), os.path.join(here, "shop.thrums")
    subprocess.run([os.path.join(BUILD, "examples/server"), "--requests", "20"], check=True,
                   env={**os.environ, "THRUM_TRACE": server}, stdout=subprocess.DEVNULL)
    subprocess.run([os.path.join(BUILD, "examples/shop"), "hang"], cwd=here, check=False, capture_output=True)
    thrum("bundle", "-o", shop, *(os.path.join(here, f"{name}.thrum") for name in ("web", "stock", "database")))
    recordings = [(server, "server"), (shop, "web, stock, database")]
    asked = [ask(recordings, here) for ask in (try_speedscope, try_perfetto, try_perfetto_proto)]
sys.exit(1 if failures else 0 if any(asked) else 77)
