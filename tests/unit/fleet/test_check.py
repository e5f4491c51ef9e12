"""Damage in a dataset is found and counted; after a repair there is none, and what is left reads as before."""

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perf2x.fleet.ingest import Job
from perf2x.fleet.upkeep.check_dataset import check
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.content_ids import recording_id
from perf2x.storage.dataset.dataset_folder import LocalFolder, storage_at
from perf2x.storage.dataset.dataset_schema import LOG, PARTITIONED
from perf2x.storage.dataset.table_log import DataFile, TableLog, commit
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.fleets import files_of, ingest_one, recording_of

pytest.importorskip("pyarrow.parquet")
COUNT = 3


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("fleet") / "profiles"
    for number in range(COUNT):
        path = data.parent / f"{number}.data"
        path.write_bytes(recording_of(number, 6))
        assert ingest_one(str(path), Job(str(data), LoadOptions(), {}, (), "1")).state == "added"
    return data


@pytest.fixture
def data(separate: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(separate, tmp_path / "profiles"))


def files(data: Path, table: str) -> list[DataFile]:
    """The files of a table, by name."""
    return [file for _, file in sorted(storage_at(data).log(table).files.items())]


def first(data: Path, table: str) -> Path:
    return data / table / files(data, table)[0].name


def said(command: str, data: Path | str) -> tuple[int, list[str], list[str]]:
    """Exit code, what is printed, and what is said without the dataset's name."""
    ran = perf2x("fleet", command, data)
    return ran.code, ran.out.splitlines(), [line.replace(f"{data}: ", "") for line in ran.err.splitlines()]


def sources(data: Path) -> set[str]:
    return {Path(row["source"]).name for row in rows(data, "recordings")}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[60] ^= 0xFF  # within the first page
    path.write_bytes(raw)


HARM: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (cut, "files of another size than their log has"),
    "gone": (Path.unlink, "missing files"),
    "flipped": (flip, "damaged files"),
}


def test_a_sound_dataset_is_said_to_be(data: Path) -> None:
    before = len(files_of(data))
    assert said("check", data) == (0, [], [f"no damage in {before} files of 3 recordings"])
    kept = files_of(data)
    assert said("repair", data) == (0, [], ["0 recordings must be added again"])
    assert files_of(data) == kept
    compact(storage_at(data))
    left = len(files_of(data))
    code, _, (harmless, summary) = said("check", data)
    assert (code, summary) == (0, f"no damage in {left} files of 3 recordings")
    assert re.fullmatch(r"files that no log names: \d+ \(harmless; fleet gc removes them\)", harmless)


@pytest.mark.parametrize("harm", HARM)
def test_commands_that_read_a_damaged_file_name_the_one_that_finds_all(data: Path, harm: str, tmp_path: Path) -> None:
    assert perf2x("fleet", "tag", data, "x=1").code == 0
    HARM[harm][0](first(data, "samples"))
    HARM[harm][0](first(data, "recordings"))
    page, query = ("-o", tmp_path / "page.html"), ("SELECT sum(value) FROM samples",)
    of_inputs = [(("top",), ()), (("convert",), page), (("report",), ()), (("info",), ())]
    of_datasets = {
        "query": query, "view": page, "diff": ("x=1", "x=1"), "symbolize": (), "compact": (),
        "gc": ("--older-than", "1d"), "tag": ("a=b",), "rm": ("0.data",), "add-symbols": ("/bin/sh",),
    }  # fmt: skip
    for words, rest in [*of_inputs, *((("fleet", name), more) for name, more in of_datasets.items())]:
        ran = perf2x(*words, data, *rest)
        assert (ran.code, words, "; perf2x fleet check finds all damage" in ran.err) == (1, words, True), ran.err


@pytest.mark.parametrize("table", ["nodes", "places", "samples", "recordings"])
@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_file_costs_its_recording(data: Path, separate: Path, table: str, harm: str) -> None:
    path = first(data, table)
    ident = path.name.removesuffix(".parquet")
    (lost,) = [n for n in range(COUNT) if recording_id([separate.parent / f"{n}.data"]).hex() == ident]
    act, kind = HARM[harm]
    act(path)
    code, _, lines = said("check", data)
    assert code == 1
    assert lines[0] == f"{kind}: 1 ({path.relative_to(data)})"
    code, printed, lines = said("repair", data)
    assert code == 0
    if table == "recordings":
        assert printed == []
        assert f"lost, and their sources are not known: {ident}" in lines
    else:
        assert printed == [str(separate.parent / f"{lost}.data")]
    assert said("check", data)[0] == 0
    assert sources(data) == {f"{n}.data" for n in range(COUNT)} - {f"{lost}.data"}
    again = ingest_one(str(separate.parent / f"{lost}.data"), Job(str(data), LoadOptions(), {}, (), "2"))
    assert again.state == "added"
    assert said("check", data)[0] == 0
    assert files_of(data) == files_of(separate)


