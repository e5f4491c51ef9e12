"""Filters on several recordings: one of them may have what was asked for, and the others nothing."""

from pathlib import Path

import pytest

from perf2x.errors import OptionError
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from tests.support.command import folded, perf2x, recording

CALLS, FORKER, EVENTS = recording("calls"), recording("forker"), recording("events")


@pytest.mark.parametrize(
    "wanted",
    [("--comm", "c*"), ("--pid", "21926"), ("--dso", "calls"), ("--symbol", "[calls]"), ("--time", "2747.9,2748.2")],
    ids=" ".join,
)
def test_one_of_two_has_it(wanted: tuple[str, str]) -> None:
    expected: dict[str, int] = {}
    for path in (CALLS, FORKER):
        ran = perf2x("convert", path, "--no-symbols", "-t", "collapsed", "--value", "samples", "-o", "-", *wanted, "-q")
        assert ran.code in (0, 2)
        for line in ran.out.splitlines():
            stack, _, number = line.rpartition(" ")
            expected[stack] = expected.get(stack, 0) + int(number)
    assert expected
    for inputs in ((CALLS, FORKER), (FORKER, CALLS)):
        assert folded(*inputs, *wanted) == expected


def test_each_has_another_one() -> None:
    both = folded(CALLS, FORKER, "--comm", "calls,execthread")
    assert both == folded(CALLS) | folded(FORKER, "--comm", "execthread")


def test_an_event_of_one_recording_is_the_one_shown() -> None:
    assert folded(CALLS, EVENTS, "-e", "page-faults") == folded(EVENTS, "-e", "page-faults")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (("--comm", "nobody"), "no thread called 'nobody'; the 2 recordings have: calls, forker, child, execthread"),
        (("--comm", "calls,nobody"), "no thread called 'nobody'; the 2 recordings have: calls, forker"),
        (("-e", "cycles"), "no event 'cycles'; the 2 recordings have: cpu-clock"),
        (("--symbol", "0x1-0x2"), "no sample at 0x1 to 0x2"),
        (("--time", "1,2"), "no sample in that time; samples range from 2747."),
        (
            ("--pid", "267", "--time", "2747.9,2748.2"),
            "no samples: the options exclude all of its 1,439 samples (--allow-empty continues anyway)",
        ),
    ],
    ids=lambda wanted: " ".join(wanted) if isinstance(wanted, tuple) else "",
)
def test_none_has_it(wanted: tuple[str, ...], message: str, tmp_path: Path) -> None:
    ran = perf2x("convert", CALLS, FORKER, "--no-symbols", "-t", "collapsed", *wanted, "-o", tmp_path / "out")
    assert ran.code
    assert message in ran.said
    assert not (tmp_path / "out").exists()


def test_a_wish_that_was_met_later_is_no_error() -> None:
    unmatched = UnmatchedFilters(3)
    unmatched.missed("cpu", 7, ["0"])
    unmatched.missed("cpu", 8, ["0"])
    unmatched.matched("cpu", 7)
    unmatched.missed("cpu", 8, ["1"])
    with pytest.raises(OptionError, match="no cpu 8; the 3 recordings have: 0, 1"):
        unmatched.check()
