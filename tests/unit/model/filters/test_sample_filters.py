"""Filters on what samples say themselves, and the sentence where nothing passes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perf2x.errors import OptionError
from perf2x.model.filters.filter_options import Filters
from perf2x.model.filters.sample_filters import SampleFilter, SeenValues, column_of, format_seconds
from perf2x.model.filters.unmatched_filters import UnmatchedFilters, no_such_message


class Batch(SimpleNamespace):
    """Samples of three threads on two CPUs at 10, 20, 30 ns; the first is idle."""

    def __len__(self) -> int:
        return len(self.pid)


def batch(**other: Any) -> Any:
    columns = {
        "pid": np.array([0, 7, 7], np.int32),
        "tid": np.array([0, 7, 8], np.int32),
        "cpu": np.array([1, 0, 1], np.int32),
        "time": np.array([10, 20, 30], np.uint64),
    }
    return Batch(**columns | other)


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        (SampleFilter(), [1, 1, 1]),
        (SampleFilter({"pids": (7,)}), [0, 1, 1]),
        (SampleFilter({"tids": (7, 0)}), [1, 1, 0]),
        (SampleFilter({"cpus": (1,)}), [1, 0, 1]),
        (SampleFilter({"pids": (7,), "cpus": (1,)}), [0, 0, 1]),
        (SampleFilter({"no_idle": True}), [0, 1, 1]),
        (SampleFilter(times=((20, 29),)), [0, 1, 0]),
        (SampleFilter(times=((11, 20), (30, 2**64 - 1))), [0, 1, 1]),
        (SampleFilter(times=((10, 10),)), [1, 0, 0]),
        (SampleFilter({"no_idle": True}, times=((10, 20),)), [0, 1, 0]),
    ],
)
def test_who_passes(wanted: SampleFilter, passes: list[int]) -> None:
    """Both ends of a range count; of one kind any value may hold, all kinds must."""
    assert wanted.passes(batch()).tolist() == [bool(one) for one in passes]
    seen = SeenValues()
    assert seen.add(batch(), wanted).tolist() == [bool(one) for one in passes]
    assert (seen.sample_count, seen.passed_count) == (3, sum(passes))


@pytest.mark.parametrize(("name", "advice"), [("time", "perf record -T"), ("cpu", "perf record --sample-cpu")])
def test_what_samples_do_not_say_cannot_be_asked_for(name: str, advice: str) -> None:
    with pytest.raises(OptionError, match=f"{name}s: the samples have no {name}; record with: {advice}$"):
        column_of(batch(**{name: None}), name)


def refusal(wanted: SampleFilter, *batches: Any) -> str:
    """The message when no sample passes, in one process and in several."""
    seen, whole = SeenValues(), SeenValues()
    for one in batches:
        seen.add(one, wanted)
        part = SeenValues()
        part.add(one, wanted)
        whole.absorb(part)
    assert whole == seen
    try:
        seen.check(wanted, UnmatchedFilters())
    except OptionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (SampleFilter({"pids": (7, 9)}), "no pid 9; the file has: 0, 7"),  # each process should be there
        (SampleFilter({"tids": (5,)}), "no tid 5; the file has: 0, 7, 8"),
        (SampleFilter({"cpus": (0, 1, 2, 3)}), ""),  # of a range of CPUs some will do
        (SampleFilter({"cpus": (2, 3)}), "no cpu 2; the file has: 0, 1"),
        (SampleFilter(times=((40, 50),)), "no sample in that time; samples range from 0.000000010 to 0.000000030"),
        (SampleFilter({"pids": (0,), "no_idle": True}), ""),
        (SampleFilter({"pids": (7,)}, times=((10, 10),)), ""),
        (SampleFilter({"no_idle": True}, times=((10, 10),)), ""),
        (SampleFilter({"pids": (7,)}), ""),
    ],
)
def test_what_is_said_when_nothing_passes(wanted: SampleFilter, sentence: str) -> None:
    assert refusal(wanted, batch()) == sentence
    halves = [
        Batch(**{name: column[part] for name, column in vars(batch()).items()}) for part in (slice(1), slice(1, 3))
    ]
    assert refusal(wanted, *halves) == sentence
    assert refusal(wanted, *reversed(halves)) == sentence


def test_an_empty_recording_has_nothing_to_say() -> None:
    nothing = Batch(**{name: column[:0] for name, column in vars(batch()).items()})
    assert refusal(SampleFilter({"pids": (9,)}, times=((1, 2),)), nothing) == ""
    assert refusal(SampleFilter({"pids": (9,)})) == ""


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0, "0.000000000"), (10**9 - 1, "0.999999999"), (10**9, "1.000000000")]
)
def test_seconds(nanoseconds: int, text: str) -> None:
    assert format_seconds(nanoseconds) == text


def test_eight_names_are_shown_behind_close_ones() -> None:
    assert no_such_message("event", "x", []) == "no event 'x'; the file has: none"
    assert no_such_message("cpu", 3, ["1", "1", "2"]) == "no cpu 3; the file has: 1, 2"
    names = [f"name{at}" for at in range(8)]
    assert no_such_message("thread", "x", names) == f"no thread 'x'; the file has: {', '.join(names)}"
    nine = [*names, "cycles"]
    assert no_such_message("event", "cycle", nine) == (
        f"no event 'cycle'; did you mean cycles? The file has: {', '.join(names)} and 1 more"
    )


@pytest.mark.parametrize(
    "filters",
    [Filters(pids=(0,)), Filters(no_idle=True), Filters(max_stack=0), Filters(comms=("a",)), Filters(frames="kernel")],
)
def test_filters_that_are_set(filters: Filters) -> None:
    """To keep no frame at all is a filter, too."""
    assert filters
    assert not Filters()
