"""Hashes of rows depend on the rows alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar import hashing
from perf2x.base.columnar.hashing import hash_columns, hash_rows, mix
from perf2x.base.columnar.list_array import offsets_of
from tests.support.ragged_rows import ragged_of

WORDS = st.one_of(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1))
ROWS = st.lists(st.lists(WORDS, max_size=6), max_size=20)


def expected(row: list[int]) -> int:
    """The scalar twin: a polynomial modulo 2⁶⁴ of words that are blurred."""
    place, word = hashing.weights().base, int(hashing.weights().word_factor)
    blurred = [(value := one * word % (1 << 64)) ^ value >> 32 for one in row]
    total = len(row) + sum(one * pow(place, at, 1 << 64) for at, one in enumerate(blurred))
    return int(mix(np.array([total % (1 << 64)], np.uint64))[0])


@given(ROWS, st.integers(2, 40))
def test_hashes_of_rows(rows: list[list[int]], at_once: int) -> None:
    ragged = ragged_of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "_WORDS_AT_ONCE", at_once)
        hashes = hash_rows(ragged.values, ragged.offsets[:-1], ragged.lengths)
    assert hashes.tolist() == [expected(row) for row in rows]


def test_rows_that_differ_in_little_have_other_hashes() -> None:
    values = np.random.default_rng(7).integers(0, 50, 60_000).astype(np.uint64)
    lengths = np.full(20_000, 3)
    hashes = hash_rows(values, offsets_of(lengths)[:-1], lengths)
    rows = {tuple(row) for row in values.reshape(-1, 3).tolist()}
    assert len(set(hashes.tolist())) == len(rows)
    assert len(set((hashes >> np.uint64(32)).tolist())) >= len(rows) - 1
    columns = hash_columns(*values.reshape(-1, 3).T)
    assert len(set(columns.tolist())) == len(rows)
