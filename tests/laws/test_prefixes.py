"""A recording without its end never passes for a whole one: every prefix is an error, or said to lack something."""

from pathlib import Path

import pytest

from perf2x.base.diagnostics import ENDS_EARLY
from tests import forge
from tests.support.command import perf2x, recording
from tests.support.extremes import EVENT
from tests.support.fleets import recording_of

PLAIN = recording_of(1)
RECORDS = [forge.Sample(time=row, ip=0x1000 + row) for row in range(200)]
KINDS = {
    "plain": PLAIN,
    "big-endian": forge.write_file(forge.Session(order=">"), RECORDS),
    "compressed": forge.write_file(forge.Session(zstd=700), RECORDS),
    "killed": forge.write_file(forge.Session((EVENT,), unfinished=True), RECORDS),
    "perf": Path(recording("per_thread")).read_bytes(),
    "perf -z": Path(recording("zstd")).read_bytes(),
}


def assert_told(content: bytes, place: Path) -> None:
    file, stats = place / "cut.data", place / "stats.json"
    file.write_bytes(content)
    words = ("convert", file, "--to", "collapsed", "-o", place / "out", "--no-symbols")
    ran = perf2x(*words)
    strict = perf2x(*words, "--strict", "-q")
    if ran.code == 1:
        assert strict.code == 1
        return
    assert ran.code == 0, len(content)
    assert "lost: " in ran.err, len(content)
    assert strict.code == 3
    lost = perf2x(*words, "--fail-if", "lost=99", "-q", "--stats", stats)
    assert (lost.code, "an unknown number of samples is missing (--fail-if lost)" in lost.err) == (3, True)
    assert any(f'"name": "{name}"' in stats.read_text() for name in ENDS_EARLY)


@pytest.mark.parametrize("kind", KINDS)
def test_prefixes(kind: str, tmp_path: Path) -> None:
    whole = KINDS[kind]
    for end in {*range(0, len(whole), max(1, len(whole) // 4)), len(whole) - 1}:
        assert_told(whole[:end], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_more_prefixes(kind: str, tmp_path: Path) -> None:
    whole = KINDS[kind]
    for end in {*range(0, len(whole), max(1, len(whole) // 211)), *range(len(whole) - 40, len(whole))}:
        assert_told(whole[:end], tmp_path)


def test_a_whole_one_passes(tmp_path: Path) -> None:
    for kind in ("plain", "compressed", "perf"):
        (tmp_path / "whole.data").write_bytes(KINDS[kind])
        words = ("convert", tmp_path / "whole.data", "--to", "collapsed", "-o", tmp_path / "out", "--no-symbols")
        ran = perf2x(*words, "--fail-if", "lost=0")
        assert (ran.code, "lost: " in ran.err) == (0, False), kind
