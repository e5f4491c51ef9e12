"""Base class for tests of programs that write datasets: ``class TestMine(DatasetContract)`` with the folder they wrote.

docs/parquet.md describes the tables. Only tests import this module; it needs nothing but pytest and pyarrow.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf2x.base.columnar.arrays import Bools, sum_of
from perf2x.storage.dataset.content_ids import IdIndex, columns_at, distinct_ids
from perf2x.storage.dataset.dataset_address import DatasetAddress
from perf2x.storage.dataset.dataset_folder import Storage, StoredFile, storage_at
from perf2x.storage.dataset.dataset_schema import PARTITIONED, SORTED_BY, TABLES, arrow, schema_of
from perf2x.storage.dataset.parquet_files import id_rows, is_known, read_table
from perf2x.storage.dataset.read.read_dataset import Dataset
from perf2x.storage.dataset.read.restore_profile import restore_meta, restore_profile
from perf2x.storage.dataset.sql.table_views import needed_files

if TYPE_CHECKING:
    import pyarrow


class DatasetContract:
    """A dataset that perf2x and engines can read, whoever wrote it."""

    def dataset(self) -> str | Path:
        """The folder, or the address, of a dataset with some recordings; override it."""
        raise NotImplementedError

    def test_every_file_says_its_schema_and_has_its_columns(self) -> None:
        for table in TABLES:
            for _, rows in self._files(table):  # read_table refuses what is no such file, and nulls where none may be
                assert rows.schema.equals(schema_of(table))

    def test_rows_are_sorted(self) -> None:
        for table in TABLES:
            for file, rows in self._files(table):
                keys = list(zip(*(rows[name].to_pylist() for name in SORTED_BY[table]), strict=True))
                assert keys == sorted(keys), file.name

    def test_there_are_recordings_and_each_has_one_row(self) -> None:
        idents = self._all("recordings")["recording"].to_pylist()
        assert idents
        assert len(set(idents)) == len(idents)

    def test_rows_of_a_recording_lie_in_files_of_one_name(self) -> None:
        for table in PARTITIONED[:-1]:
            for file, rows in self._files(table):
                home = f"recordings/{file.name.partition('/')[2]}"
                assert self._storage.exists(home), home
                with self._storage.open(home) as opened:
                    known = read_table(home, "recordings", file=opened)["recording"].to_pylist()
                assert set(rows["recording"].to_pylist()) <= set(known), file.name

    def test_equal_ids_mean_the_same(self) -> None:
        for table, name in (("nodes", "node_id"), ("places", "place_id")):
            rows = self._all(table)
            texts = (rows[column].combine_chunks().dictionary_encode() for column in _MEANING[table])
            distinct_ids(id_rows(rows, name), columns_at(*(text.indices.fill_null(-1).to_numpy() for text in texts)))

    def test_every_id_leads_somewhere(self) -> None:
        samples, nodes, places = (self._all(table) for table in ("samples", "nodes", "places"))
        assert _are_in(samples, "stack_id", nodes, "node_id").all()
        assert _are_in(nodes, "parent_id", nodes, "node_id").all()
        assert _are_in(nodes, "place_id", places, "place_id").all()
        assert _are_in(self._all("lines"), "place_id", places, "place_id").all()

    def test_rows_of_stacks_lie_in_files_of_their_recordings_or_of_none(self) -> None:
        samples = self._all("samples")
        for ident in set(samples["recording"].to_pylist()):
            own = arrow().array([one == ident for one in samples["recording"].to_pylist()], arrow().bool_())
            nodes, places = (self._of_recording(table, ident) for table in ("nodes", "places"))
            assert _are_in(samples.filter(own), "stack_id", nodes, "node_id").all(), ident.hex()
            assert _are_in(nodes, "parent_id", nodes, "node_id").all(), ident.hex()
            assert _are_in(nodes, "place_id", places, "place_id").all(), ident.hex()

    def test_samples_count_what_was_recorded(self) -> None:
        counts: dict[bytes, int] = {}
        samples = self._all("samples")
        for ident, number in zip(samples["recording"].to_pylist(), samples["count"].to_pylist(), strict=True):
            counts[ident] = counts.get(ident, 0) + number
        rows = self._all("recordings").to_pylist()
        assert all(counts.get(row["recording"], 0) <= row["samples"] for row in rows)
        assert all(row["recording"] not in counts for row in rows if row["error"] is not None)

    def test_timelines_have_times_and_sums_have_none(self) -> None:
        timelines = {row["recording"]: row["is_timeline"] for row in self._all("recordings").to_pylist()}
        samples = self._all("samples")
        for ident, time in zip(samples["recording"].to_pylist(), samples["time_ns"].to_pylist(), strict=True):
            assert timelines[ident] == (time is not None)

    def test_perf2x_reads_it(self) -> None:
        folder = self.dataset()
        if isinstance(folder, Path):  # the reader opens no addresses
            read = Dataset(DatasetAddress(folder, {}))
            for one in read.recordings:
                profile = restore_profile(read.rows_of(one), restore_meta(one.row))
                assert sum_of(profile.samples.count) <= one.row["samples"]

    @property
    def _storage(self) -> Storage:
        return storage_at(self.dataset())

    def _files(self, table: str) -> "Iterator[tuple[StoredFile, pyarrow.Table]]":
        for file in self._storage.files(table):
            with self._storage.open(file.name) as opened:
                yield file, read_table(file.name, table, file=opened)

    def _all(self, table: str, names: Sequence[str] | None = None) -> Any:
        parts = [rows for file, rows in self._files(table) if names is None or file.name in names]
        return arrow().concat_tables([schema_of(table).empty_table(), *parts]).combine_chunks()

    def _of_recording(self, table: str, ident: bytes) -> Any:
        """Rows that readers look for when they need those of one recording."""
        return self._all(table, needed_files([file.name for file in self._storage.files(table)], [ident]))


_MEANING = {
    "nodes": ("parent_id", "place_id"),
    "places": ("object_id", "file_offset", "mode", "is_return", "variant", "recording"),
}


def _are_in(rows: "pyarrow.Table", name: str, others: "pyarrow.Table", other_name: str) -> Bools:
    """(rows,) whether the id of a row is null, or among those of another table."""
    known = id_rows(others, other_name)
    found: Bools = IdIndex(known[distinct_ids(known)]).find(id_rows(rows, name)) >= 0
    return found | ~is_known(rows, name)
