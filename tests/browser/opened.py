"""Files opened in a browser by viewers.mjs."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MODULES = Path(os.environ.get("PERF2X_BROWSER_MODULES", HERE))


def opened(folder: Path, jobs: dict[str, dict[str, Any]], scale: int = 1) -> dict[str, dict[str, Any]]:
    """The outcome of every job, from one run of one browser; skips where there is none.

    Pictures go to the folder, with ``scale`` pixels for one of the page's in either direction.
    """
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    speedscope = MODULES / "node_modules/speedscope/dist/release"
    if not chromium or not shutil.which("node"):
        pytest.skip("no Chromium or no Node here: apt-get install chromium nodejs npm")
    if not speedscope.is_dir():
        pytest.skip("no viewers here: npm ci --prefix tests/browser")
    command = ["node", str(HERE / "viewers.mjs"), chromium, str(speedscope), str(folder), str(scale)]
    asking = json.dumps(list(jobs.values()))
    ran = subprocess.run(command, input=asking, capture_output=True, text=True, cwd=MODULES, timeout=400, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(zip(jobs, json.loads(ran.stdout), strict=True))
