"""Cached stacks equal those that would be built."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.base.columnar import take_rows_of
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.reader import first_walk
from perf2x.stitcher.stacks import raw_stack_cache
from perf2x.stitcher.stacks.raw_stack_cache import RawStackCache
from perf2x.stitcher.stacks.stack_rows import StackInputs
from tests.support import outputs
from tests.support.ragged_rows import ragged_of
from tests.support.recordings import CORPUS

SMALL = st.integers(-1, 1)
SAMPLES = st.tuples(
    st.lists(st.integers(0, 2), max_size=3), st.integers(0, 2), SMALL, SMALL, SMALL, SMALL, st.integers(0, 2)
)
BATCHES = st.lists(st.lists(SAMPLES, max_size=12), max_size=6)


def inputs_of(samples: list[tuple]) -> StackInputs:
    columns = [np.array([sample[at] for sample in samples], np.int64) for at in range(1, 7)]
    return StackInputs(ragged_of([sample[0] for sample in samples]), columns[0].astype(np.uint8), *columns[1:])


def cached(cache: RawStackCache, inputs: StackInputs, build: "Builder") -> np.ndarray:
    """The stack of each sample, as the stitcher uses the cache."""
    return cache.stacks(inputs, lambda rows: build(take_rows_of(inputs, rows)))


class Builder:
    """Numbers stacks by all that decides them."""

    def __init__(self) -> None:
        self.number: dict[tuple, int] = {}
        self.built = 0

    def __call__(self, inputs: StackInputs) -> np.ndarray:
        columns = zip(inputs.mode.tolist(), *(column.tolist() for column in inputs.columns()), strict=True)
        rows = [(tuple(chain.tolist()), key) for chain, key in zip(inputs.chain.rows(), columns, strict=True)]
        self.built += len(rows)
        return np.array([self.number.setdefault(row, len(self.number)) for row in rows], np.int32)


@given(BATCHES, st.integers(1, 30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cached_stacks_equal_built_ones(monkeypatch: pytest.MonkeyPatch, batches: list[list[tuple]], held: int) -> None:
    """With a cache that keeps everything, or forgets often."""
    monkeypatch.setattr(raw_stack_cache, "_MAX_ROWS", held)
    cache, builder, uncached = RawStackCache(), Builder(), Builder()
    for samples in batches:
        found = cached(cache, inputs_of(samples), builder).tolist()
        expected = uncached(inputs_of(samples)).tolist()
        assert len(set(zip(found, expected, strict=True))) == len(set(found)) == len(set(expected))


def test_a_cached_stack_is_not_built_again() -> None:
    cache, builder = RawStackCache(), Builder()
    samples = [([1, 2], 1, 0, 0, -1, -1, 0), ([1, 3], 1, 0, 0, -1, -1, 0)] * 5
    for _ in range(3):
        cached(cache, inputs_of(samples), builder)
    assert builder.built == 2


@pytest.mark.parametrize(
    ("limit", "samples", "built"), [("_MAX_ROWS", 20, 21), ("_EARLY_ROWS", 20, 21), ("_EARLY_ROWS", 60, 20)]
)
def test_a_cache_that_rarely_hits_is_cleared(
    limit: str, samples: int, built: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it is full, or earlier where stacks hardly repeat; 60 samples of 20 stacks are enough to go on."""
    monkeypatch.setattr(raw_stack_cache, limit, 10)
    cache, builder = RawStackCache(), Builder()
    batch = [([row % 20], 1, 0, 0, -1, -1, 0) for row in range(samples)]
    cached(cache, inputs_of(batch), builder)
    assert builder.built == 20
    cached(cache, inputs_of(batch[:1]), builder)
    assert builder.built == built


def test_stacks_stay_the_same_where_the_cache_is_always_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(CORPUS / "forker" / "perf.data")
    expected = outputs.emitted(load(path, LoadOptions()).profile, "collapsed")
    monkeypatch.setattr(raw_stack_cache, "_MAX_ROWS", 1)
    monkeypatch.setattr(first_walk, "BLOCK_SIZE", 1 << 14)
    monkeypatch.setattr(first_walk, "FEW_RECORDS", 8)
    assert outputs.emitted(load(path, LoadOptions()).profile, "collapsed") == expected