@pytest.mark.parametrize("table", ["nodes", "samples", "recordings"])
def test_a_damaged_merged_file_costs_all_that_may_have_been_in_it(data: Path, separate: Path, table: str) -> None:
    compact(storage_at(data))
    flip(first(data, table))
    _, printed, _ = said("repair", data)
    assert len(printed) == (0 if table == "recordings" else COUNT)
    assert said("check", data)[0] == 0
    assert rows(data, "recordings") == rows(data, "samples") == []


def test_a_double_is_left_out(data: Path) -> None:
    """As if an ingest had begun in front of a compaction and ended behind it."""
    before = {table: files(data, table) for table in PARTITIONED}
    compact(storage_at(data))
    for table, some in before.items():
        commit(str(data), table, storage_at(data).log(table).partition, some[:2])
    code, _, lines = said("check", data)
    assert (code, lines[0].partition(" (")[0]) == (1, "recordings in two files of a table: 2")
    code, printed, _ = said("repair", data)
    assert (code, printed) == (0, [])
    assert said("check", data)[0] == 0
    assert len(rows(data, "recordings")) == COUNT
    assert sum(row["count"] for row in rows(data, "samples")) == COUNT * 6


def test_rows_without_a_recording_go_after_a_day(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = storage_at(data).log("recordings")
    commit(str(data), "recordings", log.partition, (), [min(log.files.values(), key=lambda file: file.name)])
    code, _, lines = said("check", data)
    assert (code, len(lines)) == (0, 2)
    later = time.time_ns() + 2 * 24 * 3600 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: later)
    code, _, lines = said("check", data)
    assert (code, lines[0].partition(" (")[0]) == (1, "recordings without their own row: 1")
    assert said("repair", data)[0] == 0
    assert said("check", data)[0] == 0
    assert len({row["recording"] for row in rows(data, "nodes")}) == COUNT - 1


def test_other_rows_than_the_log_has_are_damage(data: Path) -> None:
    """A file of another recording under its name, of the size that the log has."""
    file, other = files(data, "nodes")[:2]
    shutil.copy(data / "nodes" / other.name, data / "nodes" / file.name)
    log = storage_at(data).log("nodes")
    new = DataFile(file.name, other.size, file.parts, file.rows, file.first, file.last)
    commit(str(data), "nodes", log.partition, [new])
    code, _, lines = said("check", data)
    assert (code, lines[0]) == (1, f"damaged files: 1 (nodes/{file.name})")


def test_files_of_another_version_are_not_touched(data: Path) -> None:
    from pyarrow import parquet

    path = first(data, "samples")
    table = parquet.ParquetFile(path).read()
    parquet.write_table(table.replace_schema_metadata({**table.schema.metadata, b"perf2x.schema": b"7"}), path)
    log, (file, *_) = storage_at(data).log("samples"), files(data, "samples")
    new = DataFile(file.name, path.stat().st_size, file.parts, file.rows, file.first, file.last)
    commit(str(data), "samples", log.partition, [new])
    before = files_of(data)
    for command in ("check", "repair"):
        code, _, lines = said(command, data)
        assert (code, "has version 7 of the schema" in lines[-1]) == (1, True)
    assert files_of(data) == before


@pytest.mark.parametrize("name", ["../../outside.parquet", "/etc/passwd", "a/../../x.parquet", "nodes.csv"])
def test_a_hostile_log_leads_nowhere(data: Path, name: str) -> None:
    outside = data.parent / "outside.parquet"
    outside.write_bytes(b"not of the dataset")
    last = max((data / "nodes" / LOG).glob("*.json"))
    add = {"add": {"path": name, "size": 1, "partitionValues": {}, "modificationTime": 0, "dataChange": True}}
    last.with_name(f"{int(last.stem) + 1:020}.json").write_text(json.dumps(add))
    for command in ("check", "repair"):
        code, _, lines = said(command, data)
        assert (code, len(lines), "names what is no file of this table" in lines[0]) == (1, 1, True)
    assert outside.read_bytes() == b"not of the dataset"


def test_a_log_without_a_commit_is_damage(data: Path) -> None:
    (data / "nodes" / LOG / f"{1:020}.json").unlink()
    code, _, lines = said("check", data)
    assert (code, "this commit is missing" in lines[0]) == (1, True)


def test_a_recording_whose_samples_no_file_has_is_lost(data: Path) -> None:
    log = storage_at(data).log("samples")
    commit(str(data), "samples", log.partition, (), files(data, "samples")[:1])
    code, _, lines = said("check", data)
    assert (code, lines[0].partition(" (")[0]) == (1, "recordings without all their rows: 1")
    code, printed, _ = said("repair", data)
    assert (code, len(printed), said("check", data)[0]) == (0, 1, 0)


def test_a_recording_that_is_added_meanwhile_is_no_damage(data: Path, tmp_path: Path) -> None:
    """Right behind the moment at which the log of samples was read."""
    new = tmp_path / "new.data"
    new.write_bytes(recording_of(7, 6))

    class Busy(LocalFolder):
        def log(self, table: str) -> TableLog:
            found = super().log(table)
            if table == "samples":
                ingest_one(str(new), Job(str(data), LoadOptions(), {}, (), "2"))
            return found

    assert check(Busy(data), time.time_ns()).found == {}
    assert "new.data" in sources(data)
