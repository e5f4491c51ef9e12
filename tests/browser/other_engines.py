"""Firefox by its Marionette protocol and WebKitGTK by WebDriver: what the tests need to open a page and look at it."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

MINI_BROWSERS = ("/usr/lib/*/webkit2gtk-4.1/MiniBrowser", "/usr/libexec/webkit2gtk-4.1/MiniBrowser")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


ANSWER = """const one = document.createElement("script");
const held = document.documentElement.dataset;
held.answer = "";
one.textContent = `document.documentElement.dataset.answer = JSON.stringify((${arguments[0]}) ?? null)`;
document.body.append(one);
one.remove();
return held.answer;"""
"""An element of the page, because its policy forbids eval, and drivers' own scripts may not see its variables."""


ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""WebDriver's key of an element."""


class Engine:
    """A browser with one window; scripts see the page's own variables."""

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self.folder = folder

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> None:
        raise NotImplementedError

    def call(self, command: str, words: dict[str, Any], how: str = "POST") -> Any:
        raise NotImplementedError

    def program(self, *words: object, **changed: str) -> None:
        """Start a program, which ends with the browser."""
        said = self._stack.enter_context((self.folder / "browser.log").open("a"))
        process = subprocess.Popen([*map(str, words)], stdout=said, stderr=said, env={**os.environ, **changed})
        self._stack.callback(process.wait)
        self._stack.callback(process.terminate)

    def script(self, text: str, *words: object) -> Any:
        """What a script of the driver returns: it sees the page's elements, whatever the page's policy."""
        return self.call("execute/sync", {"script": text, "args": words})

    def until_script(self, text: str, seconds: float = 120) -> Any:
        """The first true answer of a script."""
        end = time.monotonic() + seconds
        while not (answer := self.script(text)):
            assert time.monotonic() < end, f"{text} stayed false"
            time.sleep(0.05)
        return answer

    def element(self, selector: str) -> str:
        found = self.call("element", {"using": "css selector", "value": selector})
        return str(found[ELEMENT])

    def choose(self, selector: str, file: Path) -> None:
        """Choose a file in a field for files."""
        raise NotImplementedError

    def enter(self, selector: str = "") -> None:
        """Let scripts run in a frame, or in the page again."""
        raise NotImplementedError

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.script(ANSWER, script)
        assert answer, f"{script} failed"
        return json.loads(answer)

    def until(self, script: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"{script} did not become true"
            time.sleep(0.05)

    def open(self, url: str) -> None:
        self.call("url", {"url": "about:blank"})  # another fragment alone would not load the page again
        self.call("url", {"url": url})

    def resize(self, width: int, height: int) -> None:
        """Give the page itself this size; Firefox's windows are at least 500 wide, WebKitGTK's 447."""
        around = (0, 0)
        for _ in range(2):
            self.call("window/rect", {"width": width + around[0], "height": height + around[1]})
            time.sleep(0.3)
            inside = self.run("[innerWidth, innerHeight]")
            around = (around[0] + width - inside[0], around[1] + height - inside[1])


MARIONETTE = {
    "element": "FindElement",
    "execute/sync": "ExecuteScript",
    "url": "Navigate",
    "window/rect": "SetWindowRect",
}
"""Marionette's commands by WebDriver's paths."""


class Firefox(Engine):
    def start(self) -> None:
        found = shutil.which("firefox-esr") or shutil.which("firefox")
        if not found:
            pytest.skip("no Firefox here: apt-get install firefox-esr")
        port, profile = free_port(), self.folder / "firefox"
        profile.mkdir()
        (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        self.program(found, "--headless", "--no-remote", "--marionette", "--profile", profile, HOME=str(self.folder))
        self._socket, self._sent = self._connect(port), 0
        self._received = self._stack.enter_context(self._socket.makefile("rb"))
        self._read()
        self.call("NewSession", {"capabilities": {}})
        self.call("url", {"url": "about:blank"})  # in place of a tab that runs no scripts of others

    def choose(self, selector: str, file: Path) -> None:
        self.call("ElementSendKeys", {"id": self.element(selector), "text": str(file)})

    def enter(self, selector: str = "") -> None:
        self.call("SwitchToFrame", {"element": self.element(selector) if selector else None})

    def _connect(self, port: int) -> socket.socket:
        for _ in range(240):
            try:
                return self._stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            except OSError:
                time.sleep(0.25)
        raise AssertionError((self.folder / "browser.log").read_text())

    def _read(self) -> Any:
        size = b""
        while (letter := self._received.read(1)) != b":":
            assert letter, "Firefox has ended"
            size += letter
        return json.loads(self._received.read(int(size)))

    def call(self, command: str, words: dict[str, Any], how: str = "POST") -> Any:
        self._sent += 1
        text = json.dumps([0, self._sent, f"WebDriver:{MARIONETTE.get(command, command)}", words]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, answer = self._read()
        assert not error, error
        return answer.get("value", answer) if answer else None


class WebKit(Engine):
    def start(self) -> None:
        browsers = [one for pattern in MINI_BROWSERS for one in Path("/").glob(pattern[1:])]
        if not (shutil.which("WebKitWebDriver") and shutil.which("Xvfb") and browsers):
            pytest.skip("no WebKitGTK here: apt-get install webkit2gtk-driver xvfb")
        port, display = free_port(), f":{os.getpid() % 20000 + 100}"
        self.program("Xvfb", display, "-screen", "0", "3600x1700x24", "-nolisten", "tcp")
        self.program("WebKitWebDriver", f"--port={port}", DISPLAY=display, HOME=str(self.folder),
                     WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS="1")  # fmt: skip
        self._url = f"http://127.0.0.1:{port}/session"
        options = {"binary": str(browsers[0]), "args": ["--automation"]}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        for _ in range(120):
            try:
                self._url += "/" + self._ask("", wanted, "POST")["sessionId"]
                break
            except urllib.error.HTTPError as error:
                raise AssertionError(error.read().decode()) from None
            except OSError:
                time.sleep(0.25)
        self._stack.callback(self.call, "", {}, "DELETE")

    def choose(self, selector: str, file: Path) -> None:
        self.call(f"element/{self.element(selector)}/value", {"text": str(file)})

    def enter(self, selector: str = "") -> None:
        self.call("frame", {"id": {ELEMENT: self.element(selector)} if selector else None})

    def _ask(self, path: str, words: dict[str, Any], how: str) -> Any:
        data = json.dumps(words).encode() if how == "POST" else None
        request = urllib.request.Request(self._url + path, data, method=how)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def call(self, command: str, words: dict[str, Any], how: str = "POST") -> Any:
        try:
            return self._ask(f"/{command}" if command else "", words, how)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None


ENGINES = {"firefox": Firefox, "webkit": WebKit}
