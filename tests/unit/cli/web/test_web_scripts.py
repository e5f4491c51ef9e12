"""The page's own scripts: their tests under Node, and formats that are those of the command."""

import shutil
import subprocess
from pathlib import Path

import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.cli.diff.diff_files import FORMATS as DIFFERENCES
from perf2x.kernel.registry import EMITTERS
from tests.support.page_scripts import evaluated

HERE = Path(__file__).parent
PAGE = HERE.parents[3] / "converter/perf2x/cli/web/page"


def test_the_words_of_commands() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node here: apt-get install nodejs")
    tests = sorted(map(str, HERE.glob("*.test.mjs")))
    ran = subprocess.run([node, "--test", *tests], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0 and tests, ran.stdout + ran.stderr


def test_formats_have_the_suffixes_of_the_command() -> None:
    formats = evaluated(f"(await import({str(PAGE / 'command_words.js')!r})).FORMATS")
    found = entry_points_by_name(EMITTERS)
    assert {name: one["suffix"] for name, one in formats.items()} == {
        name: found[name].load().suffix for name in formats
    }
    assert {name for name, one in formats.items() if one["compares"]} == set(DIFFERENCES)
