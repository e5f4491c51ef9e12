"""Values of keys over time, against a plain search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.keyed_values import KeyedValues

KEYS = st.sampled_from([-2, -1, 0, 5, 7, 2**40])
SETTINGS = st.lists(st.tuples(KEYS, st.integers(0, 20), st.integers(0, 99)), max_size=30)
QUERIES = st.lists(st.tuples(KEYS, st.integers(0, 25)), min_size=1, max_size=20)


@given(SETTINGS, QUERIES)
def test_a_key_has_the_last_value_set_up_to_a_sequence(
    settings: list[tuple[int, int, int]], queries: list[tuple[int, int]]
) -> None:
    columns = [np.array(column, np.int64) for column in zip(*settings, strict=True)] or [np.zeros(0, np.int64)] * 3
    found = KeyedValues(*columns).at(*(np.array(column, np.int64) for column in zip(*queries, strict=True)))
    for (key, sequence), value in zip(queries, found.tolist(), strict=True):
        known = sorted((when, row) for row, (name, when, _) in enumerate(settings) if name == key and when <= sequence)
        assert value == (settings[known[-1][1]][2] if known else -1)
        assert KeyedValues(*columns).of_key(key, np.array([sequence], np.int64)).tolist() == [value]


@given(SETTINGS, KEYS, st.lists(st.integers(0, 25), max_size=6))
def test_values_of_one_key_are_those_of_each_sequence(
    settings: list[tuple[int, int, int]], key: int, sequences: list[int]
) -> None:
    columns = [np.array(column, np.int64) for column in zip(*settings, strict=True)] or [np.zeros(0, np.int64)] * 3
    values = KeyedValues(*columns)
    expected = [values.at(np.array([key], np.int64), np.array([sequence], np.int64))[0] for sequence in sequences]
    assert values.of_key(key, np.array(sequences, np.int64)).tolist() == expected


@pytest.mark.parametrize("keys", [[], [3]])
def test_unknown_keys_have_no_value(keys: list[int]) -> None:
    values = KeyedValues(np.array(keys, np.int64), np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64))
    assert values.at(np.array([-1, 4, 2**50], np.int64), np.array([9, 9, 9], np.int64)).tolist() == [-1, -1, -1]
