"""Compaction and removal leave what readers get, whenever they are killed; rows that nothing needs go."""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from time import time_ns
from typing import Any, BinaryIO

import pytest

from perf2x.base.errors import FormatError, OptionError, OutputError
from perf2x.cli.options.upkeep_options import parse_before
from perf2x.fleet.ingest import Job, ingest_one
from perf2x.fleet.upkeep import journal
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.fleet.upkeep.remove_recordings import collect
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset import parquet_files
from perf2x.storage.dataset.content_ids import recording_id, text_id
from perf2x.storage.dataset.dataset_folder import LocalFolder, storage_at
from perf2x.storage.dataset.read import read_dataset as reading
from perf2x.storage.dataset.write.write_recording import write_table
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.fleets import files_of, recording_of
from tests.support.recordings import CORPUS

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

HERE = SymbolOptions(buildid_dir=Path("/nonexistent"), perf_map_dir=Path("/nonexistent"))
NAMES = ("events", "perf_map", "user_only", "forker")  # kernel code and its twins, names of its own, neither
DAY = 24 * 3600 * 10**9


def add(data: Path, name: str, *, timeline: bool = False) -> None:
    path = CORPUS / name / "perf.data"
    options = LoadOptions(by_cgroup=True, timeline=timeline, symbols=SymbolOptions(perf_map_dir=path.parent))
    partition = () if name == "forker" else ("service",)
    job = Job(str(data), options, {"service": "web"}, partition, os.urandom(4).hex())
    assert ingest_one(str(path), job).state == "added"


def add_bad(path: Path, data: Path) -> None:
    assert ingest_one(str(path), Job(str(data), LoadOptions(), {}, (), os.urandom(4).hex())).error


def pprof(data: Path, *labels: str) -> bytes:
    options = LoadOptions(by_cgroup=True, timeline="time" in labels, symbols=HERE)
    return outputs.emitted(load([str(data)], options).profile, "pprof", label=labels, compress=False)


def distinct(data: Path, table: str) -> set[tuple[Any, ...]]:
    return {tuple(sorted(row.items())) for row in rows(data, table)}


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file for each recording and table; one recording is a timeline, one could not be read."""
    data = tmp_path_factory.mktemp("fleet") / "profiles"
    for name in NAMES:
        add(data, name, timeline=name == "events")
    (data.parent / "bad").write_bytes(b"none")
    add_bad(data.parent / "bad", data)
    return data


@pytest.fixture
def data(separate: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(separate, tmp_path / "profiles"))


def test_a_compact_dataset_converts_to_the_same_bytes(separate: Path, data: Path) -> None:
    before = pprof(data, "pid", "comm"), pprof(data, "comm")
    shared = {table: distinct(data, table) for table in ("nodes", "samples", "mappings")}
    done = compact(storage_at(data))
    after = files_of(data)
    assert done.before > done.after == len(after)
    assert (pprof(data, "pid", "comm"), pprof(data, "comm")) == before
    assert {table: distinct(data, table) for table in shared} == shared
    compact(storage_at(data))
    assert files_of(data) == after
    for name in NAMES:
        path = CORPUS / name / "perf.data"
        assert ingest_one(str(path), Job(str(data), LoadOptions(), {}, (), "later")).state == "known"
    add_bad(separate.parent / "bad", data)  # is tried again
    compact(storage_at(data))
    add_bad(separate.parent / "bad", data)


@pytest.mark.parametrize("moment", ["recordings", "samples", "nodes", "lines"])
def test_readers_go_on_while_files_are_put_together(data: Path, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compaction runs whole right in front of the first read of a table; what was listed is gone then."""
    before, read, todo = pprof(data, "comm"), parquet_files.read_table, [moment]

    def read_table(path: Path, table: str, *rest: Any, **named: Any) -> Any:
        if [table] == todo:
            todo.clear()
            compact(storage_at(data))
        return read(path, table, *rest, **named)

    monkeypatch.setattr(reading, "read_table", read_table)
    monkeypatch.setattr(parquet_files, "read_table", read_table)
    assert pprof(data, "comm") == before
    assert todo == []


def test_a_recording_that_is_removed_while_it_is_read_is_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = reading.Dataset.rows_of

    def rows_of(self: reading.Dataset, recording: reading.RecordingRow) -> Any:
        recording.file.unlink(missing_ok=True)
        return chosen(self, recording)

    monkeypatch.setattr(reading.Dataset, "rows_of", rows_of)
    ran = perf2x("top", data)
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "it was removed from the dataset while that was read; try again" in ran.err


