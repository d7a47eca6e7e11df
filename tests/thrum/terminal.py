#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What thrum does on a terminal: colours, no binary data, and a shell's job control."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata

THRUM = os.environ["THRUM"]
EVERY = os.path.join(os.environ["BUILD"], "tests/thrum/programs/every")
HANGS = os.path.join(os.environ["BUILD"], "tests/why/programs/lost_reply")
OPS = os.path.join(os.environ["SOURCE"], "tests/read/data/mirage/ops.ctf")
PATIENCE = 30
failures = []


def check(right, what, output=b""):
    if not right:
        print(f"{what}: {output!r}")
        failures.append(what)


class Terminal:
    """A command with a terminal of its own."""

    def __init__(self, arguments, environment=None, columns=0):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
            environment = {**os.environ, "TERM": "xterm", "THRUM_PAGER": "",
                           **(environment or {})}
            environment = {name: text for name, text in environment.items() if text is not None}
            os.execvpe(arguments[0], arguments, environment)

    def read(self, seconds):
        """Reads what there is within some time; False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.output += data
        return data != b""

    def send(self, text):
        self.output = b""
        os.write(self.fd, text.encode())

    def wait_for(self, pattern):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not re.search(pattern, self.output):
            if not self.read(0.1):
                break
        if not re.search(pattern, self.output):
            os.kill(self.pid, signal.SIGKILL)
            sys.exit(f"no {pattern!r}: {self.output!r}")

    def interrupt_until(self, pattern):
        """Control-C, again and again: the first one may come before the job has the terminal, or just before a
        shell waits, which then runs no trap."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not re.search(pattern, self.output):
            os.write(self.fd, b"\x03")
            again = time.monotonic() + 2
            while time.monotonic() < again and not re.search(pattern, self.output):
                self.read(0.1)
        self.wait_for(pattern)

    def finish(self):
        """Returns the status and all output."""
        while self.read(PATIENCE):
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), self.output


def outputs(recording):
    plain = {"NO_COLOR": ""}
    status, output = Terminal([THRUM, "dump", recording], plain).finish()
    check(status == 0 and b"\033[32mcreate\033[0m" in output, "dump has no colours", output)
    # Terminals obey no part of a label.
    check(b"\033[31m" not in output and b"\\x1b[31m" in output, "an escape got through", output)
    for arguments, environment in ((["--color=never"], plain), ([], {"NO_COLOR": "1"}),
                                   ([], {**plain, "TERM": "dumb"}), (["-f", "tsv"], plain),
                                   (["-f", "json"], plain)):
        status, output = Terminal([THRUM, "dump", recording, *arguments], environment).finish()
        check(status == 0 and b"create" in output and b"\033" not in output,
              f"colours in spite of {arguments} {environment}", output)
    piped = subprocess.run([THRUM, "dump", recording], capture_output=True, check=True).stdout
    check(b"\033" not in piped, "colours in a pipe", piped)
    status, output = Terminal([THRUM, "snapshot", recording, "-o", "-"]).finish()
    check(status == 64 and b"terminal" in output, "a snapshot to the terminal", output)
    status, output = Terminal([THRUM, "dump", "-"]).finish()
    check(status == 64 and b"terminal" in output, "a trace from the terminal", output)


def width_of(line):
    """The columns that a line takes, without its colours and links."""
    plain = re.sub(r"\033\[[0-9;]*m|\033\].*?\033\\", "", line)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in plain)


def lines_of(command, columns, environment=None):
    status, output = Terminal([THRUM, *command], environment, columns).finish()
    check(status in (0, 1), f"{command} fails", output)
    return output.decode().replace("\r\n", "\n").splitlines()


