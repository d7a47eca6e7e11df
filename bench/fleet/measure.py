#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""measure.py BUILD [HOSTS [SECONDS [EVENTS]]]: so many machines, each with a program and an agent, send so many
events a second to one server, all on this machine. Prints rates, processor time and losses."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time

BUILD = os.path.abspath(sys.argv[1])
HOSTS, SECONDS, EVENTS = (int(text) for text in (sys.argv[2:] + ["200", "60", "2000"][len(sys.argv) - 2:]))
os.environ.update(THRUM=os.path.join(BUILD, "thrum"), BUILD=BUILD)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/thrum/driver"))
from jetstream import Server, missing  # noqa: E402
from obeys import THRUM, folder  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def processor(process):
    """Seconds of processor time so far."""
    try:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / TICK


def memory(process):
    """Bytes that it has for itself."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="utf-8") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Private"))
    except OSError:
        return 0


def about(*traces):
    """What thrum info tells of each."""
    found = []
    for trace in traces:
        done = subprocess.run([THRUM, "info", "--format=json", trace], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        found.append(json.loads(done.stdout))
    return found


def fleet(server):
    done = subprocess.run([THRUM, "fleet", "list", "--format=json", server.url()], capture_output=True, text=True,
                          check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def begin(name, server):
    """Starts the agent of a machine."""
    at = os.path.join(folder.name, name)
    os.mkdir(at)
    return subprocess.Popen([THRUM, "ship", at, "--to", server.url(), "--host", name, "--state", at + "/state"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record(name):
    return subprocess.Popen([os.path.join(BUILD, "bench/fleet/program"), str(SECONDS), str(EVENTS)],
                            env={**os.environ, "THRUM_TRACE": f"{folder.name}/{name}/program.thrum",
                                 "THRUM_SIZE": "4M"})


def prefixes(names):
    """Patterns, each of which ten machines match."""
    return [prefix + "*" for prefix in sorted({name[:-1] for name in names})]


def read(server, names):
    """Reads all recordings, and returns the records and how long that took."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = about(*(server.url("/" + pattern) for pattern in prefixes(names)))
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(each["records"] for each in found), time.monotonic() - began,
            now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime, found)


def store(server, names):
    """Stores all recordings as tables. Returns how long that took, the processor time, the most memory in bytes,
    and the bytes of the files."""
    began, before, most = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN), 0
    at = os.path.join(folder.name, "tables")
    for pattern in prefixes(names):
        process = subprocess.Popen([THRUM, "store", server.url("/" + pattern), "-o", at], stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit("thrum store fails")
        most = max(most, used.ru_maxrss << 10)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    size = sum(os.path.getsize(os.path.join(where, name)) for where, _, files in os.walk(at) for name in files)
    return (time.monotonic() - began, now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime, most, size)


def main():
    if missing():
        print("left out:", missing())
        return 0
    server = Server("server", payload=1 << 20)
    names = [f"host{i:04}" for i in range(HOSTS)]
    agents = [begin(name, server) for name in names]
    time.sleep(2)
    programs = [record(name) for name in names]
    began = time.monotonic()
    for program in programs:
        program.wait()
    took = time.monotonic() - began
    end = began + 5 * SECONDS + 60
    while sum(row["state"] == "exited" for row in fleet(server)) < HOSTS and time.monotonic() < end:
        time.sleep(0.2)
    drained = time.monotonic() - began - took
    used = {"the server": processor(server.process), "an agent": sum(map(processor, agents)) / HOSTS}
    private = {"the server": memory(server.process), "an agent": sum(map(memory, agents)) / HOSTS}
    rows = fleet(server)
    stored = sum(row["bytes"] for row in rows)
    local = about(*(f"{folder.name}/{name}/program.thrum" for name in names))
    recorded = sum(each["records"] for each in local)
    for agent in agents:
        agent.terminate()
    for agent in agents:
        agent.wait()
    records, elapsed, cpu, found = read(server, names)
    stored_in, stored_cpu, most, size = store(server, names)
    server.kill()
    print(f"{HOSTS} machines, {SECONDS} s: {recorded / took:,.0f} records a second, {stored / took / 1e6:.1f} MB/s, "
          f"{recorded:,} in all")
    for who in used:
        print(f"{who}: {100 * used[who] / took:.2f} % of a processor, {private[who] / 1e6:.1f} MB of its own")
    print(f"the last is stored {drained:.1f} s after the programs' end")
    print(f"reading: {elapsed:.1f} s, {records / elapsed:,.0f} records a second, {cpu:.1f} s of processor time")
    print(f"storing as tables: {stored_in:.1f} s, {stored_cpu:.1f} s of processor time, at most {most / 1e6:.0f} MB "
          f"of memory, {size / 1e6:.1f} MB of files")
    print(f"losses: {recorded - records:,} records, {sum(row['overwritten'] for row in rows)} packets overwritten, "
          f"{sum(each['lost'] for each in local + found)} lost, {sum(each['gaps'] for each in found)} gaps")
    return 0


if __name__ == "__main__":
    if not shutil.which("nats-server"):
        print("left out: nats-server is missing")
        sys.exit(0)
    sys.exit(main())
