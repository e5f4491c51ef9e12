"""Samples stand for others of a batch only if everything that decides their stacks is equal."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.reader import first_walk
from perf2x.stitcher import stitch
from perf2x.stitcher.stacks import raw_stack_cache
from perf2x.stitcher.stacks import raw_stack_cache as module
from perf2x.stitcher.stacks.raw_stack_cache import equal_inputs
from perf2x.stitcher.stacks.stack_rows import StackInputs
from tests.support import outputs
from tests.support.ragged_rows import ragged_of
from tests.support.recordings import CORPUS

SMALL = st.integers(-1, 1)
SAMPLES = st.tuples(
    st.lists(st.integers(0, 2), max_size=3), st.integers(0, 2), SMALL, SMALL, SMALL, SMALL, st.integers(0, 2)
)


def inputs_of(samples: list[tuple]) -> StackInputs:
    columns = [np.array([sample[at] for sample in samples], np.int64) for at in range(1, 7)]
    return StackInputs(ragged_of([sample[0] for sample in samples]), columns[0].astype(np.uint8), *columns[1:])


@given(st.lists(SAMPLES, min_size=1, max_size=30), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_sample_equals_the_one_that_stands_for_it(
    monkeypatch: pytest.MonkeyPatch, samples: list[tuple], collide: bool
) -> None:
    with monkeypatch.context() as patched:
        if collide:
            patched.setattr(module, "hash_columns", lambda first, *_: np.zeros(len(first), np.uint64))
        rows, place = equal_inputs(inputs_of(samples))
    assert [samples[row] for row in rows[place].tolist()] == samples
    assert rows.tolist() == sorted(set(rows.tolist()))


def test_equal_samples_are_built_once() -> None:
    samples = [([1, 2], 1, 0, 0, -1, -1, 0), ([1, 3], 1, 0, 0, -1, -1, 0)] * 50
    assert len(equal_inputs(inputs_of(samples))[0]) < 60


def test_stacks_stay_the_same_where_the_cache_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = str(CORPUS / "forker" / "perf.data"), []

    def counted(inputs: StackInputs) -> tuple[np.ndarray, np.ndarray]:
        found = equal_inputs(inputs)
        asked.append((len(inputs), len(found[0])))
        return found

    expected = outputs.emitted(load(path, LoadOptions()).profile, "collapsed")
    monkeypatch.setattr(stitch, "equal_inputs", counted)
    monkeypatch.setattr(raw_stack_cache, "_MAX_ROWS", 1)
    monkeypatch.setattr(raw_stack_cache, "_MIN_USES", 1e9)
    monkeypatch.setattr(first_walk, "SPAN", 1 << 14)
    monkeypatch.setattr(first_walk, "FEW_RECORDS", 8)
    assert outputs.emitted(load(path, LoadOptions()).profile, "collapsed") == expected
    assert any(stand < samples for samples, stand in asked)
