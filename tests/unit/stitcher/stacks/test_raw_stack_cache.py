"""Cached stacks equal those that would be built."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.base.columnar import take_rows_of
from perf2x.stitcher.stacks import raw_stack_cache
from perf2x.stitcher.stacks.raw_stack_cache import RawStackCache
from perf2x.stitcher.stacks.stack_rows import StackInputs
from tests.support.ragged_rows import ragged_of

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
    if cache.skip(len(inputs)):
        return build(inputs)
    number, new = cache.number(inputs)
    return cache.stacks(number, build(take_rows_of(inputs, new)) if len(new) else None)


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


@given(BATCHES, st.integers(1, 30), st.sampled_from([0.0, 5.0, 1e9]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cached_stacks_equal_built_ones(
    monkeypatch: pytest.MonkeyPatch, batches: list[list[tuple]], held: int, pays: float
) -> None:
    """With a cache that keeps everything, forgets often, or is skipped for most samples."""
    monkeypatch.setattr(raw_stack_cache, "_MAX_ROWS", held)
    monkeypatch.setattr(raw_stack_cache, "_MIN_USES", pays)
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


@pytest.mark.parametrize(("limit", "samples"), [("_MAX_ROWS", 20), ("_EARLY_ROWS", 20), ("_EARLY_ROWS", 60)])
def test_a_cache_that_rarely_hits_is_skipped_for_a_while(
    limit: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it is full, or earlier where that is certain; 60 samples of 20 stacks are enough to go on."""
    monkeypatch.setattr(raw_stack_cache, limit, 10)
    monkeypatch.setattr(raw_stack_cache, "_PAUSE", 160)
    cache, builder = RawStackCache(), Builder()
    fresh = [([row % 20], 1, 0, 0, -1, -1, 0) for row in range(samples)]
    same = [([99], 1, 0, 0, -1, -1, 0)] * 10
    cached(cache, inputs_of(fresh), builder)
    skipped = 0 if samples == 60 else 160
    for _ in range(16):
        cached(cache, inputs_of(same), builder)
    assert builder.built == 20 + (skipped or 1)
    cached(cache, inputs_of(same), builder)
    assert builder.built == 20 + skipped + 1
