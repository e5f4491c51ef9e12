"""Standard streams that the caller closed: messages go nowhere, output without a place is an error, files are whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import recording
from tests.support.recordings import ROOT

CLOSED = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
CALLS = recording("calls")
LISTED = str(ROOT / "tests/unit/features/annotate/data/inlines.data")
PRINTS = {
    "info": ["info", CALLS], "top": ["top", CALLS], "report": ["report", CALLS], "dump": ["dump", CALLS],
    "diff": ["diff", CALLS, CALLS],
    "annotate": ["annotate", "*", LISTED, "--symfs", str(Path(LISTED).parent)], "formats": ["formats"],
    "convert": ["convert", CALLS, "--to", "pprof", "-o", "-"], "help": ["--help"],
    "version": ["--version"], "explain": ["explain", sys.executable],
}  # fmt: skip
WRITES = {
    "convert": ["convert", CALLS, "--to", "collapsed", "-o", "out"],
    "bundle": ["bundle", CALLS, "-o", "out"],
}


def run(words: list[str], closed: tuple[int, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell that closes streams; what it would print is caught all the same."""
    marks = {0: "<&-", 1: ">&-", 2: "2>&-"}
    shell = f'exec "$0" -m perf2x "$@" {" ".join(marks[number] for number in closed)}'
    command = ["sh", "-c", shell, sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "converter")},
    )  # fmt: skip


def _judge_printing(words: list[str], closed: tuple[int, ...], folder: Path) -> None:
    ran = run(words, closed, folder)
    assert "Traceback" not in ran.stderr
    assert ran.returncode == (1 if 1 in closed else 0), ran.stderr
    assert bool(ran.stdout) == (1 not in closed)
    if 1 in closed and 2 not in closed:
        assert "cannot write" in ran.stderr


def _judge_writing(words: list[str], closed: tuple[int, ...], folder: Path) -> None:
    whole = folder / "whole"
    assert run([*words[:-1], str(whole)], (), folder).returncode == 0
    ran = run(words, closed, folder)
    assert (ran.returncode, "Traceback" in ran.stderr, ran.stdout) == (0, False, ""), ran.stderr
    assert (folder / "out").read_bytes() == whole.read_bytes()


def test_info_and_convert_end_well(tmp_path: Path) -> None:
    _judge_printing(PRINTS["info"], (1,), tmp_path)
    _judge_printing(PRINTS["info"], (2,), tmp_path)
    _judge_writing(WRITES["convert"], (0, 1, 2), tmp_path)


def test_standard_input_that_is_closed_is_said(tmp_path: Path) -> None:
    ran = run(["info", "-"], (0,), tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "perf2x: standard input: Bad file descriptor\n")


@pytest.mark.slow
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("words", PRINTS.values(), ids=PRINTS)
def test_printing(words: list[str], closed: tuple[int, ...], tmp_path: Path) -> None:
    _judge_printing(words, closed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("words", WRITES.values(), ids=WRITES)
def test_writing(words: list[str], closed: tuple[int, ...], tmp_path: Path) -> None:
    _judge_writing(words, closed, tmp_path)
