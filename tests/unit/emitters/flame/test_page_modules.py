"""The page's scripts as files: their size, nothing dead in them, and their own tests under Node."""

import base64
import gzip
import io
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from perf2x.kernel.registry import build_emitter
from perf2x.testing import ProfileBuilder
from tests.support.page_scripts import FOLDER

SCRIPTS = sorted(entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".js"))
TESTS = sorted(Path(__file__).parent.glob("page/*.test.mjs"))
LARGEST_PAGE, MOST_SCRIPT = 120_000, 210_000
MOST_LINES = 400


def page(**options: object) -> str:
    out = io.BytesIO()
    build_emitter("html", options).emit(ProfileBuilder().build(), out)
    return out.getvalue().decode()


@pytest.mark.slow
def test_the_scripts_pass_their_own_tests() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node here: apt-get install nodejs")
    ran = subprocess.run([node, "--test", *map(str, TESTS)], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert TESTS


def test_all_scripts_are_in_the_page() -> None:
    packed = page().split('<script id="scripts" type="text/plain">')[1].split("</script>")[0]
    text = "".join((FOLDER / name).read_text("utf-8") for name in SCRIPTS)
    assert gzip.decompress(base64.b64decode(packed)).decode() == text
    assert text in page(compress=False)


def test_scripts_run_in_any_order() -> None:
    """None begins before all are read: Firefox needs variables of those below even in front of an await."""
    calls = [
        line
        for name in SCRIPTS
        for line in (FOLDER / name).read_text("utf-8").splitlines()
        if re.match(r"[\w$.]+\(|await |\(", line)
    ]
    assert [line.partition(";")[0] for line in calls] == ["queueMicrotask(start)"]


def test_the_page_is_light() -> None:
    """Half of it are scripts, packed; who writes more of them sees it here."""
    assert len(page().encode()) < LARGEST_PAGE
    assert len("".join((FOLDER / name).read_text("utf-8") for name in SCRIPTS)) < MOST_SCRIPT


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short_and_says_its_purpose(name: str) -> None:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    assert len(lines) < MOST_LINES
    assert lines[0] == '"use strict";' and lines[1].startswith("// ")


def test_no_name_of_the_scripts_is_unused() -> None:
    """Each file's names are the next file's, so that no linter can tell; one script of all has no name twice."""
    text = "\n".join((FOLDER / name).read_text("utf-8") for name in [*SCRIPTS, "page.html"])
    names = re.findall(r"^(?:async )?(?:function|class|const|let) ([\w$]+)", text, re.MULTILINE)
    used = Counter(re.findall(r"[\w$]+", text))
    unused = [name for name in names if used[name] == 1]
    assert names and not unused
    assert len(set(names)) == len(names)