def widths(recording):
    """Lines fit the terminal; what goes elsewhere is complete."""
    commands = [["tasks", recording], ["tasks", OPS], ["stats", recording], ["stats", OPS],
                ["stats", "--by=label", OPS], ["stats", "--histogram=*", recording],
                ["why", recording], ["why", OPS], ["why", "--task=1", OPS]]
    for command in commands:
        whole = subprocess.run([THRUM, *command], capture_output=True, check=False).stdout
        widest = max(map(width_of, whole.decode().splitlines()))
        for columns in (40, 60, 80, 100, 150):
            lines = lines_of(command, columns)
            wide = [line for line in lines if width_of(line) > columns]
            check(not wide, f"{command}: lines wider than {columns} columns", "\n".join(wide).encode())
            if columns >= widest:
                plain = re.sub(r"\033\[[0-9;]*m", "", "\n".join(lines) + "\n")
                check(plain.encode() == whole, f"{command} in {columns} columns", plain.encode())
    lines = lines_of(["tasks", recording], 80)
    check("label" in lines[0] and "state" in lines[0] and "site" not in lines[0], "columns left out",
          lines[0].encode())
    # A terminal that doesn't know its size.
    for environment, columns in (({"COLUMNS": "60"}, 60), ({"COLUMNS": "x"}, 80), ({}, 80)):
        lines = lines_of(["tasks", OPS], 0, {"COLUMNS": "", **environment})
        check(columns - 20 < max(map(width_of, lines)) <= columns, f"not {columns} columns",
              "\n".join(lines).encode())


def links():
    """Call sites are links to the source files that are there."""
    subprocess.run([HANGS, "hangs.thrum"], check=False)  # it kills itself
    why = ["why", "hangs.thrum"]
    piped = subprocess.run([THRUM, *why], capture_output=True, check=False).stdout.decode()
    file = re.search(r"\[(\S+\.c):\d+ ", piped).group(1)
    link = f"\033]8;;file://{socket.gethostname()}{os.path.realpath('there')}/a%20file.c\033\\"
    plain = {"NO_COLOR": ""}
    check("\033]8" not in Terminal([THRUM, *why], plain, 100).finish()[1].decode(),
          "a link to a file that isn't there")
    os.makedirs("there")
    open("there/a file.c", "w", encoding="utf-8").close()
    os.makedirs(os.path.join("here", os.path.dirname(file)))
    os.symlink(os.path.realpath("there/a file.c"), os.path.join("here", file))
    os.chdir("here")
    why[1] = "../hangs.thrum"
    output = Terminal([THRUM, *why], plain, 100).finish()[1].decode()
    check(f"[{link}{file}:" in output and "\033]8;;\033\\]" in output, "no link", output.encode())
    check(all(width_of(line) <= 100 for line in output.replace("\r\n", "\n").splitlines()),
          "lines with links are too wide", output.encode())
    others = [[name, why[1]] for name in ("dump", "tasks", "stats")]
    for command in others:
        output = Terminal([THRUM, "--no-pager", *command], plain, 250).finish()[1].decode()
        check(f"{link}{file}:" in output and output.count("\033]8;;\033\\") == output.count(link),
              f"no link by {command[0]}", output.encode())
    for command in (why, *others):
        command = ["--no-pager", *command]
        for environment in ({"NO_COLOR": "1"}, {**plain, "TERM": "linux"}, {**plain, "TERM": "dumb"}):
            output = Terminal([THRUM, *command], environment, 250).finish()[1]
            check(b"\033]" not in output, f"a link in spite of {environment}", output)
        output = Terminal([THRUM, *command, "--color=never"], plain, 250).finish()[1]
        check(b"\033]" not in output, "a link without colours", output)
        colored = subprocess.run([THRUM, *command, "--color=always"], capture_output=True,
                                 check=False).stdout
        check(b"\033]" not in colored, "a link in a pipe", colored)
    os.chdir("..")


