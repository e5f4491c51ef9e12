"""Thread and stack of each sample come back in the order of the file, in the profile's numbers."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from perf2x.base.columnar.arrays import I32
from perf2x.model.profile.recorded_samples import DROPPED
from perf2x.stitcher.stacks.sample_stacks import SampleSpools


def numbers(*values: int) -> I32:
    return np.array(values, np.int32)


class Batch(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.time)


def batch(*times: int) -> Any:
    return Batch(time=np.array(times, np.uint64), position=np.arange(len(times)))


def test_a_shard_of_a_dead_worker_lies_behind_those_before_it() -> None:
    """Two workers write to files of their own; the third one dies, and the first process writes once more."""
    first = SampleSpools()
    first.create_worker_spools(3)
    first.add(batch(5, 4), slice(None), numbers(0, 1), numbers(0, 1))
    for worker in (1, 2):
        other = SampleSpools()
        other._spools = first._spools
        other.use_spool_of(worker)
        other.add(batch(7), slice(None), numbers(0), numbers(worker))
        rows = other.rows()
        assert not rows.spools
        first.absorb(rows.renumber(numbers(9), numbers(3, 4, 5)))
    first.add(batch(8, 9), np.array([1]), numbers(2), numbers(2))
    whole = first.rows()
    assert whole.batch_end.tolist() == [2, 3, 4, 6]
    assert whole.batch_earliest.tolist() == [4, 7, 7, 8]
    thread, stack = whole.rows(0, 6)
    assert (thread.tolist(), stack.tolist()) == ([0, 1, 9, 9, -1, 2], [0, 1, 4, 5, -1, 2])
    assert [column.tolist() for column in whole.rows(1, 3)] == [[1, 9], [1, 4]]


def test_numbers_change_again_and_again() -> None:
    spools = SampleSpools()
    spools.add(batch(1, 2, 3, 4), np.array([0, 1, 2]), numbers(0, 1, 0), numbers(2, 1, 0))
    rows = spools.rows().renumber(numbers(5, 6), numbers(1, 0, -1)).renumber(None, numbers(DROPPED, 7))
    thread, stack = rows.rows(0, 4)
    assert (thread.tolist(), stack.tolist()) == ([5, -1, 5, -1], [-1, DROPPED, 7, -1])
    thread, stack = rows.renumber(None, numbers(*range(8))).rows(0, 4)
    assert (thread.tolist(), stack.tolist()) == ([5, -1, 5, -1], [-1, DROPPED, 7, -1])
