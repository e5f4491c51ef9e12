"""Compaction and removal leave what readers get, whenever they are killed; rows that nothing needs go."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count, islice
from operator import itemgetter
from pathlib import Path
from time import time_ns
from typing import Any, BinaryIO

import pytest

from perf2x.base.errors import FormatError, OptionError, OutputError
from perf2x.cli.options.upkeep_options import parse_before
from perf2x.fleet.ingest import Job
from perf2x.fleet.upkeep import compact_files, remove_recordings
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.fleet.upkeep.remove_recordings import collect
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset import parquet_files, table_log
from perf2x.storage.dataset.content_ids import recording_id
from perf2x.storage.dataset.dataset_folder import LocalFolder, storage_at
from perf2x.storage.dataset.dataset_schema import LOG, PARTITIONED, TABLES
from perf2x.storage.dataset.file_names import is_merged
from perf2x.storage.dataset.read import read_dataset as reading
from perf2x.storage.dataset.table_log import DataFile, commit
from perf2x.storage.dataset.write.write_recording import write_table
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support import outputs
from tests.support.datasets import rows
from tests.support.fleets import files_of, ingest_one, recording_of
from tests.support.recordings import CORPUS

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

HERE = SymbolOptions(buildid_dir=Path("/nonexistent"), perf_map_dir=Path("/nonexistent"))
NAMES = ("events", "perf_map", "user_only", "forker")  # kernel code and its twins, names of its own, neither
DAY = 24 * 3600 * 10**9


def add(data: Path, name: str, *, timeline: bool = False) -> None:
    path = CORPUS / name / "perf.data"
    options = LoadOptions(by_cgroup=True, timeline=timeline, symbols=SymbolOptions(perf_map_dir=path.parent))
    tags = {} if name == "forker" else {"service": "web"}
    job = Job(str(data), options, tags, ("service",), os.urandom(4).hex())
    assert ingest_one(str(path), job).state == "added"


def add_bad(path: Path, data: Path) -> None:
    assert ingest_one(str(path), Job(str(data), LoadOptions(), {}, (), os.urandom(4).hex())).error


def pprof(data: Path, *labels: str) -> bytes:
    options = LoadOptions(by_cgroup=True, timeline="time" in labels, symbols=HERE)
    return outputs.emitted(load([str(data)], options).profile, "pprof", label=labels, compress=False)


def distinct(data: Path, table: str) -> set[str]:
    return {repr(sorted(row.items())) for row in rows(data, table)}


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
    shared = {table: distinct(data, table) for table in TABLES}
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


def test_a_recording_that_is_removed_while_it_is_read_is_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files stay for a day: whoever has begun goes on."""
    before, chosen, todo = pprof(data, "comm"), reading.Dataset.rows_of, [1]

    def rows_of(self: reading.Dataset, recording: reading.RecordingRow) -> Any:
        if todo and todo.pop():
            collect(storage_at(data), time_ns() + DAY, time_ns())
        return chosen(self, recording)

    monkeypatch.setattr(reading.Dataset, "rows_of", rows_of)
    assert pprof(data, "comm") == before
    with pytest.raises(FormatError, match="no recording is in this dataset"):
        pprof(data, "comm")


@pytest.mark.slow
def test_order_and_earlier_runs_make_no_difference(separate: Path, data: Path, tmp_path: Path) -> None:
    """Names of merged files tell what was merged, and which of them has a recording; their rows are the same."""
    compact(storage_at(data))
    other = tmp_path / "other"
    for name in reversed(NAMES):
        add(other, name, timeline=name == "events")
        compact(storage_at(other))
    for table in PARTITIONED[:-1]:
        ours, theirs = (sorted(rows(one, table), key=itemgetter("recording")) for one in (data, other))
        assert ours == theirs


@pytest.mark.slow
def test_files_grow_to_a_size(data: Path) -> None:
    before = pprof(data, "comm")
    sizes = [file.size for file in web_samples(data)]
    compact(storage_at(data), target=max(2 * max(sizes) + 2, sum(sizes) - 1))
    assert len(web_samples(data)) == 2
    assert pprof(data, "comm") == before
    files = files_of(data)
    compact(storage_at(data), target=1)  # everything is large enough
    assert files_of(data) == files


