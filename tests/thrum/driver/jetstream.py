# SPDX-License-Identifier: ISC
"""NATS servers with JetStream on loopback."""

import atexit
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
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

    def __init__(self, name="server", config="", payload=65536):
        self.store, self.port, self.process = os.path.join(folder.name, name), 0, None
        self.hangs = False
        self.config = os.path.join(folder.name, name + ".conf")
        self.configure(config, payload)
        self.start()

    def configure(self, config, payload=65536):
        with open(self.config, "w", encoding="utf-8") as file:
            # Not by an option: it wouldn't hold when the server reads this again.
            file.write(f"jetstream: {{store_dir: '{self.store}'}}\nmax_payload: {payload}\n{config}")

    def reload(self, config):
        self.configure(config)
        self.process.send_signal(signal.SIGHUP)

    def start(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not self.port:
                with socket.create_server(("127.0.0.1", 0)) as free:
                    self.port = free.getsockname()[1]
            self.process = subprocess.Popen(
                ["nats-server", "-c", self.config, "-a", "127.0.0.1", "-p", str(self.port)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            atexit.register(self.process.kill)
            # It ends at once if the port is in use.
            while self.process.poll() is None and time.monotonic() < end:
                try:
                    socket.create_connection(("127.0.0.1", self.port)).close()
                    return
                except OSError:
                    time.sleep(0.05)
            self.port = 0
        sys.exit("no server starts")

    def hang(self, hangs=True):
        self.process.send_signal(signal.SIGSTOP if hangs else signal.SIGCONT)
        self.hangs = hangs

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, subject, body="{}", headers=""):
        """Sends a request without an account, or a message, and returns the answer."""
        head, body = (f"NATS/1.0\r\n{headers}\r\n\r\n" if headers else "").encode(), body.encode()
        sizes = f"{len(head)} {len(head) + len(body)}" if head else str(len(body))
        with socket.create_connection(("127.0.0.1", self.port), 5) as link, link.makefile("rb") as lines:
            link.sendall(f"CONNECT {{\"headers\":true}}\r\nSUB answer 1\r\n"
                         f"{'H' if head else ''}PUB {subject} answer {sizes}\r\n".encode() + head + body + b"\r\n")
            try:
                for line in lines:
                    if line.startswith(b"MSG answer"):
                        return lines.readline().decode()
            except TimeoutError:
                pass
        return ""

    def about(self, stream):
        """What the server tells about a stream."""
        return json.loads(self.ask("$JS.API.STREAM.INFO." + stream) or "{}")

    def url(self, rest=""):
        return f"nats://127.0.0.1:{self.port}{rest}"


class Cluster:
    """Three servers that know each other."""

    def __init__(self):
        places = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        routes = [f"127.0.0.1:{place.getsockname()[1]}" for place in places]
        for place in places:
            place.close()
        urls = [f"nats://{route}" for route in routes]
        self.nodes = [Server(f"node{i}", f"server_name: node{i}\ncluster {{name: thrum, listen: '{route}', "
                                         f"routes: {urls}}}\n") for i, route in enumerate(routes)]

    def url(self, rest=""):
        return "nats://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes) + rest

    def awake(self):
        return [node for node in self.nodes if node.process.poll() is None and not node.hangs]

    def leader(self, stream):
        """The node that leads a stream, and one that follows."""
        names = [node.about(stream).get("cluster", {}).get("leader", "") for node in self.awake()]
        leading = [node for node in self.nodes if node.store.endswith(max(names) or "nobody")]
        return (leading + [node for node in self.nodes if node not in leading])[:2] if leading else None

    def latest(self, subject):
        """The bytes of the latest packets."""
        answers = [json.loads(node.ask("$JS.API.STREAM.MSG.GET.THRUM_PACKETS", f'{{"last_by_subj": "{subject}"}}')
                              or "{}") for node in self.awake()[:1]]
        return base64.b64decode(answers[0].get("message", {}).get("data", ""))


class Proxy:
    """Stands before a server. Calls `stop` when clients have sent so many messages, the last of which is
    lost or not."""

    def __init__(self, server):
        self.server, self.left, self.loses_last, self.stop = server, 0, False, None
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self):
        return f"nats://127.0.0.1:{self.socket.getsockname()[1]}"

    def accept(self):
        while True:
            client = self.socket.accept()[0]
            there = socket.create_connection(("127.0.0.1", self.server.port))
            threading.Thread(target=self.take, args=(client, there), daemon=True).start()
            threading.Thread(target=self.answer, args=(client, there), daemon=True).start()

    def take(self, client, there):
        try:
            with client.makefile("rb") as lines:
                for line in lines:
                    is_message = line.startswith((b"PUB ", b"HPUB "))
                    self.left -= is_message
                    if is_message:
                        line += lines.read(int(line.split()[-1]) + 2)
                    is_last = is_message and self.left == 0
                    if not (is_last and self.loses_last):
                        there.sendall(line)
                    if is_last:
                        # A client may get here before the test has set `stop`.
                        wait_until("how to stop", lambda: self.stop)
                        self.stop()
                        break
        except OSError:
            pass
        there.close()

    @staticmethod
    def answer(client, there):
        try:
            while True:
                client.sendall(there.recv(65536) or sys.exit())
        except OSError:
            pass


def wait_until(what, true):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.1)
    check(False, "in time:", what)
