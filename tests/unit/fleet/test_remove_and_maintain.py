"""Datasets that perf2x and other tools keep, and damaged or hostile ones."""

import json
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perf2x.errors import FormatError, OptionError
from perf2x.fleet.remove_and_maintain import maintain
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.sources.dataset.dataset_schema import TABLES
from perf2x.sources.dataset.delta_tables import DeltaTables
from tests.fuzz.datasets import plain
from tests.support.command import perf2x
from tests.support.datasets import add_recordings, content, counted_rows, rows
from tests.support.fleets import write_fleet
from tests.support.recordings import CORPUS

deltalake = pytest.importorskip("deltalake")
SQL = "SELECT host, function, sum(self), sum(total) FROM by_function GROUP BY ALL ORDER BY ALL"
DAY = 24 * 3600 * 10**9


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_fleet(tmp_path_factory.mktemp("fleet") / "recordings", 9)


@pytest.fixture(scope="module")
def written(recordings: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset that was written in three runs, on two days."""
    folder = tmp_path_factory.mktemp("written") / "profiles"
    for first, day in ((0, "21"), (3, "21"), (6, "22")):
        for path in recordings[first : first + 3]:
            named = path.with_name(f"{path.stem}-202611{day}.data")
            shutil.copy(path, named)
            add_recordings(folder, [named], {"service": "web"}, ["service"], start_time="*-%Y%m%d.data")
    return folder


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    """A copy of it: writing takes much longer."""
    return Path(shutil.copytree(written, tmp_path / "profiles"))


def said(data: Path) -> tuple[Any, ...]:
    asked = perf2x("fleet", "query", str(data), SQL, "--format", "csv")
    assert asked.code == 0, asked.err
    return content(load([str(data)], LoadOptions()).profile), asked.out


def by_deltalake(data: Path) -> None:
    for table in TABLES:
        found = deltalake.DeltaTable(str(data / table))
        found.optimize.compact()
        found.vacuum(0, dry_run=False, enforce_retention_duration=False)
        found.create_checkpoint()


def by_z_order(data: Path) -> None:
    for table in TABLES[1:]:
        deltalake.DeltaTable(str(data / table)).optimize.z_order(["recording"])


def by_perf2x(data: Path) -> None:
    assert perf2x("fleet", "maintain", str(data)).code == 0


@pytest.mark.parametrize("keep", [by_deltalake, by_z_order, by_perf2x])
def test_whoever_keeps_the_tables_rows_stay(data: Path, keep: Callable[[Path], None], recordings: list[Path]) -> None:
    before, files = said(data), len(deltalake.DeltaTable(str(data / "samples")).file_uris())
    keep(data)
    assert said(data) == before
    assert len(deltalake.DeltaTable(str(data / "samples")).file_uris()) == 2 < files
    add_recordings(data, recordings[:1], {"service": "db"})  # known, so nothing changes
    assert said(data) == before


def test_recordings_go_by_name_tag_and_age(data: Path) -> None:
    named = "000-20261121.data"
    tried = perf2x("fleet", "rm", str(data), named, "--dry-run")
    assert (tried.code, len(tried.err.splitlines())) == (0, 2)
    assert perf2x("fleet", "rm", str(data), "missing.data").code == 2
    assert perf2x("fleet", "rm", str(data)).code == 2
    assert perf2x("fleet", "rm", str(data), named).code == 0
    assert named not in {Path(row["source"]).name for row in rows(data, "recordings")}
    assert rows(data, "samples") == counted_rows(data, "samples")
    assert perf2x("fleet", "rm", f"{data}?date=2026-11-21").code == 0
    assert {row["date"] for row in rows(data, "samples")} == {"2026-11-22"}
    start = rows(data, "recordings")[0]["start_ns"]
    assert perf2x("fleet", "maintain", str(data), "--dry-run").err == f"{data}: 0 of 4 recordings would be removed\n"
    assert maintain(str(data), start + 1, start, dry_run=True).removed == 3
    maintain(str(data), start + 1, start)
    assert not any(rows(data, table) for table in ("samples", "stacks", "places"))
    assert [row["error"] is None for row in rows(data, "recordings")] == [False]  # which says no day, and is new


def test_what_killed_writers_left_goes_after_a_day(
    data: Path, recordings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from perf2x.fleet import ingest

    whole = len(rows(data, "places"))
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "commit_recordings", lambda *_, **__: None)
        add_recordings(data, recordings[:3], replace=True)
    left, now = len(rows(data, "places")), time.time_ns()
    maintain(str(data), None, now)
    assert len(rows(data, "places")) == left > whole
    maintain(str(data), None, now + 2 * DAY)
    assert len(rows(data, "places")) == whole


def test_flipped_bytes_are_refused_or_change_nothing(data: Path) -> None:
    """Of files that perf2x wrote: the table of recordings is deltalake's, which writes no checksums.

    Names of files are random, and so is what is hit; bits of descriptions that nobody reads change nothing.
    """
    expected, chosen = said(data), random.Random(3)
    files = [path for table in TABLES[1:-1] for path in sorted((data / table).rglob("*.parquet"))]
    refused = 0
    for _ in range(16):
        file = chosen.choice(files)
        raw = bytearray(file.read_bytes())
        raw[chosen.randrange(len(raw))] ^= 1 << chosen.randrange(8)
        whole = file.read_bytes()
        file.write_bytes(raw)
        try:
            assert content(load([str(data)], LoadOptions()).profile) == expected[0]
        except FormatError:
            refused += 1
        asked = perf2x("fleet", "query", str(data), SQL, "--format", "csv")
        assert asked.code in (0, 1) and (asked.code or asked.out == expected[1]) and "Traceback" not in asked.err
        file.write_bytes(whole)
    assert refused > 2


def test_a_flipped_number_is_refused(data: Path) -> None:
    """Compressed pages seldom unpack when a bit is wrong; of others only the checksum tells."""
    from pyarrow import parquet

    file = max((data / "samples").rglob("*.parquet"))
    rows = parquet.ParquetFile(file).read()
    plainly = {"compression": "none", "use_dictionary": ["event"], "write_statistics": False}
    parquet.write_table(rows, file, write_page_checksum=True, **plainly)
    raw, value = file.read_bytes(), rows["value"][0].as_py().to_bytes(8, "little")
    file.write_bytes(raw.replace(value, bytes([value[0] ^ 1]) + value[1:], 1))
    for words in (("top", data), ("fleet", "query", data, SQL)):
        ran = perf2x(*words)
        assert (ran.code, "checksum verification failed" in ran.said) == (1, True), ran.said


@pytest.mark.parametrize("table", ["samples", "stacks", "places", "recordings"])
def test_a_file_without_a_column_is_refused(data: Path, table: str) -> None:
    """Readers take what is not there for null, and leave out rows for it."""
    from pyarrow import parquet

    file = max((data / table).rglob("*.parquet"))
    parquet.write_table(parquet.ParquetFile(file).read().drop_columns(["recording"]), file)
    for words in (("top", str(data)), ("fleet", "query", str(data), f"SELECT count(*) FROM {table}")):
        ran = perf2x(*words)
        assert ran.code == 1 and "has no recording" in ran.said, words


def edit_log(data: Path, table: str, change: Callable[[dict[str, Any]], None]) -> None:
    log = max((data / table / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            change(line["add"])
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("table", "path"),
    [
        *(
            ("samples", path)
            for path in ("../../secret.parquet", "/etc/passwd", "file:///etc/passwd", "x/../../../secret")
        ),
        *(("recordings", path) for path in ("../../secret.parquet", "file:///etc/passwd")),
    ],
)
def test_no_file_outside_of_a_table_is_read(data: Path, path: str, table: str) -> None:
    file = max((data / "samples").rglob("*.parquet"))
    shutil.copy(file, data.parent / "secret.parquet")
    shutil.copy(file, data.parent / "secret")
    edit_log(data, table, lambda add: add.update(path=path))
    for words in (("top", str(data)), ("fleet", "query", str(data), "SELECT count(*) FROM samples")):
        tried = perf2x(*words)
        assert tried.code == 1 and "Traceback" not in tried.err


def test_files_that_unpack_to_too_much_are_refused(data: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    file = max((data / "samples").rglob("*.parquet"))
    table = parquet.ParquetFile(file).read()
    long = table.set_column(table.column_names.index("comm"), "comm", pa.array(["x" * 2**20] * len(table)))
    parquet.write_table(pa.concat_tables([long] * 400), file, compression="zstd")
    tried = perf2x("top", str(data))
    assert tried.code == 1 and "--max-unpacked" in tried.err


@pytest.mark.parametrize("table", ["samples", "stacks"])
def test_rows_that_are_gone_are_named_by_all_who_read(data: Path, table: str) -> None:
    """As when someone else's DELETE stopped between two tables: joins would leave the recording out."""
    gone = min(row["recording"] for row in rows(data, "samples"))
    deltalake.DeltaTable(str(data / table)).delete(f"recording = '{gone}'")
    out, missing = data / "out.folded", f"samples of {gone} are" if table == "samples" else "a stack is"
    for words in (
        ("top", data),
        ("convert", data, "-o", out),
        ("fleet", "query", data, SQL),
        ("fleet", "symbolize", data),
    ):
        ran = perf2x(*words)
        if words[1] != "symbolize" or table == "samples":
            assert (ran.code, f"{data}: damaged: {missing} missing" in ran.said) == (1, True), ran.said
    assert perf2x("fleet", "rm", data, gone).code == 0
    assert perf2x("fleet", "query", data, SQL).code == perf2x("top", data).code == 0


@pytest.mark.parametrize("left", ["recordings", "recordings/_delta_log", "recordings/_delta_log/0.json#1", "stacks"])
def test_what_was_killed_before_a_first_recording_has_none_yet(tmp_path: Path, left: str) -> None:
    data = tmp_path / "profiles"
    if left == "stacks":
        DeltaTables(str(data)).make(())
        shutil.rmtree(data / "stacks")
    elif "#" in left:
        (data / left).parent.mkdir(parents=True)
        (data / left).write_text("{")
    else:
        (data / left).mkdir(parents=True)
    for words in (
        ("top", data),
        ("fleet", "query", data, SQL),
        ("fleet", "symbolize", data),
        ("fleet", "rm", data, "x"),
    ):
        assert f"{data}: no recordings yet" in perf2x(*words).err
    files = sorted(data.rglob("*"))
    assert perf2x("fleet", "maintain", data, "--dry-run").code == (left != "stacks")
    assert sorted(data.rglob("*")) == files
    assert perf2x("fleet", "maintain", data).code == (left != "stacks")


def test_folders_that_are_no_datasets_say_so(data: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "recordings").mkdir(parents=True)
    (tmp_path / "other" / "recordings" / "perf.data").touch()
    assert "not a dataset" in perf2x("top", str(tmp_path / "other")).err
    deltalake.DeltaTable(str(data / "samples")).alter.set_table_description("perf2x dataset, version 3: samples")
    assert "this perf2x reads perf2x dataset, version 4: samples" in perf2x("top", str(data)).err
    with pytest.raises(OptionError):
        DeltaTables(str(tmp_path / "more")).make(["host"])


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """In lists, too: only a file's pages tell."""
    folder, symfs = tmp_path / "profiles", ("--symfs", CORPUS / "common" / "symfs")
    assert perf2x("fleet", "ingest", CORPUS / "calls" / "perf.data", "-o", folder, *symfs).code == 0
    assert perf2x("fleet", "symbolize", folder, *symfs).code == 0
    whole = {file: plain(file.read_bytes(), table) for table in TABLES for file in (folder / table).rglob("*.parquet")}
    named = {file: data for file, data in whole.items() if b"spin" in data}
    assert {file.relative_to(folder).parts[0] for file in named} == {"symbols"}
    for file, data in named.items():
        file.write_bytes(data.replace(b"spin", b"sp\xffn"))
    for words in (("top", folder, *symfs), ("fleet", "query", folder, "FROM frames")):
        ran = perf2x(*words)
        assert (ran.code, "Traceback" in ran.err) == (1, False), ran.err


@pytest.mark.parametrize(("start", "duration", "refused"), [(0, 2**63 - 1, False), (1, 2**63 - 1, True)])
def test_recordings_of_centuries(start: int, duration: int, refused: bool, data: Path, tmp_path: Path) -> None:
    """Their sum is no number of nanoseconds."""
    import pyarrow as pa
    from pyarrow import parquet

    for file in (data / "recordings").rglob("*.parquet"):
        rows = parquet.ParquetFile(file).read()
        for name, value in ("clock_start_ns", start), ("duration_ns", duration):
            place = rows.column_names.index(name)
            rows = rows.set_column(place, name, pa.array([value] * len(rows), pa.int64()))
        parquet.write_table(rows, file)
    for form in ("pprof", "html", "collapsed"):
        ran = perf2x("convert", data, "--to", form, "-o", tmp_path / "out")
        assert (ran.code, "damaged: duration_ns" in ran.said) == (int(refused), refused), ran.said
