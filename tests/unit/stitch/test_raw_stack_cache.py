"""Stacks that are remembered are those that would be put together."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.columnar.ragged import ragged_of
from perf2x.stitch import raw_stack_cache as recorded
from perf2x.stitch.raw_stack_cache import Recorded
from perf2x.stitch.stack_rows import Cuts

SMALL = st.integers(-1, 1)
SAMPLES = st.tuples(
    st.lists(st.integers(0, 2), max_size=3), st.integers(0, 2), SMALL, SMALL, SMALL, SMALL, st.integers(0, 2)
)
BATCHES = st.lists(st.lists(SAMPLES, max_size=12), max_size=6)


def cuts_of(samples: list[tuple]) -> Cuts:
    columns = [np.array([sample[at] for sample in samples], np.int64) for at in range(1, 7)]
    return Cuts(ragged_of([sample[0] for sample in samples]), columns[0].astype(np.uint8), *columns[1:])


class Maker:
    """Numbers stacks by all that decides them."""

    def __init__(self) -> None:
        self.number: dict[tuple, int] = {}
        self.asked = 0

    def __call__(self, cuts: Cuts) -> np.ndarray:
        columns = zip(cuts.mode.tolist(), *(column.tolist() for column in cuts.columns()), strict=True)
        rows = [(tuple(chain.tolist()), key) for chain, key in zip(cuts.chain.rows(), columns, strict=True)]
        self.asked += len(rows)
        return np.array([self.number.setdefault(row, len(self.number)) for row in rows], np.int32)


@given(BATCHES, st.integers(1, 30), st.sampled_from([0.0, 2.5, 1e9]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stacks_are_those_that_were_made(
    monkeypatch: pytest.MonkeyPatch, batches: list[list[tuple]], held: int, pays: float
) -> None:
    """Whether it remembers, forgets often, or lets most samples pass."""
    monkeypatch.setattr(recorded, "_ROWS_HELD", held)
    monkeypatch.setattr(recorded, "_PAYS", pays)
    table, maker, alone = Recorded(), Maker(), Maker()
    for samples in batches:
        found = table.stacks(cuts_of(samples), maker).tolist()
        expected = alone(cuts_of(samples)).tolist()
        assert len(set(zip(found, expected, strict=True))) == len(set(found)) == len(set(expected))


def test_what_was_there_is_not_made_again() -> None:
    table, maker = Recorded(), Maker()
    samples = [([1, 2], 1, 0, 0, -1, -1, 0), ([1, 3], 1, 0, 0, -1, -1, 0)] * 5
    for _ in range(3):
        table.stacks(cuts_of(samples), maker)
    assert maker.asked == 2


def test_a_table_that_hardly_ever_knows_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "_ROWS_HELD", 10)
    table, maker = Recorded(), Maker()
    fresh = [([row], 1, 0, 0, -1, -1, 0) for row in range(20)]
    same = [([99], 1, 0, 0, -1, -1, 0)] * 10
    table.stacks(cuts_of(fresh), maker)
    for _ in range(8):  # four times as many samples as it took to see that
        table.stacks(cuts_of(same), maker)
    assert maker.asked == 20 + 80
    table.stacks(cuts_of(same), maker)
    assert maker.asked == 20 + 80 + 1
