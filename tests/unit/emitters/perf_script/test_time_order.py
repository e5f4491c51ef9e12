"""Lines put in order of time while they come are those of a sort of all."""

from itertools import pairwise

import numpy as np
import pytest

from perf2x.emitters.perf_script.perf_script import TimeOrder
from perf2x.model.profile.recorded_samples import NEVER


@pytest.mark.parametrize("seed", range(20))
def test_as_if_all_had_been_sorted(seed: int) -> None:
    random = np.random.default_rng(seed)
    time = random.integers(0, 40, 200) + np.arange(200) // random.integers(1, 9)
    rows = [(int(each), row, b"%d %d\n" % (each, row)) for row, each in enumerate(time.tolist())]
    cuts = [0, *sorted(random.integers(0, 200, 5).tolist()), 200]
    order, written, most = TimeOrder(), [], 0
    for start, end in pairwise(cuts):
        behind = min((each for each, _, _ in rows[end:]), default=NEVER)
        chunks = [[b""] * (start % 3) + [line[:2], line[2:]] for _, _, line in rows[start:end]]
        lines = np.array(chunks, np.object_).reshape(end - start, 2 + start % 3)
        written.append(order.add(time[start:end].astype(np.uint64), np.arange(start, end), lines, behind))
        most = max(most, len(b"".join(written).splitlines()) - sum(each < behind for each, _, _ in rows[:end]))
    assert b"".join(written) == b"".join(line for _, _, line in sorted(rows))
    assert most == 0  # nothing is written too early, and nothing waits that could be written
