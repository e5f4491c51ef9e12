"""perf's grammar of times, and names that hold commas."""

from datetime import datetime, timedelta, timezone

import pytest

from perf2x.errors import OptionError
from perf2x.model.filters.time_ranges import OPEN_END, parse_times, parse_wall_times
from perf2x.model.setting import split_names, split_numbers

S = 10**9


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("1.5,2", ((3 * S // 2, 2 * S),)),
        ("1.000000001,", ((S + 1, OPEN_END),)),
        (",2.25", ((0, 9 * S // 4),)),
        ("1,2 3,4", ((S, 2 * S), (3 * S, 4 * S))),
        ("10%/1", ((100 * S, 110 * S - 1),)),
        ("10%/10", ((190 * S, 200 * S),)),  # the last slice has the last sample
        ("25%", ((100 * S, 125 * S - 1),)),
        ("0%-10%,30%-40%", ((100 * S, 110 * S - 1), (130 * S, 140 * S - 1))),
        ("50%/2", ((150 * S, 200 * S),)),
    ],
)
def test_times(text: str, ranges: tuple[tuple[int, int], ...]) -> None:
    assert parse_times(text, 100 * S, 200 * S) == ranges


@pytest.mark.parametrize("text", ["5", "a,b", "2,1", "10%/11", "10%/0", "20%-10%", "1%2", "-1,2", "1,2,3", "10%-"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(OptionError):
        parse_times(text, 100 * S, 200 * S)


def test_commas_within_brackets_belong_to_names() -> None:
    assert split_names("comms", ["a,b", "map<int, int>::at,f(char, int)"]) == (
        "a",
        "b",
        "map<int, int>::at",
        "f(char, int)",
    )


def test_number_lists() -> None:
    assert split_numbers("cpus", ["0-2,7", "5"]) == (0, 1, 2, 5, 7)
    with pytest.raises(OptionError, match="cpus 'x'"):
        split_numbers("cpus", ["x"])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("7", (7,)),
        ("-1", (-1,)),
        ("3-3", (3,)),
        ("7, 0-2", (0, 1, 2, 7)),
        ("0-999999", tuple(range(10**6))),
    ],
)
def test_ranges_of_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert split_numbers("cpus", [text]) == numbers


@pytest.mark.parametrize("text", ["3-2", "0-1000000", "1-", "", "1,,2", "12345678901"])
def test_what_is_no_range_of_numbers(text: str) -> None:
    with pytest.raises(OptionError, match="pids"):
        split_numbers("pids", [text])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("operator()(int, int),b", ("operator()(int, int)", "b")),
        ("f{a,b},c", ("f{a,b}", "c")),
        ("operator>,b", ("operator>", "b")),
        (",a,,b,", ("a", "b")),
    ],
)
def test_names_that_hold_commas(text: str, names: tuple[str, ...]) -> None:
    assert split_names("comms", [text]) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0%-100.5%", "between 0% and 100%"),
        ("10%-10%", "its start before its end"),
        ("100%/2", "between 0% and 100%"),
        ("5%x", "expected slices"),
        ("7", "either may be left out"),
        ("3,2", "the start comes after the end"),
    ],
)
def test_what_is_wrong_with_a_time_is_said(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_times(text, 0, 1000)


def test_ends_of_times() -> None:
    """A moment is a range of itself; the whole has its last sample; shares without length keep their moment."""
    assert parse_times("2,2", 0, 9 * S) == ((2 * S, 2 * S),)
    assert parse_times("0%-100%", 5, 1005) == ((5, 1005),)
    assert parse_times("0%-50%", 5, 5) == ((5, 5),)
    assert parse_times("0%-1%", 0, 10) == ((0, 0),)
    assert parse_times("0.0000000019,", 0, 10) == ((1, OPEN_END),)


NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("12:00:01,12:00:02", S, 2 * S),
        ("12:00:00.5,", S // 2, OPEN_END - 7),
        (",12:00:00.000001", -7, 1000),
        ("2026-11-21T12:00:01,2026-11-21T12:00:02", S, 2 * S),
        ("2026-11-21T10:00:01+00:00,", S, OPEN_END - 7),
        ("12:00:03,12:00:03", 3 * S, 3 * S),
        ("2026-11-22,2026-11-22 00:00:01", 12 * 3600 * S, (12 * 3600 + 1) * S),
    ],
)
def test_times_of_the_wall_clock(text: str, since: int, until: int) -> None:
    """The clock of the recording showed 7 at noon; a time without a zone is in the zone of the recording's start."""
    offset = int(NOON.timestamp()) * S - 7
    assert parse_wall_times(text, NOON, offset) == ((since + 7, until + 7),)


def test_before_the_clock_began_is_its_beginning() -> None:
    assert parse_wall_times("2020-01-01T00:00:00,12:00:00", NOON, int(NOON.timestamp()) * S) == ((0, 0),)
    for text in ("noon,", "25:00:00,", "12:00:02,12:00:01", "12:00:00"):
        with pytest.raises(OptionError, match="wall_times"):
            parse_wall_times(text, NOON, 0)
