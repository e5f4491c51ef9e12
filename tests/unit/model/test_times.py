"""perf's grammar of times, and names that hold commas."""

import pytest

from perf2x.model.choice import split_names, split_numbers
from perf2x.model.errors import OptionError
from perf2x.model.times import END, parse_times

S = 10**9


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("1.5,2", ((3 * S // 2, 2 * S),)),
        ("1.000000001,", ((S + 1, END),)),
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
    assert split_names(["a,b", "map<int, int>::at,f(char, int)"]) == ("a", "b", "map<int, int>::at", "f(char, int)")


def test_number_lists() -> None:
    assert split_numbers("--cpu", ["0-2,7", "5"]) == (0, 1, 2, 5, 7)
    with pytest.raises(OptionError, match="--cpu 'x'"):
        split_numbers("--cpu", ["x"])
