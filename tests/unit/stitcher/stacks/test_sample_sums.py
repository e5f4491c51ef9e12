"""Sums of samples that are alike, against a dictionary."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.stitcher.stacks import sample_sums as sums
from perf2x.stitcher.stacks.sample_sums import SampleRows, SampleSums

ROWS = st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 2**48), st.integers(-1, 1), st.integers(-1, 1))
BATCHES = st.lists(st.lists(ROWS, max_size=10), max_size=5)


def sample_rows(rows: list[tuple[int, ...]], with_places: bool) -> SampleRows:
    columns = list(zip(*rows, strict=True)) or [()] * 6
    numbers = [np.array(column, np.int32) for column in columns[:3]]
    facts = [np.array(columns[3], np.int64), np.ones(len(rows), np.int64)]
    places = [np.array(column, np.int64) for column in columns[4:]] if with_places else []
    return SampleRows(*numbers, *facts, *places)


def tuples(rows: SampleRows) -> list[tuple[int, ...]]:
    places = [] if rows.cpu is None or rows.cgroup is None else [rows.cpu, rows.cgroup]
    return list(zip(*(column.tolist() for column in (rows.event, rows.thread, rows.stack, *places)), strict=True))


@given(BATCHES, st.booleans(), st.integers(1, 20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sums_agree_with_a_dictionary(
    monkeypatch: pytest.MonkeyPatch, batches: list[list[tuple[int, ...]]], with_places: bool, pending: int
) -> None:
    monkeypatch.setattr(sums, "_MIN_NEW_ROWS", pending)
    table, value, count = SampleSums(("cpu", "cgroup") if with_places else ()), Counter(), Counter()
    for rows in batches:
        table.add(sample_rows(rows, with_places))
        for row in rows:
            key = (*row[:3], *(row[4:] if with_places else ()))
            value[key] += row[3]
            count[key] += 1
    table.sum_all()
    found = table.rows()
    assert dict(zip(tuples(found), found.value.tolist(), strict=True)) == value
    assert dict(zip(tuples(found), found.count.tolist(), strict=True)) == count
    assert len(found) == len(value)