@pytest.mark.parametrize("least", [2, 100])
def test_a_long_commit_has_a_checkpoint_behind_it(data: Path, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pprof(data, "comm")
    monkeypatch.setattr(table_log, "_LONG", least)
    compact(storage_at(data))
    version = storage_at(data).log("nodes").version
    found = [path.name for path in (data / "nodes" / LOG).glob("*.checkpoint.parquet")]
    assert found == ([f"{version:020}.checkpoint.parquet"] if least == 2 else [])
    assert pprof(data, "comm") == before


def test_what_was_put_together_waits_for_as_much_that_is_new(tmp_path: Path) -> None:
    data, numbers, merged = tmp_path / "profiles", count(), list[tuple[int, ...]]()
    for new in (4, 2, 1, 1):
        for number in islice(numbers, new):
            (tmp_path / f"{number}").write_bytes(recording_of(number, 6))
            ingest_one(str(tmp_path / f"{number}"), Job(str(data), LoadOptions(), {}, (), f"{new}{number}"))
        compact(storage_at(data))
        counts = [len({row["recording"] for row in rows_of_file(data, file)}) for file in merged_nodes(data)]
        merged.append(tuple(sorted(counts)))
    assert merged == [(4,), (2, 4), (2, 4), (8,)]
    assert {len(storage_at(data).log(table).files) for table in PARTITIONED} == {0, 1}


def merged_nodes(data: Path) -> list[DataFile]:
    return [file for name, file in storage_at(data).log("nodes").files.items() if is_merged(name)]


def rows_of_file(data: Path, file: DataFile) -> list[dict[str, Any]]:
    return parquet.ParquetFile(data / "nodes" / file.name).read().to_pylist()


def web_samples(data: Path) -> list[DataFile]:
    return [file for file in storage_at(data).log("samples").files.values() if file.parts["service"] == "web"]


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
    """As if an ingest had begun in front of a compaction and ended behind it."""
    before = pprof(data, "comm")
    logs = {table: storage_at(data).log(table) for table in PARTITIONED}
    compact(storage_at(data))
    for table, log in logs.items():
        commit(str(data), table, log.partition, [file for file in log.files.values() if file.parts["service"]])
    assert counted(data) > recorded(data)
    assert pprof(data, "comm") == before
    compact(storage_at(data))
    assert pprof(data, "comm") == before
    assert len(rows(data, "recordings")) == len(distinct_recordings(data))
    assert counted(data) == recorded(data)


def counted(data: Path) -> int:
    return sum(row["count"] for row in rows(data, "samples"))


def recorded(data: Path) -> int:
    return sum(row["samples"] for row in distinct_recordings(data))


def distinct_recordings(data: Path) -> list[dict[str, Any]]:
    return list({row["recording"]: row for row in rows(data, "recordings")}.values())


class Killed(BaseException):
    """A process ends here."""


class Mortal(LocalFolder):
    """A folder whose process is killed when it writes one of its files."""

    def __init__(self, root: Path, step: Callable[[], None]) -> None:
        super().__init__(root)
        self.step = step

    def new_file(self, name: str) -> AbstractContextManager[BinaryIO]:
        self.step()
        return super().new_file(name)


def kills(data: Path, tmp_path: Path, run: Any, stride: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a copy of the dataset after a kill at each, or each second, third … file or commit of a run."""
    left = [0]

    def step() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    def mortal_commit(root: str, table: str, partition: Any, adds: Any, removes: Any = (), **named: Any) -> None:
        if adds or removes:
            step()
        commit(root, table, partition, adds, removes, **named)

    for module in (compact_files, remove_recordings):
        monkeypatch.setattr(module, "commit", mortal_commit)
    for number in count(0, stride):
        copy = tmp_path / f"killed{number}"
        shutil.copytree(data, copy)
        left[0] = number
        try:
            run(Mortal(copy, step))
        except Killed:
            left[0] = 10**9
            yield copy
            shutil.rmtree(copy)
        else:
            assert number > 5
            return


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two forged recordings, of which the first is old."""
    data = tmp_path_factory.mktemp("two") / "profiles"
    for number in (1, 2):
        path = data.parent / f"{number}.data"
        path.write_bytes(recording_of(number, 6))
        assert ingest_one(str(path), Job(str(data), LoadOptions(by_cgroup=True), {}, (), "1")).state == "added"
    rewrite_starts(data, {recording_id([data.parent / "1.data"]).hex()})
    return data


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_compaction_may_be_killed_at_any_step(
    two: Path, tmp_path: Path, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pprof(two, "pid")
    shutil.copytree(two, tmp_path / "whole")
    compact(storage_at(tmp_path / "whole"))
    wanted = files_of(tmp_path / "whole")
    for killed in kills(two, tmp_path, compact, stride, monkeypatch):
        assert pprof(killed, "pid") == whole
        compact(storage_at(killed))
        assert files_of(killed) == wanted


def removal(storage: Any) -> None:
    collect(storage, DAY, time_ns())


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1])
def test_removal_may_be_killed_at_any_step(
    two: Path, tmp_path: Path, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Path(shutil.copytree(two, tmp_path / "both"))
    compact(storage_at(data))
    shutil.copytree(data, tmp_path / "whole")
    removal(storage_at(tmp_path / "whole"))
    both, one = pprof(data, "pid"), pprof(tmp_path / "whole", "pid")
    assert one != both
    for killed in kills(data, tmp_path, removal, stride, monkeypatch):
        assert pprof(killed, "pid") in (one, both)
        removal(storage_at(killed))
        assert pprof(killed, "pid") == one


@pytest.mark.parametrize("is_compact", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_what_only_old_recordings_need_is_removed(separate: Path, data: Path, tmp_path: Path, is_compact: bool) -> None:
    old = ("user_only", "perf_map")
    kept = [name for name in NAMES if name not in old]
    for name in kept:
        add(tmp_path / "kept", name, timeline=name == "events")
    add_bad(separate.parent / "bad", tmp_path / "kept")
    if is_compact:
        compact(storage_at(data))
    rewrite_starts(data, {recording_id([CORPUS / name / "perf.data"]).hex() for name in old})
    assert collect(storage_at(data), DAY, time_ns(), dry_run=True).recordings == 2
    assert distinct(data, "nodes") > distinct(tmp_path / "kept", "nodes")
    removed = collect(storage_at(data), DAY, time_ns())
    assert (removed.recordings, removed.of) == (2, 5)
    for table in PARTITIONED[:-1]:
        assert distinct(data, table) == distinct(tmp_path / "kept", table)
    assert pprof(data, "comm") == pprof(tmp_path / "kept", "comm")
    assert collect(storage_at(data), DAY, time_ns()).recordings == 0


def rewrite_starts(data: Path, old: set[str]) -> None:
    """Set the start of recordings to 1970."""
    for name in storage_at(data).log("recordings").files:
        path = data / "recordings" / name
        table = parquet.ParquetFile(path).read()
        at = table.schema.get_field_index("start_ns")
        was_old = [row in old for row in table["recording"].to_pylist()]
        was = zip(was_old, table["start_ns"].to_pylist(), strict=True)
        starts = pa.array([1 if one else start for one, start in was], pa.int64())
        write_table(path, "recordings", table.set_column(at, table.schema.field(at), starts))


def test_files_of_unfinished_recordings_stay_for_a_day(two: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(two, tmp_path / "profiles"))
    log = storage_at(data).log("recordings")
    gone = min(log.files)
    commit(str(data), "recordings", log.partition, (), [log.files[gone]])
    compact(storage_at(data))
    assert gone in storage_at(data).log("nodes").files
    assert collect(storage_at(data), 0, time_ns()).unfinished == 0
    assert collect(storage_at(data), 0, time_ns() + 2 * DAY).unfinished == 3
    assert gone not in storage_at(data).log("nodes").files


def test_two_compactions_at_one_time_double_nothing(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Path(shutil.copytree(two, tmp_path / "profiles"))
    before, merge = pprof(data, "pid"), compact_files.merge_files

    def merge_files(*arguments: Any) -> Any:
        monkeypatch.undo()
        compact(storage_at(data))
        return merge(*arguments)

    monkeypatch.setattr(compact_files, "merge_files", merge_files)
    with pytest.raises(OutputError, match="another command changed it meanwhile"):
        compact(storage_at(data))
    assert pprof(data, "pid") == before
    assert sum(row["count"] for row in rows(data, "samples")) == 12


def test_ages() -> None:
    hour = 3600 * 10**9
    assert [parse_before(age, 500 * hour) // hour for age in ("2h", "3d", "1w")] == [498, 428, 332]
    for age in ("", "3", "3m", "-1d", "d"):
        with pytest.raises(OptionError, match="not an age"):
            parse_before(age, 0)
