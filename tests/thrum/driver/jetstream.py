# SPDX-License-Identifier: ISC
"""A NATS server with JetStream on loopback."""

import os
import shutil
import socket
import subprocess
import sys
import time

from obeys import PATIENCE, check, folder, run


def missing():
    """Tells why nothing can be sent to a server here; "" if it can."""
    if not shutil.which("nats-server"):
        return "nats-server is missing"
    errors = run("info", "nats://127.0.0.1:1/web")[2]
    return "" if "can't be reached" in errors else errors


class Server:
    """nats-server with JetStream on a port of its own, which it keeps when it starts again."""

    def __init__(self, name="server", config=""):
        self.store, self.port, self.process = os.path.join(folder.name, name), 0, None
        self.config = os.path.join(folder.name, name + ".conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("max_payload: 65536\n" + config)
        self.start()

    def start(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not self.port:
                with socket.create_server(("127.0.0.1", 0)) as free:
                    self.port = free.getsockname()[1]
            self.process = subprocess.Popen(
                ["nats-server", "-c", self.config, "--jetstream", "--store_dir", self.store, "-a", "127.0.0.1",
                 "-p", str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # It ends at once if the port is in use.
            while self.process.poll() is None and time.monotonic() < end:
                try:
                    socket.create_connection(("127.0.0.1", self.port)).close()
                    return
                except OSError:
                    time.sleep(0.05)
            self.port = 0
        sys.exit("no server starts")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, subject, body="{}"):
        """Sends a request without an account, and returns the answer."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as link, link.makefile("rb") as lines:
            link.sendall(f"CONNECT {{}}\r\nSUB answer 1\r\nPUB {subject} answer {len(body)}\r\n{body}\r\n".encode())
            for line in lines:
                if line.startswith(b"MSG answer"):
                    return lines.readline().decode()
        return ""

    def url(self, rest=""):
        return f"nats://127.0.0.1:{self.port}{rest}"


def wait_until(what, true):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.1)
    check(False, "in time:", what)
