"""A recording with millions of cookies must stay small: at most 50 bytes a cookie, chains shared."""

import tracemalloc

import numpy as np

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.base.columnar.list_array import SharedRows
from perf2x.model.recording.sideband import Comms, DeferredChains
from perf2x.stitcher.deferred.cookie_matching import DeferredRecords
from tests.support.ragged_rows import ragged_of

COUNT = 300_000
EPOCH_BYTES = 4
"""The stitcher keeps one epoch beside each record."""


def test_a_cookie_costs_at_most_fifty_bytes() -> None:
    one = np.ones(1, np.int32)
    none = Comms(
        np.zeros(0, np.uint64), np.zeros(0, np.int64), one[:0], one[:0], DictionaryColumn.of([]), np.zeros(0, np.bool_)
    )
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    records = DeferredChains(
        time=np.arange(COUNT, dtype=np.uint64), position=np.arange(COUNT), pid=np.ones(COUNT, np.int32),
        tid=np.ones(COUNT, np.int32), cpu=np.ones(COUNT, np.int32), cookie=np.arange(COUNT, dtype=np.uint64),
        chain=SharedRows(np.zeros(COUNT, np.int32), ragged_of([[1, 2, 3]])),
    )  # fmt: skip
    index = DeferredRecords(records, none, True)
    batch = np.arange(1000, dtype=np.uint64)
    record, _ = index.match(batch, np.repeat(one, 1000), np.repeat(one, 1000), batch)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert (after - before) / COUNT + EPOCH_BYTES <= 50
    assert int((record >= 0).sum()) == 1000
