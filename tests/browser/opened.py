"""Files opened in a browser by viewers.mjs, and programs like it, which have a browser and take one question a line."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MODULES = Path(os.environ.get("PERF2X_BROWSER_MODULES", HERE))


class Browser:
    """A program of this folder with a browser of its own; both end with this process."""

    def __init__(self, script: str, *words: str) -> None:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        if not chromium or not shutil.which("node"):
            pytest.skip("no Chromium or no Node here: apt-get install chromium nodejs npm")
        if not (MODULES / "node_modules/playwright-core").is_dir():
            pytest.skip("no playwright-core here: npm ci --prefix tests/browser")
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it ends with the program
        self._process = subprocess.Popen(
            ["node", str(HERE / script), chromium, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True, cwd=MODULES,
        )  # fmt: skip

    def ask(self, question: dict[str, Any], seconds: int) -> Any:
        """The program's answer; where it fails, or has none after some time, the next one gets a new program."""
        assert self._process.stdin and self._process.stdout
        watch = threading.Timer(seconds, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps(question, default=str) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline() or "{}")
        finally:
            watch.cancel()
        if "told" not in answer:
            self._process.kill()
            browser.cache_clear()
            self._said.seek(0)
            raise AssertionError(answer.get("failed") or f"it ended, or took {seconds} s: {self._said.read()}")
        return answer["told"]


@cache
def browser(script: str, *words: str) -> Browser:
    """The running program, started for the first question; skips where there is no browser."""
    return Browser(script, *words)


def opened(folder: Path, jobs: dict[str, dict[str, Any]], scale: int = 1) -> dict[str, dict[str, Any]]:
    """The outcome of every job, from one browser; skips where there is none.

    Pictures go to the folder, with ``scale`` pixels for one of the page's in either direction.
    """
    speedscope = MODULES / "node_modules/speedscope/dist/release"
    if not speedscope.is_dir():
        pytest.skip("no viewers here: npm ci --prefix tests/browser")
    asking = {"jobs": [*jobs.values()], "shots": folder, "scale": scale}
    return dict(zip(jobs, browser("viewers.mjs", str(speedscope)).ask(asking, 400), strict=True))
