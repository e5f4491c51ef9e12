"""Runs the page's scripts under Node, without a browser: those that do not touch the page."""

import json
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import pytest

FOLDER = files("perf2x.emitters.flame") / "page"


def answers(scripts: tuple[str, ...], expression: str) -> Any:
    """The value of a JavaScript expression behind these scripts; skips the test where there is no Node."""
    text = "\n".join((FOLDER / name).read_text("utf-8") for name in scripts)
    return evaluated(expression, text)


def evaluated(expression: str, script: str = "") -> Any:
    """The value of a JavaScript expression behind a script; skips the test where there is no Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node here: apt-get install nodejs")
    program = f"{script}\nprocess.stdout.write(JSON.stringify({expression}));"
    words = [node, "--input-type=module", "-"] if "await " in expression else [node, "-"]
    ran = subprocess.run(words, input=program, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
