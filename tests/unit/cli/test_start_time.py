"""``--start-time``: the summary says what is missing, and formats with a place for the time of day hold it."""

import json
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording
from tests.unit.cli.diff_inputs import read_pprof

UNKNOWN = "hint: This recording has no wall-clock time"
CLOCKED = Path(__file__).parent / "data" / "clocked.data"


def summary_of(*words: object) -> str:
    ran = perf2x("convert", *words, "--no-symbols")
    assert ran.code == 0, ran.err
    return ran.err


@pytest.mark.parametrize(("name", "times"), [("pprof", 0), ("otlp", 1), ("firefox", 1), ("collapsed", 0), ("html", 0)])
def test_the_summary_says_once_what_the_format_would_hold(name: str, times: int, tmp_path: Path) -> None:
    assert summary_of(recording("calls"), "-t", name, "-o", tmp_path / "out").count(UNKNOWN) == times


def test_a_recording_with_a_clock_or_a_given_time_is_not_mentioned(tmp_path: Path) -> None:
    assert UNKNOWN not in summary_of(CLOCKED, "-o", tmp_path / "out.pb.gz")
    assert UNKNOWN not in summary_of(recording("calls"), "--start-time", "file", "-o", tmp_path / "out.pb.gz")


def test_pprof_and_firefox_hold_the_time(tmp_path: Path) -> None:
    for name in ("out.pb.gz", "out.firefox.json"):
        summary_of(recording("calls"), "--start-time", "2026-11-21T10:00:05.25Z", "-o", tmp_path / name)
    assert read_pprof(tmp_path / "out.pb.gz").time_nanos == 1_795_255_205_250_000_000
    written = json.loads((tmp_path / "out.firefox.json").read_bytes())
    assert written["meta"]["startTime"] == 1_795_255_205_250  # milliseconds


def test_a_time_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    ran = perf2x("convert", recording("calls"), "--start-time", "noon", "-o", tmp_path / "out.pb.gz")
    assert ran.code == 2 and "'noon' is not a time" in ran.said
