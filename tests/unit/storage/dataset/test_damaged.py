"""Damaged files, and those of other programs, give one clear error each."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from perf2x.base.errors import FormatError, OptionError, Perf2xError
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_address import is_dataset, parse_address
from perf2x.storage.dataset.dataset_schema import TABLES, schema_of
from perf2x.storage.dataset.table_log import read_log
from perf2x.storage.dataset.write.write_recording import write_recording
from tests.support.datasets import add_recording, replace_file
from tests.support.recordings import CORPUS

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

RECORDING = CORPUS / "forker" / "perf.data"
CHECK = "; perf2x fleet check finds all damage of a dataset"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    add_recording(folder, RECORDING)
    return folder


@pytest.fixture
def dataset(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "profiles"))


def file_of(dataset: Path, table: str) -> Path:
    (name,) = read_log(dataset / table).files
    return dataset / table / name


change = replace_file


def error_of(dataset: Path | str, options: LoadOptions | None = None) -> str:
    with pytest.raises(Perf2xError) as error:
        load([str(dataset)], options or LoadOptions())
    return str(error.value)


@pytest.mark.parametrize("table", [table for table in TABLES if table not in ("lines", "symbols")])
@pytest.mark.parametrize("cut", [0, 3, 100, -1, -9])
def test_cut_files(dataset: Path, table: str, cut: int) -> None:
    path = file_of(dataset, table)
    path.write_bytes(path.read_bytes()[:cut])
    assert str(path) in error_of(dataset)


def test_damage_anywhere_is_noticed_or_changes_nothing(dataset: Path) -> None:
    path = file_of(dataset, "samples")
    raw = path.read_bytes()
    values = load([str(dataset)], LoadOptions()).profile.samples.value.tolist()
    for at in range(0, len(raw), len(raw) // 60):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        try:
            assert load([str(dataset)], LoadOptions()).profile.samples.value.tolist() == values
        except FormatError as error:
            assert str(dataset) in str(error)


def test_samples_without_their_file(dataset: Path) -> None:
    """A recording that counts samples and has no file of them is not one without samples."""
    path = file_of(dataset, "samples")
    path.unlink()
    assert error_of(dataset) == f"{path}: damaged: it is missing{CHECK}"
    shutil.rmtree(dataset / "samples")
    row = file_of(dataset, "recordings")
    assert error_of(dataset) == f"{row}: damaged: it counts samples, and no file has them{CHECK}"
    at = schema_of("recordings").names.index("samples")
    change(dataset, "recordings", lambda rows: rows.set_column(at, rows.schema.field(at), pa.array([0])))
    assert load([str(dataset)], LoadOptions(allow_empty=True)).samples == 0


def test_files_of_other_programs(dataset: Path) -> None:
    path = file_of(dataset, "recordings")
    parquet.write_table(pa.table({"recording": [1]}), path)
    assert error_of(dataset) == (f"{path}: not written as part of a dataset: it lacks perf2x.schema (docs/parquet.md)")


def test_files_of_a_later_version(dataset: Path) -> None:
    path = file_of(dataset, "samples")
    table = parquet.ParquetFile(path).read()
    parquet.write_table(table.replace_schema_metadata({**table.schema.metadata, b"perf2x.schema": b"7"}), path)
    assert error_of(dataset) == f"{path}: has version 7 of the schema; this perf2x reads version 3"


def test_columns_of_another_type(dataset: Path) -> None:
    path = file_of(dataset, "samples")
    table = parquet.ParquetFile(path).read()
    at = table.schema.get_field_index("value")
    changed = table.set_column(at, "value", table["value"].cast(pa.float64()))
    parquet.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    assert error_of(dataset) == f"{path}: damaged: not the columns of the table samples: value{CHECK}"


def test_a_table_under_another_name(dataset: Path) -> None:
    shutil.copy(file_of(dataset, "nodes"), file_of(dataset, "places"))
    assert "not the columns of the table places" in error_of(dataset)


def test_missing_rows(dataset: Path) -> None:
    for table, message in (("nodes", "stack"), ("places", "place is missing"), ("mappings", "none of the recording's")):
        path = file_of(dataset, table)
        kept = path.read_bytes()
        change(dataset, table, lambda rows: rows.slice(0, 1))
        assert message in error_of(dataset)
        path.write_bytes(kept)


@pytest.mark.parametrize(
    ("table", "name", "message"),
    [("nodes", "parent", "caller is missing"), ("nodes", "node", "caller is missing"),
     ("nodes", "place", "place is missing"), ("places", "place", "place is missing"), ("samples", "stack", "stack is")],
)  # fmt: skip
@pytest.mark.parametrize("value", [-2, 2**31 - 1])
def test_numbers_of_stacks_that_lead_nowhere(dataset: Path, table: str, name: str, message: str, value: int) -> None:
    """A stack that is its own caller is one of them: callers have lower numbers."""

    def edit(rows: Any) -> Any:
        at = rows.schema.get_field_index(name)
        return rows.set_column(at, rows.schema.field(at), pa.array([value] * len(rows), pa.int32()))

    change(dataset, table, edit)
    assert message in error_of(dataset)


def test_numbers_that_lead_nowhere(dataset: Path) -> None:
    def edit(samples: Any) -> Any:
        at = samples.schema.get_field_index("event_number")
        return samples.set_column(at, samples.schema.field(at), pa.array([99] * len(samples), pa.int32()))

    change(dataset, "samples", edit)
    assert "a sample's event is out of range" in error_of(dataset)


def test_damaged_facts(dataset: Path) -> None:
    def edit(rows: Any) -> Any:
        at = rows.schema.get_field_index("facts")
        return rows.set_column(at, rows.schema.field(at), pa.array(['{"deferred": 7}']))

    change(dataset, "recordings", edit)
    assert "its column facts cannot be read" in error_of(dataset)


@pytest.mark.parametrize("table", [table for table in TABLES if table not in ("lines", "symbols")])
def test_values_that_other_writers_leave_out(dataset: Path, table: str) -> None:
    path = file_of(dataset, table)
    whole = path.read_bytes()
    for at, field in enumerate(schema_of(table)):
        if not field.nullable:
            path.write_bytes(whole)
            rows = parquet.ParquetFile(path).read()
            values = [*rows[field.name].to_pylist()[:-1], None]
            changed = rows.set_column(at, field.with_nullable(True), pa.array(values, field.type))
            parquet.write_table(changed, path)
            assert error_of(dataset) == f"{path}: damaged: values are missing in {field.name}{CHECK}"


@pytest.mark.parametrize("name", ["cmdline", "tags", "events"])
def test_values_that_are_missing_inside_others(dataset: Path, name: str) -> None:
    def edit(rows: Any) -> Any:
        at = rows.schema.get_field_index(name)
        value = {"cmdline": ["ls", None], "tags": [("service", None)], "events": [{"name": "cycles"}]}[name]
        return rows.set_column(at, rows.schema.field(at), pa.array([value], rows.schema.field(at).type))

    change(dataset, "recordings", edit)
    assert f"values are missing in {name}" in error_of(dataset)


@pytest.mark.parametrize(
    ("table", "name", "value", "message"),
    [
        ("recordings", "default_event", 2, "default_event is 2 of 1 events"),
        ("recordings", "default_event", -1, "default_event is -1 of 1 events"),
        ("recordings", "duration_ns", -1, "duration_ns is -1"),
        ("recordings", "samples", -1, "samples is -1"),
        ("recordings", "kernel_build_id", "../vmlinux", "not a build id: '../vmlinux'"),
        ("mappings", "build_id", "0", "not a build id: '0'"),
    ],
)
def test_values_that_no_recording_has(dataset: Path, table: str, name: str, value: object, message: str) -> None:
    def edit(rows: Any) -> Any:
        at = rows.schema.get_field_index(name)
        return rows.set_column(at, rows.schema.field(at), pa.array([value] * len(rows), rows.schema.field(at).type))

    change(dataset, table, edit)
    assert error_of(dataset).endswith(f"damaged: {message}")


def test_an_empty_table_of_recordings(dataset: Path) -> None:
    change(dataset, "recordings", lambda rows: rows.slice(0, 0))
    assert error_of(dataset) == f"{dataset}: no recording is in this dataset"


def test_tags_that_no_recording_has(dataset: Path) -> None:
    assert error_of(f"{dataset}?version=3&a=b") == f"{dataset}: no recording with version=3, a=b is in this dataset"


def test_tags_that_are_none(dataset: Path) -> None:
    with pytest.raises(OptionError, match="expected KEY=VALUE"):
        parse_address(f"{dataset}?version")


def test_sums_are_no_timeline(dataset: Path) -> None:
    assert "the dataset has sums without times" in error_of(dataset, LoadOptions(timeline=True))
    assert "without times and CPUs" in error_of(dataset, LoadOptions(by_cpu=True))


def test_a_dataset_given_twice(dataset: Path) -> None:
    with pytest.raises(OptionError, match="have a recording in common"):
        load([str(dataset), f"{dataset}?"], LoadOptions())


def test_other_folders_are_no_datasets(tmp_path: Path) -> None:
    assert not is_dataset(str(tmp_path))
    assert not is_dataset(str(RECORDING))


def test_recordings_that_failed_are_counted(dataset: Path) -> None:
    from perf2x.storage.dataset.write.recording_to_store import failed_recording

    write_recording(dataset, failed_recording(b"1" * 16, "x.data", "x.data: no recording", {}))
    loaded = load([str(dataset)], LoadOptions())
    assert loaded.diagnostics["recordings_failed"] == 1
    assert loaded.samples == load([str(RECORDING)], LoadOptions()).samples
