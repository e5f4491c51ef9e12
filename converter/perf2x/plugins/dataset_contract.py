"""Base class for tests of programs that write datasets: ``class TestMine(DatasetContract)`` with the folder they wrote.

docs/parquet.md describes the tables. Only tests import this module; it needs nothing but pytest and pyarrow.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf2x.base.columnar.arrays import sum_of
from perf2x.storage.dataset.dataset_address import DatasetAddress
from perf2x.storage.dataset.dataset_folder import Storage, storage_at
from perf2x.storage.dataset.dataset_schema import DATE, PARTITIONED, SORTED_BY, TABLES, arrow, schema_of
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.read.read_dataset import Dataset
from perf2x.storage.dataset.read.restore_profile import restore_meta, restore_profile
from perf2x.storage.dataset.table_log import DataFile

if TYPE_CHECKING:
    import pyarrow


class DatasetContract:
    """A dataset that perf2x and engines can read, whoever wrote it."""

    def dataset(self) -> str | Path:
        """The folder, or the address, of a dataset with some recordings; override it."""
        raise NotImplementedError

    def test_every_file_says_its_schema_and_has_its_columns(self) -> None:
        for table in TABLES:
            for _, rows in self._files(table):  # read_stored refuses what is no such file, and nulls where none may be
                assert rows.schema.equals(schema_of(table))

    def test_rows_are_sorted(self) -> None:
        for table in TABLES:
            for file, rows in self._files(table):
                keys = list(zip(*(rows[name].to_pylist() for name in SORTED_BY[table]), strict=True))
                assert keys == sorted(keys), file.name

    def test_logs_tell_what_is_in_files(self) -> None:
        for table in TABLES:
            for file, rows in self._files(table):
                keys = rows[SORTED_BY[table][0]].to_pylist()
                assert file.rows == len(rows), file.name
                assert not file.last or (file.first, file.last) == (min(keys), max(keys)), file.name

    def test_tables_have_the_same_partitions_and_the_day_is_the_last(self) -> None:
        found = {self._storage.log(table).partition for table in PARTITIONED if self._storage.log(table).files}
        assert len(found) == 1
        assert found.pop()[-1] == DATE

    def test_there_are_recordings_and_each_has_one_row(self) -> None:
        idents = self._all("recordings")["recording"].to_pylist()
        assert idents
        assert len(set(idents)) == len(idents)

    def test_rows_of_a_recording_lie_in_one_partition(self) -> None:
        homes = self._homes("recordings")
        for table in PARTITIONED[:-1]:
            for ident, partition in self._homes(table).items():
                assert partition == homes.get(ident), (table, ident)

    def test_numbers_of_a_recording_lead_to_its_rows(self) -> None:
        counts = {table: self._counts(table) for table in ("nodes", "places")}
        for table, number in (("nodes", "node"), ("places", "place")):
            rows = self._all(table)
            seen: dict[str, int] = {}
            for ident, value in zip(rows["recording"].to_pylist(), rows[number].to_pylist(), strict=True):
                assert value == seen.get(ident, 0), (table, ident)
                seen[ident] = value + 1
        for table, name, target in _NUMBERS:
            rows = self._all(table)
            for ident, value in zip(rows["recording"].to_pylist(), rows[name].to_pylist(), strict=True):
                assert value is None or 0 <= value < counts[target].get(ident, 0), (table, name, ident)

    def test_callers_come_first(self) -> None:
        nodes = self._all("nodes")
        for node, parent in zip(nodes["node"].to_pylist(), nodes["parent"].to_pylist(), strict=True):
            assert parent is None or parent < node

    def test_samples_count_what_was_recorded(self) -> None:
        counts: dict[str, int] = {}
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

    def _files(self, table: str) -> "Iterator[tuple[DataFile, pyarrow.Table]]":
        for name, file in sorted(self._storage.log(table).files.items()):
            yield file, read_stored(self._storage, f"{table}/{name}", table)

    def _all(self, table: str) -> Any:
        parts = [rows for _, rows in self._files(table)]
        return arrow().concat_tables([schema_of(table).empty_table(), *parts]).combine_chunks()

    def _homes(self, table: str) -> dict[str, dict[str, str | None]]:
        """The partition of each recording."""
        return {one: dict(file.parts) for file, rows in self._files(table) for one in rows["recording"].to_pylist()}

    def _counts(self, table: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for ident in self._all(table)["recording"].to_pylist():
            found[ident] = found.get(ident, 0) + 1
        return found


_NUMBERS = (
    ("samples", "stack", "nodes"), ("nodes", "parent", "nodes"), ("nodes", "place", "places"),
    ("lines", "place", "places"),
)  # fmt: skip
"""Columns of numbers, with the tables that they lead to."""
