import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.stitcher.stacks.sample_sums import TimedRows, TimedSamples

ROW = st.tuples(*[st.integers(-1, 2**31 - 1)] * 4, st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1))
BATCHES = st.lists(st.lists(ROW, max_size=4), max_size=6)
TYPES = (np.int32, np.int32, np.int32, np.int32, np.int64, np.uint64)


def timed(rows: list[tuple[int, ...]], by_cgroup: bool) -> TimedRows:
    columns = [np.array([row[at] for row in rows], kind) for at, kind in enumerate(TYPES)]
    return TimedRows(*columns, columns[4][::-1] if by_cgroup else None)


@given(BATCHES, st.booleans())
def test_rows_stay_in_order(batches: list[list[tuple[int, ...]]], by_cgroup: bool) -> None:
    table = TimedSamples(("cgroup",) * by_cgroup)
    for batch in batches:
        table.add(timed(batch, by_cgroup))
    rows = table.rows()
    columns = [getattr(rows, name).tolist() for name in TimedRows.__struct_fields__[:6]]
    assert list(zip(*columns, strict=True)) == [row for batch in batches for row in batch]
    assert (rows.cgroup is not None) == by_cgroup
    if rows.cgroup is not None:
        assert rows.cgroup.tolist() == [row[4] for batch in batches for row in batch[::-1]]
