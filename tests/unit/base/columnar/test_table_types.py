"""Tables know the types of their columns, so that empty ones and columns that are missing need no list of their own."""

import numpy as np
import pytest

from perf2x.base.columnar import join_tables
from perf2x.base.columnar.arrays import I32, U64, AnyArray, Bools, ColumnTable, SampleColumns, no_rows
from perf2x.model.recording.sideband import NO_RECORDS, TABLES, Sideband, Throttles
from perf2x.reader.records.record_decoders import DECODERS


class Rows(ColumnTable):
    time: U64
    cpu: I32
    is_out: Bools
    track: AnyArray
    lane: I32 | None = None


class Samples(SampleColumns):
    event: I32
    time: U64 | None = None
    cpu: I32 | None = None


def test_columns_of_an_empty_table_have_their_types() -> None:
    empty = no_rows(Rows)
    assert (len(empty), empty.lane) == (0, None)
    assert [column.dtype for column in (empty.time, empty.cpu, empty.is_out, empty.track)] == [
        np.uint64, np.int32, np.bool_, np.int64,
    ]  # fmt: skip


def test_a_table_is_never_changed() -> None:
    with pytest.raises(AttributeError):
        no_rows(Rows).cpu = np.zeros(1, np.int32)  # type: ignore[misc]


def test_times_and_cpus_that_samples_lack() -> None:
    lacking = Samples(np.zeros(2, np.int32))
    assert (lacking.times.tolist(), lacking.cpus.tolist()) == ([0, 0], [-1, -1])
    assert [column.dtype for column in (lacking.times, lacking.cpus)] == [np.uint64, np.int32]
    known = Samples(np.zeros(1, np.int32), np.array([7], np.uint64), np.array([3], np.int32))
    assert (known.times.tolist(), known.cpus.tolist()) == ([7], [3])


def test_every_decoder_has_a_table_and_every_table_is_one_of_the_side_band() -> None:
    assert {decoder.table for decoder in DECODERS.values()} == set(TABLES)
    assert TABLES["throttles"] is Throttles
    assert set(Sideband.__struct_fields__) - set(TABLES) == {"record_counts", "stream_end"}


def test_columns_of_texts_and_of_rows_are_empty_too() -> None:
    mmaps, namespaces, deferred = (getattr(NO_RECORDS, name) for name in ("mmaps", "namespaces", "deferred"))
    for table in (mmaps, namespaces, deferred):
        assert [len(getattr(join_tables([table, table]), name)) for name in table.__struct_fields__] == [0] * len(
            table.__struct_fields__
        )
    assert (list(mmaps.filename), list(namespaces.links.rows()), len(deferred.chain)) == ([], [], 0)
