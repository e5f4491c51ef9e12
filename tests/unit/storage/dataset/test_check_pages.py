"""Files that unpack to far more than their size are refused before they are read, and damaged pages are noticed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from perf2x.base.errors import FormatError
from perf2x.base.files.unpack_limit import limit_unpacking
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.check_pages import pages
from perf2x.storage.dataset.dataset_schema import schema_of
from perf2x.storage.dataset.write.table_rows import recording_table
from tests.support.command import perf2x
from tests.support.datasets import add_recording, stored
from tests.support.recordings import CORPUS

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")

SUM = "SELECT sum(count) AS n FROM samples"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "profiles"
    add_recording(folder, CORPUS / "forker" / "perf.data")
    return folder


@pytest.fixture
def dataset(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "profiles"))


def file_of(dataset: Path, table: str) -> Path:
    (path,) = (dataset / table).rglob("*.parquet")
    return path


def rewrite(path: Path, rows: Any, **settings: Any) -> None:
    parquet.write_table(rows, path, compression="zstd", **settings)


def commands(dataset: Path, tmp_path: Path) -> list[tuple[object, ...]]:
    return [
        ("top", dataset), ("info", dataset), ("convert", dataset, "-o", tmp_path / "out.pb.gz"),
        ("fleet", "query", dataset, SUM),
    ]  # fmt: skip


def test_a_bomb_is_refused_by_every_command(dataset: Path, tmp_path: Path) -> None:
    path = file_of(dataset, "samples")
    one = parquet.ParquetFile(path).read().slice(0, 1)
    rows = one.take(pa.array([0] * 4_000_000, pa.int32()))
    rewrite(path, rows, data_page_size=1 << 28, row_group_size=len(rows), write_page_checksum=True)
    assert path.stat().st_size < 500_000
    for words in commands(dataset, tmp_path):
        ran = perf2x(*words)
        assert ran.code == 1, words
        assert ran.err.startswith(f"perf2x: {path}: its ") and ran.err.endswith("--max-unpacked raises the limit\n")
    ran = perf2x("fleet", "query", dataset, SUM, "--max-unpacked", "2G", "--json")
    assert ran.out == f'[\n{{"n": {4_000_000 * one["count"][0].as_py()}}}\n]\n'


def test_few_texts_that_repeat_are_no_way_around(dataset: Path) -> None:
    path = file_of(dataset, "samples")
    rows = parquet.ParquetFile(path).read()
    at = rows.schema.get_field_index("comm")
    texts = pa.array(["x" * 50_000] * len(rows))
    rewrite(path, rows.set_column(at, rows.schema.field(at), texts))
    with limit_unpacking(20 << 20), pytest.raises(FormatError, match=r"unpack to more than 20 MiB; max_unpacked"):
        load([str(dataset)], LoadOptions())


def test_a_number_without_room_is_one_sentence() -> None:
    whole = stored(CORPUS / "forker" / "perf.data")
    profile = replace(whole.profile, meta=replace(whole.profile.meta, start_ns=2**63))
    with pytest.raises(FormatError, match="clock_start_ns has a number that is too large for a dataset"):
        recording_table(replace(whole, profile=profile))


def test_large_files_that_are_honest_are_read(dataset: Path) -> None:
    rows = load([str(dataset)], LoadOptions())
    size = sum(len(parquet.ParquetFile(path).read()) * 300 for path in dataset.rglob("*.parquet"))
    with limit_unpacking(size):
        assert load([str(dataset)], LoadOptions()).profile.samples.value.tolist() == rows.profile.samples.value.tolist()
    with limit_unpacking(1000), pytest.raises(FormatError, match="max_unpacked"):
        load([str(dataset)], LoadOptions())


def test_no_flipped_bit_of_a_page_changes_an_answer(dataset: Path) -> None:
    path = file_of(dataset, "samples")
    raw, right = path.read_bytes(), perf2x("fleet", "query", dataset, SUM).out
    chunk = parquet.read_metadata(path).row_group(0).column(schema_of("samples").names.index("count"))
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    refused = 0
    for at in range(start, start + chunk.total_compressed_size, 17):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 16]) + raw[at + 1 :])
        ran = perf2x("fleet", "query", dataset, SUM)
        refused += ran.code
        assert (ran.code, ran.out) in ((0, right), (1, "")), at
        assert ran.code == 0 or "damaged" in ran.err
    assert refused > 3


def test_every_table_of_a_question_is_checked(dataset: Path) -> None:
    questions = {
        "nodes": ("FROM nodes", "FROM by_function", "FROM frames"),
        "places": ("FROM places", "FROM functions", "FROM stacks"),
        "mappings": ("FROM mappings", "FROM query('FROM map' || 'pings')"),
        "recordings": ("FROM recordings", "FROM samples"),
    }
    for table, asked in questions.items():
        path = file_of(dataset, table)
        raw = path.read_bytes()
        chunk = parquet.read_metadata(path).row_group(0).column(0)
        last = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size - 1
        path.write_bytes(raw[:last] + bytes([raw[last] ^ 1]) + raw[last + 1 :])
        for sql in asked:
            ran = perf2x("fleet", "query", dataset, sql)
            assert (ran.code, ran.err.partition(": damaged: ")[0]) == (1, f"perf2x: {path}"), sql
        path.write_bytes(raw)


def test_writers_may_leave_checksums_out(dataset: Path) -> None:
    before = load([str(dataset)], LoadOptions()).profile.samples.value.tolist()
    for table in ("samples", "nodes", "recordings"):
        path = file_of(dataset, table)
        for version in ("1.0", "2.0"):
            rewrite(path, parquet.ParquetFile(path).read(), data_page_version=version)
            assert load([str(dataset)], LoadOptions()).profile.samples.value.tolist() == before
    assert perf2x("fleet", "query", dataset, SUM).code == 0


def test_encodings_whose_values_grow_are_refused(dataset: Path) -> None:
    path = file_of(dataset, "samples")
    rewrite(path, parquet.ParquetFile(path).read(), use_dictionary=False, column_encoding={"comm": "DELTA_BYTE_ARRAY"})
    for words in (("top", dataset), ("fleet", "query", dataset, SUM)):
        ran = perf2x(*words)
        said = f"perf2x: {path}: damaged: comm: its encoding, DELTA_BYTE_ARRAY, is none of datasets; "
        assert (ran.code, ran.err) == (1, f"{said}perf2x fleet check finds all damage of a dataset\n")


@pytest.mark.parametrize(("table", "column"), [("samples", "comm"), ("mappings", "file"), ("places", "file")])
def test_texts_that_are_not_utf_8(dataset: Path, table: str, column: str) -> None:
    path = file_of(dataset, table)
    rows = parquet.ParquetFile(path).read()
    at = rows.schema.get_field_index(column)
    bad = pa.array([b"\xff\xfe\xe2"] * len(rows), pa.binary()).view(pa.string())
    rewrite(path, rows.set_column(at, rows.schema.field(at), bad))
    query = ("fleet", "query", dataset, f"SELECT DISTINCT {column} FROM {table}")
    for words in (("top", dataset), ("info", dataset, "--json"), query):
        ran = perf2x(*words)
        assert ran.code == 1
        assert "damaged" in ran.err and ran.err.count("\n") == 1


def test_short_memory_is_not_damage(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr("perf2x.storage.dataset.parquet_files.check_pages", fail)
    for words in (("top", dataset), ("fleet", "query", dataset, SUM)):
        ran = perf2x(*words)
        assert (ran.code, ran.err.partition(";")[0]) == (1, "perf2x: not enough memory")


@pytest.mark.parametrize(("raw", "trouble"), [
    (b"\x15", "cannot be read"), (b"\x00", "cannot be read"), (b"\x19\x00", "another kind"),
    (b"\x1c" * 100, "too deep"), (b"\x15" + b"\xff" * 12, "too large a number"),
    (b"\x15\x04\x15\x02\x15\x7e\x00", "has no room"),
])  # fmt: skip
def test_headers_that_are_none(raw: bytes, trouble: str) -> None:
    with pytest.raises(ValueError, match=trouble):
        list(pages(raw))


@pytest.mark.parametrize("change", [
    lambda raw, at: raw[: at + 1] + b"\x7f" + raw[at + 2 :], lambda raw, at: raw[:at] + b"\x00" + raw[at + 1 :],
])  # fmt: skip
def test_a_header_that_lies(dataset: Path, change: Callable[[bytes, int], bytes]) -> None:
    path = file_of(dataset, "samples")
    chunk = parquet.read_metadata(path).row_group(0).column(0)
    path.write_bytes(change(path.read_bytes(), chunk.dictionary_page_offset))
    ran = perf2x("fleet", "query", dataset, SUM)
    assert ran.code == 1
    assert ran.err.startswith(f"perf2x: {dataset}") and "damaged" in ran.err