@pytest.mark.slow
def test_order_and_earlier_runs_make_no_difference(separate: Path, data: Path, tmp_path: Path) -> None:
    compact(storage_at(data))
    other = tmp_path / "other"
    for name in reversed(NAMES):
        add(other, name, timeline=name == "events")
        compact(storage_at(other))
    bad = text_id("unread", str(separate.parent / "bad")).hex()
    assert {name: raw for name, raw in files_of(data).items() if bad not in name} == files_of(other)


@pytest.mark.slow
def test_files_grow_to_a_size(data: Path) -> None:
    before = pprof(data, "comm")
    sizes = [file.size for file in storage_at(data).files("samples/service=web")]
    compact(storage_at(data), target=max(2 * max(sizes) + 2, sum(sizes) - 1))
    assert len(storage_at(data).files("samples/service=web")) == 2
    assert pprof(data, "comm") == before
    files = files_of(data)
    compact(storage_at(data), target=1)  # everything is large enough
    assert files_of(data) == files


@pytest.mark.slow
def test_old_timelines_become_the_sums_that_would_have_been_added(data: Path, tmp_path: Path) -> None:
    before = pprof(data, "comm")
    assert compact(storage_at(data), 0).summed == 0
    done = compact(storage_at(data), parse_before("0h", time_ns() + DAY))
    assert done.summed == 1
    assert pprof(data, "comm") == before
    assert not any(row["is_timeline"] for row in rows(data, "recordings"))
    assert all(row["time_ns"] is row["cpu"] is None for row in rows(data, "samples"))
    with pytest.raises(OptionError, match="the dataset has sums"):
        pprof(data, "time")
    for name in NAMES:
        add(tmp_path / "sums", name)
    assert distinct(data, "samples") == distinct(tmp_path / "sums", "samples")


@pytest.mark.slow
def test_doubles_go(data: Path) -> None:
    before = pprof(data, "comm")
    twice = ingest_one(
        str(CORPUS / "forker" / "perf.data"), Job(str(data / "x"), LoadOptions(by_cgroup=True), {}, ("a", "b"), "1")
    )
    assert twice.state == "added"
    for table in ("samples", "mappings", "recordings"):  # as if two commands had added it at one time
        shutil.copytree(data / "x" / table, data / table, dirs_exist_ok=True)
    shutil.rmtree(data / "x")
    compact(storage_at(data))
    assert pprof(data, "comm") == before
    found = [row["recording"] for row in rows(data, "recordings")]
    assert len(found) == len(set(found))
    assert sum(row["count"] for row in rows(data, "samples")) == sum(row["samples"] for row in rows(data, "recordings"))


class Killed(BaseException):
    """A process ends here."""


class Mortal(LocalFolder):
    """A folder whose process is killed at one of its steps."""

    def __init__(self, root: Path, steps: int) -> None:
        super().__init__(root)
        self.steps = steps

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Killed

    def new_file(self, name: str) -> AbstractContextManager[BinaryIO]:
        self.step()
        return super().new_file(name)

    def move(self, old: str, new: str) -> None:
        self.step()
        super().move(old, new)

    def remove(self, name: str) -> None:
        self.step()
        super().remove(name)


