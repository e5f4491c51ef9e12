"""Rows of samples that are alike, against a dictionary."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.model.ragged import ragged_of
from perf2x.stitch.rows import Keys, RowTable

SMALL = st.integers(-1, 1)
SAMPLES = st.tuples(
    st.integers(0, 1), SMALL, SMALL, SMALL, st.integers(0, 3), SMALL, SMALL, SMALL, SMALL, st.integers(0, 2),
    st.sampled_from([0, 7, -5]), SMALL, st.integers(-1, 2), st.lists(st.integers(0, 2), max_size=2),
)  # fmt: skip
BATCHES = st.lists(st.tuples(st.lists(SAMPLES, max_size=12), st.booleans()), max_size=5)


@given(BATCHES)
def test_sums_are_those_of_a_dictionary(batches: list[tuple[list[tuple], bool]]) -> None:
    table, expected, seen = RowTable(with_places=True), Counter(), []
    numbers: list[int] = []
    for rows, fold in batches:
        keys = Keys(*(np.array([row[at] for row in rows], np.int64) for at in range(13)))
        chains = ragged_of([row[13] for row in rows])
        value = np.arange(1, len(rows) + 1, dtype=np.int64)
        settled = len(table) - table.pending
        numbers += table.add(
            keys, chains.values, chains.offsets[:-1], chains.lengths, value, np.zeros(len(rows), np.int64)
        ).tolist()
        for row, weight in zip(rows, value.tolist(), strict=True):
            expected[*row[:13], tuple(row[13])] += weight
            seen.append((*row[:13], tuple(row[13])))
        if fold:
            numbers = folded(table, numbers, settled)
    numbers = folded(table, numbers, len(table) - table.pending)
    found = contents(table)
    assert len(set(found)) == len(found) == len(expected)
    assert [found[number] for number in numbers] == seen
    assert dict(zip(found, table.values.tolist(), strict=True)) == expected
    assert table.counts.sum() == len(seen)


def folded(table: RowTable, numbers: list[int], settled: int) -> list[int]:
    new = table.fold().tolist()
    return [number if number < settled else new[number - settled] for number in numbers]


def contents(table: RowTable) -> list[tuple]:
    keys = zip(*(column.tolist() for column in table.keys().columns()), strict=True)
    return [(*key, tuple(chain.tolist())) for key, chain in zip(keys, table.chains().rows(), strict=True)]
