"""Help, versions and what the shell sees before any recording is opened."""

import subprocess
import sys

import pytest

from perf2x import __version__
from tests.support.command import folded, perf2x, recording

COMMANDS = ("convert", "top", "diff", "info", "bundle", "formats", "man")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from perf2x.cli import main; sys.argv = ['perf2x', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "sys.exit(' '.join({'numpy', 'rich', 'google', 'elftools'} & set(sys.modules)) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert all(command in ran.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_its_help(command: str) -> None:
    ran = perf2x(command, "--help")
    assert ran.code == 0
    assert f"perf2x {command}" in ran.out


def test_help_shows_brackets_as_they_are() -> None:
    out = perf2x("convert", "--help").out
    assert "[/tmp]" in out
    assert "_[k]" in out


def test_version() -> None:
    assert perf2x("--version").out == f"perf2x {__version__}\n"


def test_an_unknown_option_is_a_usage_error() -> None:
    ran = perf2x("convert", "--kernl-suffix")
    assert ran.code == 2
    assert "--kernel-suffix" in ran.err
    assert ran.out == ""


def test_options_come_from_the_environment_too() -> None:
    ran = perf2x(
        "convert", recording("calls"), "--no-symbols", "-o", "-", env={"PERF2X_TO": "collapsed", "PERF2X_QUIET": "1"}
    )
    assert (ran.code, ran.err) == (0, "")
    assert sum(int(line.rpartition(" ")[2]) for line in ran.out.splitlines()) == sum(
        folded(recording("calls"), value="period").values()
    )


def test_the_command_line_wins_over_the_environment() -> None:
    ran = perf2x(
        "convert", recording("calls"), "--no-symbols", "-t", "collapsed", "-o", "-", env={"PERF2X_TO": "pprof"}
    )
    assert ran.code == 0
    assert ran.out.startswith("calls;")
