"""Rows get the number of their equals, whatever their hashes are, and at a cost that hardly grows with the table."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.columnar import hashing, interner
from perf2x.base.columnar.arrays import GrowableColumns
from perf2x.base.columnar.hashing import hash_columns, hash_rows, mix
from perf2x.base.columnar.interner import HashIndex, ListInterner, RowInterner
from tests.support.collisions import chains_alike, chains_alike_under_any_weights, other_weights, pairs_alike
from tests.support.examples import examples


@pytest.fixture
def digested(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All rows that were looked up by their digest, which costs a Python call each."""
    found: list[bytes] = []

    def digests(rows: Iterable[bytes]) -> list[bytes]:
        kept = list(rows)
        found.extend(kept)
        return hashing.digests(kept)

    monkeypatch.setattr(interner, "digests", digests)
    return found


class Numbers:
    """An index over single numbers."""

    def __init__(self) -> None:
        self.stored = GrowableColumns(np.int64)
        self.index = HashIndex()

    def number(self, values: np.ndarray, hashes: np.ndarray) -> list[int]:
        return self.index.number(
            hashes.astype(np.uint64),
            lambda rows, numbers: values[rows] == self.stored[0][numbers],
            lambda rows: self.stored.extend(values[rows]),
            lambda rows: (row.tobytes() for row in values[rows]),
        ).tolist()


HASHES = {
    "alike": lambda values: values * 0 + 7,
    "few bits": lambda values: values >> 3,
    "one walk": lambda values: (values << 42) + 5,
    "one walk, few hashes": lambda values: (values % 37 << 42) + 5,
    "good": lambda values: mix(values.astype(np.uint64)),
}


@pytest.mark.parametrize("kind", HASHES)
@settings(max_examples=examples(20))
@given(st.lists(st.lists(st.integers(0, 2**12), max_size=200), max_size=4))
def test_an_index_numbers_as_a_dictionary_does(kind: str, batches: list[list[int]]) -> None:
    """Numbers are dense and stay what they were, through every growth."""
    numbers, known = Numbers(), dict[int, int]()
    for batch in batches:
        values = np.array(batch, np.int64)
        found = numbers.number(values, HASHES[kind](values))
        assert all(known.setdefault(value, number) == number for value, number in zip(batch, found, strict=True))
    assert sorted(known.values()) == list(range(len(known)))
    assert numbers.stored[0].tolist() == [value for value, _ in sorted(known.items(), key=lambda item: item[1])]


@pytest.mark.parametrize("kind", HASHES)
def test_rows_are_found_again_when_the_table_has_grown(kind: str) -> None:
    numbers, expected = Numbers(), list[int]()
    for start in range(0, 12_000, 400):
        values = np.arange(start, start + 400, dtype=np.int64)
        expected += numbers.number(values, HASHES[kind](values))
    values = np.arange(12_000, dtype=np.int64)
    assert numbers.number(values, HASHES[kind](values)) == expected
    assert sorted(expected) == list(range(12_000))


@pytest.mark.parametrize("kind", HASHES)
def test_a_row_is_looked_up_by_its_digest_once_at_most(kind: str, digested: list[bytes]) -> None:
    numbers = Numbers()
    values = np.arange(16_000, dtype=np.int64)
    for rows in np.split(values, 8):
        numbers.number(rows, HASHES[kind](rows))
    assert len(digested) == len(set(digested)) < len(values)
    assert kind != "good" or not digested


def test_runs_are_few_and_merged_seldom() -> None:
    """Each is four times as long as the next: a word is merged once for each run that it passes through."""
    numbers = Numbers()
    values = np.arange(20_000, dtype=np.int64)
    for rows in np.split(values, 400):
        numbers.number(rows, HASHES["good"](rows))
        lengths = [len(run) for run in numbers.index._runs]
        assert all(long >= 4 * short for long, short in pairwise(lengths))
        assert sum(lengths) == len(numbers.index)
    numbers.number(values, HASHES["good"](values))
    assert [len(run) for run in numbers.index._runs] == lengths


def number_chains(words: np.ndarray) -> None:
    """Number (rows, length) words, all different, twice."""
    table = ListInterner()
    count, length = words.shape
    starts, lengths = np.arange(0, words.size, length, dtype=np.int64), np.full(count, length, np.int64)
    numbers = table.number_spans(words.reshape(-1), starts, lengths)
    assert sorted(numbers.tolist()) == list(range(count))
    assert table.number_spans(words.reshape(-1), starts, lengths).tolist() == numbers.tolist()


def test_chains_made_to_collide_cost_a_digest(digested: list[bytes]) -> None:
    """Whoever knows the weights can make any number of chains of three words collide."""
    chains = chains_alike(16_000)
    hashes = hash_rows(
        chains.reshape(-1), np.arange(0, chains.size, 3, dtype=np.int64), np.full(len(chains), 3, np.int64)
    )
    assert len(set(hashes.tolist())) == 1
    number_chains(chains)
    assert len(digested) == 2 * 15_999


def test_long_chains_made_to_collide_without_the_weights_cost_a_digest(digested: list[bytes]) -> None:
    chains = chains_alike_under_any_weights(6)
    length = chains.shape[1]
    hashes = hash_rows(
        chains.reshape(-1), np.arange(0, chains.size, length, dtype=np.int64), np.full(len(chains), length, np.int64)
    )
    assert len(set(hashes.tolist())) == 1
    number_chains(chains)
    assert len(digested) == 2 * (len(chains) - 1)


def test_columns_made_to_collide_cost_a_digest(digested: list[bytes]) -> None:
    first, second = pairs_alike(16_000)
    assert len(set(hash_columns(first, second).tolist())) == 1
    table = RowInterner(2)
    assert sorted(table.number(first.view(np.int64), second.view(np.int64)).tolist()) == list(range(16_000))
    assert len(digested) == 15_999


def test_chains_of_other_weights_do_not_collide(monkeypatch: pytest.MonkeyPatch, digested: list[bytes]) -> None:
    """Chains that collide in one process do not in the next."""
    chains = chains_alike(4_000)
    monkeypatch.setattr(hashing, "_weights", other_weights(1))
    hashes = hash_rows(
        chains.reshape(-1), np.arange(0, chains.size, 3, dtype=np.int64), np.full(len(chains), 3, np.int64)
    )
    assert len(set(hashes.tolist())) == 4_000
    number_chains(chains)
    assert not digested