def pagers(recording):
    """Long output goes through a pager, which thrum waits for; its own status stays."""
    mark = "sed 's/^/paged: /'"
    paged = {"THRUM_PAGER": mark, "NO_COLOR": "", "PAGER": "false"}
    tasks = ["tasks", recording]
    plain = lines_of(tasks, 80)
    for command in (tasks, ["dump", recording], ["stats", recording], ["info", recording],
                    ["why", OPS]):
        lines = lines_of(command, 80, paged)
        check(lines == ["paged: " + line for line in lines_of(command, 80)],
              f"{command} isn't paged", "\n".join(lines).encode())
    check(lines_of(tasks, 80, {"THRUM_PAGER": None, "PAGER": mark}) ==
          ["paged: " + line for line in plain], "PAGER isn't obeyed")
    for command, environment in ((["--no-pager", *tasks], paged), (tasks, {"THRUM_PAGER": "cat"}),
                                 (tasks, {"THRUM_PAGER": "/no/such program"})):
        lines = lines_of(command, 80, environment)
        check(lines[-len(plain):] == plain, f"{command} {environment}", "\n".join(lines).encode())
    if shutil.which("less"):
        lines = lines_of(tasks, 80, {"THRUM_PAGER": None, "PAGER": None, "LESS": None})
        check(any("patience" in line for line in lines), "less doesn't show the tasks",
              "\n".join(lines).encode())
    status, output = Terminal([THRUM, "why", OPS], paged).finish()
    check(status == 1, "a pager changes the status", output)
    status, output = Terminal([THRUM, "dump", recording], {"THRUM_PAGER": "head -n 1"}).finish()
    check(status == 0 and output.count(b"\n") == 1, "a pager that ends early", output)
    piped = subprocess.run([THRUM, *tasks], capture_output=True, check=True,
                           env={**os.environ, **paged}).stdout
    check(b"paged" not in piped, "a pager in a pipe", piped)
    # A signal ends thrum once the pager has ended.
    os.mkfifo("release")
    pager = """sh -c 'trap "echo interrupted" INT; cat >/dev/null; echo began
        while ! read line <release; do :; done; echo "$line"'"""
    held = os.open("release", os.O_RDWR)
    for number in (signal.SIGTERM, signal.SIGINT):
        terminal = Terminal([THRUM, *tasks], {"THRUM_PAGER": pager})
        terminal.wait_for(b"began")
        if number == signal.SIGINT:
            terminal.interrupt_until(b"interrupted")
        else:
            os.kill(terminal.pid, number)
        os.write(held, b"released\n")
        status, output = terminal.finish()
        check(status == -number and b"released" in output, f"{number}: {status}", output)
    os.close(held)


def jobs():
    """Control-Z and Control-C, as a shell's user knows them."""
    shell = Terminal(["bash", "--norc", "--noprofile", "-i"], {"PS1": "prompt> "})
    shell.wait_for(rb"prompt> $")
    # No loop here: a shell whose child stops between vfork and exec can't be stopped itself.
    program = "echo be''gan; exec sleep 100"
    shell.send(f"'{THRUM}' record -- sh -c '{program}'\n")
    shell.wait_for(rb"began")
    shell.send("\x1a")
    shell.wait_for(rb"Stopped[^\n]*record(.|\n)*prompt> $")
    shell.send("fg\n")
    shell.wait_for(rb"record -- sh")
    shell.interrupt_until(rb"recorded nothing(.|\n)*prompt> $")
    shell.send("echo status=$?\n")
    shell.wait_for(rb"status=130")
    # A program that handles the interrupt decides for itself.
    program = "trap \"exit 9\" INT; echo be''gan; while :; do sleep 0.05; done"
    shell.send(f"'{THRUM}' record -- sh -c '{program}'\n")
    shell.wait_for(rb"began")
    shell.interrupt_until(rb"recorded nothing(.|\n)*prompt> $")
    shell.send("echo status=$?\n")
    shell.wait_for(rb"status=9")
    # It gets each interrupt from the terminal, and not once more from thrum.
    program = "import signal, time; got = []; signal.signal(2, lambda n, f: got.append(n)); " \
        "print('be' + 'gan', flush=True); [time.sleep(0.01) for _ in iter(lambda: len(got), 1)]; " \
        "time.sleep(0.5); exit(40 + len(got))"
    shell.send(f"'{THRUM}' record -- python3 -c \"{program}\"\n")
    shell.wait_for(rb"began")
    shell.send("\x03")
    shell.wait_for(rb"thrum: (.|\n)*prompt> $")
    shell.send("echo status=$?\n")
    shell.wait_for(rb"status=41")
    shell.send("exit\n")
    shell.finish()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([EVERY, "every.thrum"], check=True)
    outputs("every.thrum")
    widths("every.thrum")
    links()
    pagers("every.thrum")
    jobs()
sys.exit(1 if failures else 0)
