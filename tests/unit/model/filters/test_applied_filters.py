"""The bounds that shares of a recording's time count from, and what is asked before samples are read."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perf2x.base.abi.uapi import SampleType
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.filters.applied_filters import AppliedFilters, check_root
from perf2x.model.filters.filter_options import Filters
from perf2x.model.recording import Session as RecordedSession
from tests.forge import Sample, Session, write_file


class Batch(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.time) if self.time is not None else 1


def recording(*times: list[int] | None, known: dict[str, int] | None = None, sample_type: int = 0) -> Any:
    """Batches of samples at these times; None: without times."""
    batches = [Batch(time=None if one is None else np.array(one, np.uint64)) for one in times]
    features = {} if known is None else {"sample_time": known}
    events = [SimpleNamespace(sample_type=sample_type), SimpleNamespace(sample_type=0)]
    session: Any = RecordedSession("a recording", "<", events, features=features)  # type: ignore[arg-type]
    return SimpleNamespace(session=session, samples=lambda want: iter(batches), diagnostics=None)


def ranges(filters: Filters, from_: Any) -> tuple[tuple[int, int], ...]:
    return AppliedFilters(filters, from_)._batch_filter.times


@pytest.mark.parametrize("times", [([1000, 2000], [1500], []), ([1500], [2000], [1000]), ([2000, 1000], None)])
def test_shares_count_from_the_first_to_the_last_sample_of_all(times: tuple[list[int] | None, ...]) -> None:
    assert ranges(Filters(times=("0%-100%",)), recording(*times)) == ((1000, 2000),)
    assert ranges(Filters(times=("50%/1",)), recording(*times)) == ((1000, 1499),)


def test_what_perf_wrote_down_is_not_read_again() -> None:
    assert ranges(Filters(times=("0%-100%",)), recording([7], known={"first": 10, "last": 20})) == ((10, 20),)
    assert ranges(Filters(times=("0%-100%",)), recording([7], known={"first": 0, "last": 0})) == ((7, 7),)


def test_several_times_are_several_ranges() -> None:
    assert ranges(Filters(times=("1,2", "3,4 5,6")), recording()) == tuple(
        (first * 10**9, last * 10**9) for first, last in ((1, 2), (3, 4), (5, 6))
    )


def test_times_that_nobody_wrote_down() -> None:
    with pytest.raises(OptionError, match="the samples have no time; record with: perf record -T"):
        ranges(Filters(times=("10%/1",)), recording(None, []))
    with pytest.raises(OptionError, match="has no wall-clock time"):
        ranges(Filters(wall_times=("10:00:00,",)), recording([7]))


@pytest.mark.parametrize(
    ("root", "bit", "advice"), [("cpu", SampleType.CPU, "--sample-cpu"), ("cgroup", SampleType.CGROUP, "--all-cgroups")]
)
def test_roots_that_samples_do_not_say(root: str, bit: int, advice: str) -> None:
    """One event that says it is enough."""
    check_root(root, recording(sample_type=bit))
    check_root("comm", recording())
    with pytest.raises(OptionError, match=f"root: the samples have no {root}; .*perf record {advice}"):
        check_root(root, recording())


def test_filters_that_leave_nothing_together(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    filters = Filters(frames="kernel", max_stack=3)
    path.write_bytes(write_file(Session(), [Sample(ip=0x1000)]))
    with pytest.raises(FormatError, match="no samples: the options exclude all of its 1"):
        load(str(path), LoadOptions(filters=filters, allow_empty=False))
    assert not len(load(str(path), LoadOptions(filters=filters)).profile.samples)
