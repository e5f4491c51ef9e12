"""The page's scripts as files: their size, nothing dead in them, and their own tests under Node."""

import io
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from perf2x.emitters.flame import page_file
from perf2x.kernel.registry import build_emitter
from perf2x.testing import ProfileBuilder
from tests.support.page_scripts import FOLDER

SCRIPTS = sorted(entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".js"))
TESTS = sorted(Path(__file__).parent.glob("page/*.test.mjs"))
LARGEST_PAGE = 140_000
MOST_LINES = 400


def page() -> str:
    out = io.BytesIO()
    build_emitter("html", {}).emit(ProfileBuilder().build(), out)
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
    assert sorted(page_file._SCRIPTS) == SCRIPTS


def test_what_the_page_leaves_out_leaves_scripts(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node here: apt-get install nodejs")
    (tmp_path / "page.js").write_text(page().split("<script>")[1].split("</script>")[0], "utf-8")
    ran = subprocess.run([node, "--check", tmp_path / "page.js"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_page_is_light_and_has_no_comments() -> None:
    text = page()
    assert len(text.encode()) < LARGEST_PAGE
    assert "function leftHeavy" in text
    assert "@param" not in text and "\n//" not in text and "\n  " not in text.split("<script>")[1]


@pytest.mark.parametrize(
    ("script", "light"),
    [
        ('const a = b ? "x = y" : `${ c + d } = ${e}`;', 'let a=b?"x = y":`${ c+d } = ${e}`;'),
        ("if (/[/ ] = /.test(a)) b = 0.5 - -c;\n\n  return (true);", "if(/[/ ] = /.test(a))b=.5 - -c;return(!0);"),
        ("f('it\\'s = 1', \"'\" + x)", "f('it\\'s = 1',\"'\"+x)"),
    ],
)
def test_space_is_left_out_of_code_and_stays_in_texts(script: str, light: str) -> None:
    assert page_file._light(script) == light


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short_and_says_its_purpose(name: str) -> None:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    assert len(lines) < MOST_LINES
    assert lines[0] == '"use strict";' and lines[1].startswith("// ")
    assert all(line.count("`") % 2 == 0 for line in lines)  # the page leaves out what lines are indented by


def test_no_name_of_the_scripts_is_unused() -> None:
    """Each file's names are the next file's, so that no linter can tell."""
    text = "\n".join((FOLDER / name).read_text("utf-8") for name in SCRIPTS)
    names = re.findall(r"^(?:async )?(?:function|class|const|let) ([\w$]+)", text, re.MULTILINE)
    used = Counter(re.findall(r"[\w$]+", text))
    unused = [name for name in names if used[name] == 1]
    assert names and not unused
    assert len(set(names)) == len(names)