def kills(data: Path, tmp_path: Path, run: Any, stride: int) -> Iterator[Path]:
    """Yield a copy of the dataset after a kill at each, or each second, third … step of a run."""
    for step in count(0, stride):
        copy = tmp_path / f"killed{step}"
        shutil.copytree(data, copy)
        try:
            run(Mortal(copy, step))
        except Killed:
            yield copy
            shutil.rmtree(copy)
        else:
            assert step > 10
            return


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two forged recordings, of which the first is old."""
    data = tmp_path_factory.mktemp("two") / "profiles"
    for number in (1, 2):
        path = data.parent / f"{number}.data"
        path.write_bytes(recording_of(number, 6))
        assert ingest_one(str(path), Job(str(data), LoadOptions(by_cgroup=True), {}, (), "1")).state == "added"
    rewrite_starts(data, {recording_id([data.parent / "1.data"])})
    return data


@pytest.mark.parametrize("stride", [11, pytest.param(4, marks=pytest.mark.slow)])
def test_compaction_may_be_killed_at_any_step(two: Path, tmp_path: Path, stride: int) -> None:
    whole = pprof(two, "pid")
    shutil.copytree(two, tmp_path / "whole")
    compact(storage_at(tmp_path / "whole"))
    wanted = files_of(tmp_path / "whole")
    for killed in kills(two, tmp_path, compact, stride):
        assert pprof(killed, "pid") == whole
        compact(storage_at(killed))
        assert files_of(killed) == wanted


def removal(storage: Any) -> None:
    collect(storage, DAY, time_ns())


@pytest.mark.slow
@pytest.mark.parametrize("stride", [4])
def test_removal_may_be_killed_at_any_step(two: Path, tmp_path: Path, stride: int) -> None:
    data = Path(shutil.copytree(two, tmp_path / "both"))
    compact(storage_at(data))
    shutil.copytree(data, tmp_path / "whole")
    removal(storage_at(tmp_path / "whole"))
    wanted, both, one = files_of(tmp_path / "whole"), pprof(data, "pid"), pprof(tmp_path / "whole", "pid")
    assert one != both
    for killed in kills(data, tmp_path, removal, stride):
        assert pprof(killed, "pid") in (one, both)
        removal(storage_at(killed))
        assert files_of(killed) == wanted


@pytest.mark.parametrize("is_compact", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_what_only_old_recordings_need_is_removed(separate: Path, data: Path, tmp_path: Path, is_compact: bool) -> None:
    old = ("user_only", "perf_map")
    kept = [name for name in NAMES if name not in old]
    for name in kept:
        add(tmp_path / "kept", name, timeline=name == "events")
    add_bad(separate.parent / "bad", tmp_path / "kept")
    if is_compact:
        compact(storage_at(data))
    rewrite_starts(data, {recording_id([CORPUS / name / "perf.data"]) for name in old})
    assert collect(storage_at(data), DAY, time_ns(), dry_run=True).recordings == 2
    assert distinct(data, "nodes") > distinct(tmp_path / "kept", "nodes")
    removed = collect(storage_at(data), DAY, time_ns())
    assert (removed.recordings, removed.of) == (2, 5)
    for table in ("nodes", "samples", "mappings"):
        assert distinct(data, table) == distinct(tmp_path / "kept", table)
    for table in ("places", "lines"):  # the file of a place may have been named by another recording
        found, wanted = ({row["place_id"] for row in rows(place, table)} for place in (data, tmp_path / "kept"))
        assert found == wanted
    assert pprof(data, "comm") == pprof(tmp_path / "kept", "comm")
    assert collect(storage_at(data), DAY, time_ns()).recordings == 0


def rewrite_starts(data: Path, old: set[bytes]) -> None:
    """Set the start of recordings to 1970."""
    for path in (data / "recordings").rglob("*.parquet"):
        table = parquet.ParquetFile(path).read()
        at = table.schema.get_field_index("start_ns")
        was_old = [row in old for row in table["recording"].to_pylist()]
        was = zip(was_old, table["start_ns"].to_pylist(), strict=True)
        starts = pa.array([1 if one else start for one, start in was], pa.int64())
        write_table(path, "recordings", table.set_column(at, table.schema.field(at), starts))


def test_files_of_unfinished_recordings_stay_for_a_day(two: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(two, tmp_path / "profiles"))
    gone = sorted((data / "recordings").iterdir())[0]
    gone.unlink()
    compact(storage_at(data))
    assert (data / "nodes" / gone.name).exists()
    assert collect(storage_at(data), 0, time_ns()).unfinished == 0
    assert collect(storage_at(data), 0, time_ns() + 2 * DAY).unfinished == 3
    assert not list(data.rglob(gone.name))


def test_upkeep_is_alone_and_says_so(two: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(two, tmp_path / "profiles"))
    with journal.alone(storage_at(data)), pytest.raises(OutputError, match="another compact or gc"):
        compact(storage_at(data))
    missing = journal.Changes(("nodes/new.parquet",), ("nodes/old.parquet",))
    (data / "nodes" / "old.parquet").touch()
    with pytest.raises(OutputError, match="nothing was removed"):
        journal.carry_out(storage_at(data), missing)
    assert (data / "nodes" / "old.parquet").exists()
    (data / "_upkeep" / "changes.json").write_text("{")
    with pytest.raises(FormatError, match="damaged"):
        compact(storage_at(data))


def test_ages() -> None:
    hour = 3600 * 10**9
    assert [parse_before(age, 500 * hour) // hour for age in ("2h", "3d", "1w")] == [498, 428, 332]
    for age in ("", "3", "3m", "-1d", "d"):
        with pytest.raises(OptionError, match="not an age"):
            parse_before(age, 0)
