# SPDX-License-Identifier: ISC
"""A display of our own with a window manager, and the viewer in it, driven as a person would."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

NEEDED = ["Xvfb", "openbox", "xdotool"]
PATIENCE = 240  # s: less than meson waits for the test, so that it can tell what was missing


def missing():
    """Why nothing can be tried here, or None."""
    if "thread" in os.environ.get("SANITIZE", ""):
        return "TSan can't see how GLib, which isn't built for it, hands things to threads"
    tools = [tool for tool in NEEDED if not shutil.which(tool)]
    if tools:
        return ", ".join(tools) + " not installed"
    if not os.path.exists(os.path.join(os.environ["BUILD"], "thrum-gtk")):
        return "built without GTK 4"
    return None


class Desktop:
    """`with Desktop() as desktop:`; all that was started ends with it."""

    def __init__(self, width=1600, height=900):
        self.size = f"{width}x{height}x24"
        self.viewers = []

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        reading, writing = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", self.size, "-nolisten", "tcp"],
            pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise RuntimeError("Xvfb doesn't start")
        self.environment = dict(
            os.environ, DISPLAY=":" + number, GDK_BACKEND="x11", GSK_RENDERER="cairo",
            GTK_A11Y="none", GSETTINGS_BACKEND="memory", NO_AT_BRIDGE="1", LC_ALL="C.UTF-8",
            HOME=self.folder, XDG_CONFIG_HOME=self.folder, XDG_DATA_HOME=self.folder,
            XDG_RUNTIME_DIR=self.folder, DBUS_SESSION_BUS_ADDRESS="disabled:",
            # GTK and fontconfig keep what they made until the end.
            ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        self.environment.pop("WAYLAND_DISPLAY", None)
        os.chmod(self.folder, 0o700)
        self.manager = subprocess.Popen(["openbox"], env=self.environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        for viewer in self.viewers:
            viewer.end()
        for process in self.manager, self.server:
            process.terminate()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def xdotool(self, *arguments):
        done = subprocess.run(["xdotool", *map(str, arguments)], env=self.environment, text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        return done.stdout

    def picture(self, file):
        """The whole screen, as PNG; needs ImageMagick."""
        subprocess.run(["import", "-window", "root", file], env=self.environment, check=True,
                       timeout=PATIENCE)

    def view(self, *arguments, under=(), **environment):
        """Starts the viewer; `under`: the command that starts it."""
        viewer = Viewer(self, under, arguments, environment)
        self.viewers.append(viewer)
        return viewer


class Window:
    """A window as it was last told by the viewer."""

    def __init__(self, title):
        self.title, self.places, self.texts = title, {}, {}
        self.state = self.status = ""
        self.is_active = False

    def is_seen(self, name):
        return name in self.places


class Viewer:
    """thrum-gtk. `window` is its first window; what is looked for in vain fails."""

    def __init__(self, desktop, under, arguments, environment):
        self.desktop, self.folder = desktop, tempfile.mkdtemp(dir=desktop.folder)
        self.file = os.path.join(self.folder, "places")
        self.said = open(os.path.join(self.folder, "said"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [*under, os.path.join(os.environ["BUILD"], "thrum-gtk"), *arguments],
            stdout=self.said, stderr=subprocess.STDOUT,
            env=dict(desktop.environment, THRUM_GTK_PLACES=self.file, **environment))

    def told(self):
        """What the viewer says: the number of its turn, and its windows by title."""
        turn, found, window = 0, {}, None
        try:
            with open(self.file, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except OSError:
            return turn, found
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "turn":
                turn = int(rest)
            elif word == "window":
                window = found.setdefault(rest, Window(rest))
            elif word == "active":
                window.is_active = True
            elif word == "state":
                window.state = rest
            elif word == "status":
                window.status = rest
            else:
                parts = rest.split(" ", 5)
                if len(parts) >= 5 and parts[4] == "yes":
                    window.places[word] = tuple(int(part) for part in parts[:4])
                    window.texts[word] = parts[5] if len(parts) > 5 else ""
        return turn, found

    def windows(self):
        """All, in no order; as a dictionary by title."""
        return self.told()[1]

    def window(self, title=" – thrum"):
        """The window in whose title that is; of the viewer's own, any."""
        for name, window in self.windows().items():
            if title in name or name == "thrum":
                return window
        return Window("")

    def wait(self, what, condition):
        """Until condition(window) holds; returns what it gave."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            given = condition(self.window())
            if given:
                return given
            if self.process.poll() is not None:
                raise AssertionError(f"{what}: thrum-gtk has ended: {self.output()}")
            time.sleep(0.005)
        window = self.window()
        raise AssertionError(f"{what}: not within {PATIENCE} s; state \"{window.state}\", "
                             f"status \"{window.status}\", seen {sorted(window.places)}, "
                             f"windows {list(self.windows())}, said {self.output()!r}")

    def find(self, name):
        """The title of the window in which a widget is seen, and its place there; or None."""
        for title, window in self.windows().items():
            if window.is_seen(name):
                return title, window.places[name]
        return None

    def wait_seen(self, name):
        """Until it is seen; returns the title of its window, and its place there."""
        self.wait(f"{name} is seen", lambda _: self.find(name))
        self.settle()
        return self.wait(f"{name} is seen", lambda _: self.find(name))

    def wait_shown(self):
        return self.wait("the trace is shown", lambda window: window.is_seen("words") and
                         window.places.get("picture", (0, 0, 0))[2] > 100 and window.status)

    def wait_dialog(self):
        """Until a second window is there, with all it has."""
        self.wait("a dialog is there", lambda _: len(self.windows()) == 2)
        self.wait("the dialog has the keyboard", lambda window: not window.is_active)
        self.settle()

    def output(self):
        self.said.flush()
        with open(self.said.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def take_in(self):
        """Until all input that was given is taken in, and told; False: the viewer is gone."""
        first = self.told()[0]
        until = time.monotonic() + PATIENCE
        while self.told()[0] <= first + 1 and time.monotonic() < until:
            if self.process.poll() is not None:
                return False
            time.sleep(0.005)
        return True

    def settle(self):
        """Until nothing moves, either; a person sees what was made of a click before the next."""
        quiet, before = 0, None
        until = time.monotonic() + PATIENCE
        while quiet < 2 and time.monotonic() < until and self.take_in():
            now = [(title, window.places, window.is_active)
                   for title, window in self.windows().items()]
            quiet = quiet + 1 if now == before else 0
            before = now

    # ---- What a person does

    def shape(self, title="."):
        """A window on the screen, the largest: its number, left, top, width, height."""
        def look(_):
            found = []  # tooltips are windows, too
            # Windows that go meanwhile make xdotool fail.
            for number in self.desktop.xdotool("search", "--all", "--onlyvisible", "--pid",
                                               self.process.pid, "--name", title).split():
                told = dict(line.split("=") for line in self.desktop.xdotool(
                    "getwindowgeometry", "--shell", number).splitlines())
                if int(told.get("WIDTH", 0)) > 50:
                    found.append([int(told[name])
                                  for name in ("WINDOW", "X", "Y", "WIDTH", "HEIGHT")])
            return max(found, key=lambda shape: shape[3] * shape[4], default=None)
        return self.wait(f"window {title} is on the screen", look)

    def at(self, name, x=0.5, y=0.5):
        """A place on a widget, on the screen: parts of its size, or pixels from its corner if
        greater than 1."""
        title, (left, top, width, height) = self.wait_seen(name)
        corner = self.shape("^" + re.escape(title) + "$")[1:3]
        return (corner[0] + left + round(x if x > 1 else x * width),
                corner[1] + top + round(y if y > 1 else y * height))

    def point(self, name, x=0.5, y=0.5):
        self.desktop.xdotool("mousemove", *self.at(name, x, y))

    def click(self, name, x=0.5, y=0.5, button=1, times=1):
        self.point(name, x, y)
        self.take_in()
        if times == 1:
            self.press(button)
        else:
            self.desktop.xdotool("click", "--repeat", times, "--delay", 60, button)

    def press(self, button=1):
        """Where the pointer is. GTK 4.8 forgets a press when it finds the button up before the
        release has come."""
        self.desktop.xdotool("mousedown", button)
        self.take_in()
        self.desktop.xdotool("mouseup", button)

    def wheel(self, name, steps, x=0.5, y=0.5):
        """Upwards; downwards if negative."""
        self.click(name, x, y, 4 if steps > 0 else 5, abs(steps))

    def drag(self, name, start, end):
        begin, end = self.at(name, *start), self.at(name, *end)
        middle = [(a + b) // 2 for a, b in zip(begin, end)]
        self.desktop.xdotool("mousemove", *begin, "mousedown", 1, "sleep", 0.05, "mousemove",
                             *middle, "sleep", 0.05, "mousemove", *end, "sleep", 0.05,
                             "mouseup", 1)

    def wait_active(self):
        """Until the window manager has given the keyboard to one of its windows."""
        self.settle()
        self.wait("it has the keyboard", lambda _: any(
            window.is_active for window in self.windows().values()))

    def key(self, *keys):
        self.wait_active()
        self.desktop.xdotool("key", "--delay", 30, *keys)

    def type(self, text):
        self.wait_active()
        self.desktop.xdotool("type", "--delay", 15, text)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.said.close()


def run(cases):
    """Runs the cases (functions that take a desktop), all of them, and exits."""
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    failed = 0
    wanted = sys.argv[1:]
    with Desktop() as desktop:
        for case in cases:
            if wanted and case.__name__ not in wanted:
                continue
            begin = time.monotonic()
            try:
                case(desktop)
            except AssertionError as error:
                failed += 1
                print(f"{case.__name__}: {error}")
            for viewer in desktop.viewers:
                viewer.end()
            desktop.viewers.clear()
            print(f"{case.__name__}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    sys.exit(1 if failed else 0)
