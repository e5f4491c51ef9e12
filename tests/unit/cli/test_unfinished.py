"""Whoever looks at a recording that perf record did not finish is told so without asking."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests import forge
from tests.support.command import perf2x
from tests.support.extremes import EVENT, SAMPLE
from tests.support.fleets import recording_of
from tests.support.timelines import page_data

SAID = "1 unfinished recording"


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A recording whose perf was killed in the middle of a record."""
    path = tmp_path / "killed.data"
    records = [replace(SAMPLE, time=row, ip=0x1000 + row) for row in range(20)]
    path.write_bytes(forge.write_file(forge.Session((EVENT,), unfinished=True), records)[:-5])
    return path


@pytest.mark.parametrize(
    "words",
    [("top",), ("dump",), ("convert", "--to", "pprof", "-o"), ("diff",), ("info",), ("report",), ("script",)],
)
def test_commands_say_it(killed: Path, words: tuple[str, ...]) -> None:
    last = (killed.with_suffix(".out"),) if "-o" in words else (killed,) if words == ("diff",) else ()
    ran = perf2x(words[0], killed, *words[1:], *last)
    assert ran.code == 0
    (line, *_) = [line for line in (ran.err + ran.out).splitlines() if SAID in line]
    assert "killed, or still runs" in line  # what to know comes before the bytes of the record that was cut


@pytest.mark.parametrize("form", ["html", "svg"])
def test_pictures_say_it(killed: Path, form: str, tmp_path: Path) -> None:
    out = tmp_path / "picture"
    plain = ("--set", "compress=no") if form == "html" else ()
    assert perf2x("convert", killed, "--to", form, "-o", out, "-q", *plain).code == 0
    assert SAID in out.read_text(encoding="utf-8")


def test_pages_of_two_recordings_say_it(killed: Path, tmp_path: Path) -> None:
    other, out = tmp_path / "whole.data", tmp_path / "page.html"
    other.write_bytes(recording_of(1))
    assert perf2x("diff", other, killed, "-o", out, "-q").code == 0
    assert [SAID in fact for fact in page_data(out.read_text(encoding="utf-8"))["facts"]] == [False, True]


def test_gates_count_it(killed: Path, tmp_path: Path) -> None:
    words = ("convert", killed, "--to", "pprof", "-o", tmp_path / "out", "-q")
    ran = perf2x(*words, "--strict")
    assert (ran.code, "1 unfinished recording (--strict)" in ran.err) == (3, True)
    ran = perf2x(*words, "--fail-if", "lost=99")
    assert (ran.code, "an unknown number of samples is missing (--fail-if lost)" in ran.err) == (3, True)
    assert perf2x(*words, "--fail-if", "lost=100").code == 0
