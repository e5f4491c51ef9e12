"""Sequence numbers of events, against a plain comparison."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.stitcher.history.process_history import order_records

EVENTS = st.tuples(st.integers(0, 6), st.integers(0, 40))


@given(st.lists(EVENTS, max_size=20, unique_by=lambda event: event[1]), st.lists(EVENTS, min_size=1, max_size=20))
def test_the_sequence_counts_earlier_events(events: list[tuple[int, int]], queries: list[tuple[int, int]]) -> None:
    time = np.array([event[0] for event in events], np.uint64)
    position = np.array([event[1] for event in events], np.int64)
    order, in_force = order_records(time, position)
    found = order.sequence(np.array([q[0] for q in queries], np.uint64), np.array([q[1] for q in queries], np.int64))
    assert found.tolist() == [sum(event < query for event in events) for query in queries]
    assert in_force.tolist() == [sum(other <= event for other in events) for event in events]


def test_without_times_the_position_alone_decides() -> None:
    order, _ = order_records(np.zeros(3, np.uint64), np.array([10, 20, 30]))
    assert order.sequence(None, np.array([5, 10, 15, 30, 35])).tolist() == [0, 0, 1, 2, 3]
