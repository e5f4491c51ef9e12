"""Answers of a cache are those of the function behind it, which is asked for what is not held."""

import numpy as np
import pytest

from perf2x.base.columnar.direct_mapped_cache import DirectMappedCache


@pytest.mark.parametrize("columns", [1, 2])
def test_answers_are_those_of_the_function(columns) -> None:
    """Six batches of keys, many of them in one slot, and numbers of either sign."""
    cache, random = DirectMappedCache(columns), np.random.default_rng(columns)
    for _ in range(6):
        keys = [
            random.choice(np.append(np.arange(-1, 60_000, dtype=np.int64), -(2**63)), 30_000) for _ in range(columns)
        ]
        keys[0][:9] = keys[0][9]
        answers = cache.answers(lambda rows, keys=keys: sum(key[rows] * 3 for key in keys), *keys)
        assert answers.tolist() == sum(key * 3 for key in keys).tolist()


def test_what_is_held_is_not_asked_again() -> None:
    cache, asked = DirectMappedCache(2), []
    one, other = np.array([5, 5, 7, -1], np.int64), np.array([1, 2, 1, -1], np.int64)

    def find(rows) -> np.ndarray:
        asked.append(rows.tolist())
        return one[rows] + 10 * other[rows]

    for _ in range(3):
        assert cache.answers(find, one, other).tolist() == [15, 25, 17, -11]
    assert asked == [[0, 1, 2, 3]]


def test_keys_that_want_one_slot_take_it_in_turn() -> None:
    """The last of a batch stays, with its own answer; the others are asked for apart."""
    cache, asked = DirectMappedCache(), []
    key = np.arange(1, 200_000, dtype=np.int64)
    slot = cache._slots((key,))
    one, other = np.flatnonzero(slot == slot[0])[:2].tolist()
    keys = key[[one, other]]

    def find(rows) -> np.ndarray:
        asked.append(keys[rows].tolist())
        return -keys[rows]

    for part in ([0, 1], [1], [0], [0, 1]):
        assert (
            cache.answers(lambda rows, part=part: find(np.array(part)[rows]), keys[part]).tolist()
            == (-keys[part]).tolist()
        )
    assert asked == [keys[row : row + 1].tolist() for row in (1, 0, 0, 1)]


def test_equal_questions_are_asked_once() -> None:
    cache, asked = DirectMappedCache(), []
    keys = np.tile(np.arange(300, dtype=np.int64), 9)

    def find(rows) -> np.ndarray:
        asked.extend(keys[rows].tolist())
        return -keys[rows]

    assert cache.answers(find, keys).tolist() == (-keys).tolist()
    assert len(asked) < 320
