"""The page of ``perf2x web`` in a browser: steps on it, taken by dropping.mjs."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import HERE, MODULES

Step = tuple[object, ...]


def dropped(site: Path, folder: Path, steps: list[Step]) -> tuple[list[Any], list[str]]:
    """What each step told, and the errors in the browser's console; skips where there is no browser."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium or not shutil.which("node"):
        pytest.skip("no Chromium or no Node here: apt-get install chromium nodejs npm")
    if not (MODULES / "node_modules/playwright-core").is_dir():
        pytest.skip("no playwright-core here: npm ci --prefix tests/browser")
    command = ["node", str(HERE / "dropping.mjs"), chromium, str(site), str(folder)]
    asking = json.dumps(steps, default=str)
    ran = subprocess.run(command, input=asking, capture_output=True, text=True, cwd=MODULES, timeout=900, check=False)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    return answer["told"], answer["errors"]
