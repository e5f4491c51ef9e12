"""Answers that are remembered are those that would be found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar import hashing
from perf2x.base.columnar.lookup_cache import LookupCache
from tests.support.collisions import other_weights

KEYS = st.tuples(st.integers(-3, 3), st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]))
BATCHES = st.lists(st.lists(KEYS, max_size=12), max_size=5)


def answer(key: tuple[int, int]) -> int:
    return hash(key) % 1000 - 500


@given(BATCHES, st.integers(1, 3))
def test_answers_are_those_of_the_question(batches: list[list[tuple[int, int]]], bits: int) -> None:
    """With so few slots, keys drive each other out all the time."""
    memo = LookupCache(columns=2, bits=bits)
    for keys in batches:
        columns = [np.array([key[at] for key in keys], np.int64) for at in range(2)]

        def find(rows: np.ndarray, keys: list[tuple[int, int]] = keys) -> np.ndarray:
            assert len(rows)
            return np.array([answer(keys[row]) for row in rows], np.int64)

        assert memo.answers(find, *columns).tolist() == [answer(key) for key in keys]


def test_a_key_is_found_once_and_mostly_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the weights are: keys that drive each other out are found again by later questions, and are few."""
    keys = np.repeat(np.arange(50, dtype=np.int64), 20)
    for seed in range(200):
        monkeypatch.setattr(hashing, "_weights", other_weights(seed))
        memo, asked = LookupCache(), list[list[int]]()

        def find(rows: np.ndarray, asked: list[list[int]] = asked) -> np.ndarray:
            asked[-1].extend(keys[rows].tolist())
            return keys[rows] * 10

        for _ in range(2):
            asked.append([])
            assert memo.answers(find, keys).tolist() == (keys * 10).tolist()
        first, again = asked
        assert sorted(first) == list(range(50))
        assert len(again) <= 5


def test_a_table_grows_with_the_questions() -> None:
    memo = LookupCache(columns=2, bits=15)
    for count in (3, 300, 20, 9000, 40000):
        keys = np.arange(count, dtype=np.int64) % 5000
        assert memo.answers(lambda rows, keys=keys: keys[rows] * 3, keys, -keys).tolist() == (keys * 3).tolist()


def test_keys_made_to_collide_are_asked_for_in_one_go() -> None:
    """Keys whose two slots are the same: a few are learned, the others are found together and each only once."""
    memo = LookupCache(bits=4)
    keys = np.tile(np.arange(4_000, dtype=np.int64), 2)
    asked: list[int] = []

    def find(rows: np.ndarray) -> np.ndarray:
        asked.append(len(rows))
        return keys[rows] + 1

    for _ in range(3):
        asked.clear()
        assert memo.answers(find, keys).tolist() == (keys + 1).tolist()
        assert len(asked) <= 20
        assert sum(asked) <= 4_000
