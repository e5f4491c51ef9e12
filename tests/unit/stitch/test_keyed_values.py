import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.stitch.history.event_order import order_events
from perf2x.stitch.history.keyed_values import KeyedValues

KEYS = st.sampled_from([-2, -1, 0, 5, 7, 2**40])
SETTINGS = st.lists(st.tuples(KEYS, st.integers(0, 20), st.integers(0, 99)), max_size=30)
QUERIES = st.lists(st.tuples(KEYS, st.integers(0, 25)), min_size=1, max_size=20)


@given(SETTINGS, QUERIES)
def test_the_last_value_set_by_then(settings: list[tuple[int, int, int]], queries: list[tuple[int, int]]) -> None:
    columns = [np.array(column, np.int64) for column in zip(*settings, strict=True)] or [np.zeros(0, np.int64)] * 3
    found = KeyedValues(*columns).at(*(np.array(column, np.int64) for column in zip(*queries, strict=True)))
    for (key, rank), value in zip(queries, found.tolist(), strict=True):
        known = sorted((when, row) for row, (name, when, _) in enumerate(settings) if name == key and when <= rank)
        assert value == (settings[known[-1][1]][2] if known else -1)
        assert KeyedValues(*columns).of(key, np.array([rank])).tolist() == [value]


PLACES = st.tuples(st.integers(0, 6), st.integers(0, 40))


@given(st.lists(PLACES, max_size=20, unique_by=lambda place: place[1]), st.lists(PLACES, min_size=1, max_size=20))
def test_moments_count_what_came_before(changes: list[tuple[int, int]], queries: list[tuple[int, int]]) -> None:
    time = np.array([change[0] for change in changes], np.uint64)
    position = np.array([change[1] for change in changes], np.int64)
    ranks, in_force = order_events(time, position)
    found = ranks.rank(np.array([q[0] for q in queries], np.uint64), np.array([q[1] for q in queries], np.int64))
    assert found.tolist() == [sum(change < query for change in changes) for query in queries]
    assert in_force.tolist() == [sum(other <= change for other in changes) for change in changes]


def test_without_times_the_position_alone_decides() -> None:
    ranks, _ = order_events(np.zeros(3, np.uint64), np.array([10, 20, 30]))
    assert ranks.rank(None, np.array([5, 10, 15, 30, 35])).tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("keys", [[], [3]])
def test_unknown_keys_have_no_value(keys: list[int]) -> None:
    timeline = KeyedValues(np.array(keys, np.int64), np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64))
    assert timeline.at(np.array([-1, 4, 2**50]), np.array([9, 9, 9])).tolist() == [-1, -1, -1]
