"""A recording in a dataset: files named by content, whole or absent, with the tables of the schema."""

from pathlib import Path

import pytest

from perf2x.base.errors import OptionError, OutputError
from perf2x.storage.dataset.content_ids import recording_id
from perf2x.storage.dataset.dataset_schema import SCHEMA, SORTED_BY, TABLES, schema_of
from perf2x.storage.dataset.write.write_recording import partition_values, write_recording
from tests.support.datasets import add_recording, rows, stored
from tests.support.fleets import files_of
from tests.support.recordings import CORPUS, ROOT

parquet = pytest.importorskip("pyarrow.parquet")

RECORDING = CORPUS / "forker" / "perf.data"
EXAMPLE = ROOT / "examples" / "deferred" / "perf.data"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profiles")
    add_recording(folder, RECORDING, {"service": "a/b", "version": "1"}, ["service", "date"])
    add_recording(folder, EXAMPLE, {"version": "2"}, ["service", "date"])
    return folder


@pytest.mark.parametrize("table", TABLES)
def test_every_file_has_the_columns_of_its_table(dataset: Path, table: str) -> None:
    for path in (dataset / table).rglob("*.parquet"):
        found = parquet.read_schema(path)
        assert found.equals(schema_of(table))
        assert found.metadata[b"perf2x.schema"] == str(SCHEMA).encode()
        assert found.metadata[b"perf2x.table"] == table.encode()


@pytest.mark.parametrize("table", TABLES)
def test_files_are_sorted_and_say_so(dataset: Path, table: str) -> None:
    for path in (dataset / table).rglob("*.parquet"):
        file = parquet.ParquetFile(path)
        names = [file.schema.column(each.column_index).name for each in file.metadata.row_group(0).sorting_columns]
        keys = [tuple(row[name] for name in names) for row in file.read(columns=names).to_pylist()]
        assert tuple(names) == SORTED_BY[table]
        assert keys == sorted(keys)


def test_all_samples_are_there(dataset: Path) -> None:
    recordings = {row["recording"]: row for row in rows(dataset, "recordings")}
    counts = dict.fromkeys(recordings, 0)
    for row in rows(dataset, "samples"):
        counts[row["recording"]] += row["count"]
    assert counts == {ident: row["samples"] for ident, row in recordings.items()}
    assert sorted(counts) == sorted(recording_id([path]).hex() for path in (RECORDING, EXAMPLE))


def test_every_number_leads_somewhere(dataset: Path) -> None:
    nodes = {(row["recording"], row["node"]): row for row in rows(dataset, "nodes")}
    places = {(row["recording"], row["place"]) for row in rows(dataset, "places")}
    for table, name in (("samples", "stack"), ("nodes", "parent")):
        found = {(row["recording"], row[name]) for row in rows(dataset, table) if row[name] is not None}
        assert found and found <= nodes.keys()
    assert {(row["recording"], row["place"]) for row in nodes.values()} <= places


def test_tags_name_folders(dataset: Path) -> None:
    for table in ("samples", "recordings", "mappings"):
        assert sorted(
            str(path.relative_to(dataset / table).parent) for path in (dataset / table).rglob("*.parquet")
        ) == [
            "service=__HIVE_DEFAULT_PARTITION__/date=__HIVE_DEFAULT_PARTITION__",
            "service=a%2Fb/date=__HIVE_DEFAULT_PARTITION__",
        ]


def test_the_date_is_that_of_the_start() -> None:
    from msgspec.structs import replace

    one = stored(RECORDING)
    known = replace(one.profile, meta=replace(one.profile.meta, wall_start_ns=1_700_000_000_000_000_000))
    assert partition_values(replace(one, profile=known), ["date"]) == {"date": "2023-11-14"}


def test_folders_are_named_as_before(dataset: Path) -> None:
    with pytest.raises(OptionError, match="its folders are named by service, date; partition asks for version, date"):
        add_recording(dataset, RECORDING, partition=["version"])


def test_a_recording_that_comes_again_changes_nothing(dataset: Path, tmp_path: Path) -> None:
    for _ in range(2):
        add_recording(tmp_path, RECORDING)
        before = files_of(tmp_path)
        add_recording(tmp_path, RECORDING)
        assert files_of(tmp_path) == before


def test_a_file_that_cannot_be_written_leaves_nothing_half(tmp_path: Path) -> None:
    (tmp_path / "samples").write_text("in the way")
    with pytest.raises(OutputError, match="samples"):
        add_recording(tmp_path, RECORDING)
    assert not rows(tmp_path, "recordings")


def test_a_recording_that_could_not_be_read_is_a_row(tmp_path: Path) -> None:
    from perf2x.storage.dataset.write.recording_to_store import failed_recording

    write_recording(tmp_path, failed_recording(b"1" * 16, "x.data", "x.data: no recording", {"service": "web"}))
    (row,) = rows(tmp_path, "recordings")
    assert (row["source"], row["error"], row["samples"], row["tags"]) == (
        "x.data", "x.data: no recording", 0, [("service", "web")],
    )  # fmt: skip
    assert rows(tmp_path, "samples") == []
