"""Whatever is killed, doubled or repeated while recordings are added: sums are right after the next run."""

import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from perf2x.errors import FormatError
from perf2x.fleet import ingest as module
from perf2x.fleet.ingest import Job
from perf2x.fleet.query import run_query
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.sources.dataset.dataset_schema import RECORDING_TABLES
from perf2x.sources.dataset.delta_tables import DeltaTables
from perf2x.sources.dataset.write import write_recordings
from tests.support.command import perf2x
from tests.support.datasets import add_recordings, content, counted_rows, rows
from tests.support.fleets import recording_of, write_fleet

pytest.importorskip("deltalake")
SUM = "SELECT count(*), sum(value), sum(count) FROM samples"


def sums(folder: Path) -> list[tuple[Any, ...]]:
    with run_query(folder, SUM) as answer:
        return list(answer.rows())


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_fleet(tmp_path_factory.mktemp("fleet") / "recordings", 20)


@pytest.fixture(scope="module")
def expected(recordings: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    folder = tmp_path_factory.mktemp("expected") / "profiles"
    totals = add_recordings(folder, recordings)
    assert (totals.added, totals.failed) == (17, 3)
    return sums(folder)


def test_a_run_that_ended_between_any_two_commits_adds_nothing_twice(
    recordings: list[Path], expected: list[tuple[Any, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, commits = DeltaTables.append, RECORDING_TABLES[:-1]
    for number in range(len(commits) + 1):
        left = [number]

        def ends(self: DeltaTables, *values: Any, left: list[int] = left) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            append(self, *values)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(DeltaTables, "append", ends)
            patch.setattr(module, "commit_recordings", Mock(side_effect=KeyboardInterrupt))
            add_recordings(tmp_path / "profiles", recordings)
    assert rows(tmp_path / "profiles", "samples") != counted_rows(tmp_path / "profiles", "samples") == []
    with pytest.raises(FormatError, match="no recordings yet"):
        load([str(tmp_path / "profiles")], LoadOptions())
    add_recordings(tmp_path / "profiles", recordings)
    assert sums(tmp_path / "profiles") == expected
    assert content(load([str(tmp_path / "profiles")], LoadOptions()).profile) == content(
        load([str(path) for path in recordings if path.read_bytes()[:2] != b"no"], LoadOptions()).profile
    )


def test_two_writers_of_one_list_add_no_row_twice(
    recordings: list[Path], expected: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: add_recordings(tmp_path / "profiles", recordings), range(2)))
    assert sums(tmp_path / "profiles") == expected
    found = [one["recording"] for one in rows(tmp_path / "profiles", "recordings")]
    assert len(found) == len(set(found)) == len(recordings)


def test_writers_that_began_together_count_once(recordings: list[Path], tmp_path: Path) -> None:
    options = Job(str(tmp_path), LoadOptions(), {}, "one", partition=("date",))
    tables = DeltaTables(str(tmp_path))
    tables.make(())
    both = [module.ingest_task([str(path) for path in recordings[:2]], options) for _ in range(2)]
    for _, one in both:
        write_recordings.commit_recordings(tables, one)
    assert len(rows(tmp_path, "samples")) == 2 * len(counted_rows(tmp_path, "samples")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_killed_commands_lose_and_double_nothing(
    recordings: list[Path], expected: list[tuple[Any, ...]], tmp_path: Path, seed: int
) -> None:
    data, choice = str(tmp_path / "profiles"), random.Random(seed)
    words = ["ingest", *map(str, recordings), "-o", data, "--workers", "2"]
    others = [["symbolize", data], ["maintain", data], ["rm", data, recordings[0].name]]
    for number in range(5):
        wanted = words if number < 2 else choice.choice([words, *others])
        command = subprocess.Popen(
            [sys.executable, "-m", "perf2x", "fleet", *wanted], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(choice.uniform(0.5, 4))
        command.kill()
        command.wait()
    assert perf2x("fleet", *words).code == 0
    assert perf2x("fleet", "maintain", data).code == 0
    assert sums(tmp_path / "profiles") == expected


def test_replace_changes_tags_and_dates(recordings: list[Path], tmp_path: Path) -> None:
    data, one = tmp_path / "profiles", recordings[0]
    add_recordings(data, [one], {"service": "wbe"}, ["service"])
    before = sums(data)
    totals = add_recordings(data, [one], {"service": "web"})
    assert (totals.already_present, totals.retagged, len(rows(data, "recordings"))) == (1, 1, 1)
    assert add_recordings(data, [one], {"service": "web"}, replace=True, start_time="file").added == 1
    (row,) = rows(data, "recordings")
    assert (row["tags"], row["service"], row["date"] is None) == ([("service", "web")], "web", False)
    assert sums(data) == before
    with pytest.raises(FormatError, match="no recording with service=wbe"):
        load([f"{data}?service=wbe"], LoadOptions())


def cut(raw: bytes, size: int) -> bytes:
    return raw[: len(raw) - size]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)], ids=str)
def test_of_states_of_a_recording_the_last_one_counts(tmp_path: Path, order: tuple[int, ...]) -> None:
    whole = recording_of(1)
    states = [cut(whole, 600), cut(whole, 300), whole]
    files = []
    for number, raw in enumerate(states):
        files.append(tmp_path / f"{number}.data")
        files[-1].write_bytes(raw)
    for number in order:
        add_recordings(tmp_path / "profiles", [files[number]], leave_ns=0)
    (row,) = rows(tmp_path / "profiles", "recordings")
    assert (row["source"], row["unfinished"], row["samples"]) == (str(files[2]), False, 40)
    assert sums(tmp_path / "profiles")[0][2] == 40


def test_states_that_are_added_together_are_one(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.data" for number in range(3)]
    for file, size in zip(files, (600, 300, 0), strict=True):
        file.write_bytes(cut(recording_of(1), size))
    add_recordings(tmp_path / "profiles", files, leave_ns=0)
    assert [row["samples"] for row in rows(tmp_path / "profiles", "recordings")] == [40]


def test_what_may_still_grow_is_left(tmp_path: Path) -> None:
    file = tmp_path / "1.data"
    file.write_bytes(cut(recording_of(1), 300))
    assert add_recordings(tmp_path / "profiles", [file]).postponed == 1
    os.utime(file, (time.time() - 100, time.time() - 100))
    totals = add_recordings(tmp_path / "profiles", [file])
    assert (totals.added, totals.unfinished) == (1, 1)


def test_errors_go_when_the_file_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "1.data"
    file.write_bytes(b"no recording")
    assert add_recordings(tmp_path / "profiles", [file]).failed == 1
    assert rows(tmp_path / "profiles", "recordings")[0]["error"]
    file.write_bytes(recording_of(1))
    assert add_recordings(tmp_path / "profiles", [file]).added == 1
    assert [row["error"] for row in rows(tmp_path / "profiles", "recordings")] == [None]


def test_stacks_that_would_fill_a_disk_are_an_error(
    tmp_path: Path, recordings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from perf2x.sources.dataset.write import table_rows

    monkeypatch.setattr(table_rows, "_MAX_FRAMES", 1)
    assert add_recordings(tmp_path / "profiles", recordings[:1]).failed == 1
    assert "too many for a dataset" in rows(tmp_path / "profiles", "recordings")[0]["error"]


def test_stacks_are_written_in_pieces(tmp_path: Path, recordings: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from perf2x.sources.dataset.write import table_rows

    add_recordings(tmp_path / "whole", recordings[:3])
    monkeypatch.setattr(table_rows, "_FRAMES_PER_PART", 5)
    monkeypatch.setattr(write_recordings, "_WRITE_SIZE", 1000)
    add_recordings(tmp_path / "pieces", recordings[:3])
    whole, pieces = (content(load([str(tmp_path / name)], LoadOptions()).profile) for name in ("whole", "pieces"))
    assert whole == pieces


def test_killed_workers_end_the_run_with_a_sentence(recordings: list[Path], tmp_path: Path) -> None:
    from perf2x.errors import Perf2xError
    from perf2x.fleet.executors import executor, results_of

    with pytest.raises(Perf2xError, match="run the same command again"), executor(None, 2) as crew:
        list(results_of(crew, end_process, [1, 2], None))


def end_process(item: int, job: None) -> None:
    os._exit(item)


def test_dask_is_an_executor_like_others(
    recordings: list[Path], expected: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed")
    from perf2x.fleet.executors import executor

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False) as cluster,
        executor(cluster.scheduler_address, 2) as crew,
    ):
        assert add_recordings(tmp_path / "profiles", recordings, crew=crew).added == 17
    assert sums(tmp_path / "profiles") == expected


def test_recordings_of_other_hosts_are_told_apart_by_their_tags(tmp_path: Path) -> None:
    for number in range(3):
        file = tmp_path / f"{number}.data"
        file.write_bytes(recording_of(number))
        add_recordings(tmp_path / "profiles", [file], {"host": f"h{number}", "service": "web"})
    profile = load([str(tmp_path / "profiles")], LoadOptions()).profile
    assert profile.labels == {"service": "web"}
    assert sorted(one["host"] for one in profile.tag_sets) == ["h0", "h1", "h2"]
