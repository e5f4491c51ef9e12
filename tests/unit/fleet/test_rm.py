"""Recordings that are named by id, source or tags go; all others stay as they were."""

from pathlib import Path

import pytest

from perf2x.fleet.ingest import Job
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.content_ids import recording_id
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.storage.dataset.dataset_schema import PARTITIONED
from perf2x.storage.dataset.parquet_files import read_stored
from tests.support.command import Ran, perf2x
from tests.support.fleets import ingest_one, recording_of

pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Two recordings of each of two services, which name folders."""
    address = str(tmp_path / "profiles")
    for number in range(4):
        path = tmp_path / f"{number}.data"
        path.write_bytes(recording_of(number, 6))
        tags = {"service": "web" if number < 2 else "db", "number": str(number)}
        assert ingest_one(str(path), Job(address, LoadOptions(), tags, ("service",), "1")).state == "added"
    return address


def numbers(data: str) -> dict[str, set[str]]:
    """The recordings that have rows, by table."""
    storage, found = storage_at(data), {}
    for table in PARTITIONED:
        found[table] = set[str]()
        for name in storage.log(table).files:
            found[table] |= set(read_stored(storage, f"{table}/{name}", table)["recording"].to_pylist())
    return found


def rm(*words: str) -> Ran:
    return perf2x("fleet", "rm", *words)


@pytest.mark.parametrize("is_compact", [False, True])
def test_recordings_go_by_id_source_and_tags(data: str, tmp_path: Path, is_compact: bool) -> None:
    if is_compact:
        compact(storage_at(data))
    idents = [recording_id([tmp_path / f"{number}.data"]).hex() for number in range(4)]
    before = numbers(data)
    assert before["recordings"] == before["nodes"] == set(idents)
    ran = rm(data, idents[0], "--dry-run")
    assert (ran.code, ran.said.splitlines()[-1]) == (0, f"{data}: 1 of 4 recordings would be removed")
    assert numbers(data) == before
    for words, left in (
        ((data, idents[0]), [1, 2, 3]),
        ((f"{data}?service=db", str(tmp_path / "2.data")), [1, 3]),
        ((f"{data}?number=3",), [1]),
    ):
        assert rm(*words).code == 0
        assert numbers(data) == {table: {idents[number] for number in left} & known for table, known in before.items()}


def test_what_is_not_there_is_said_and_nothing_goes(data: str, tmp_path: Path) -> None:
    for words, said in (
        ((data,), "name the recordings, by id or source, or their tags"),
        ((data, str(tmp_path / "0.data"), "no.data"), f"{data}: no recording no.data is there"),
        ((f"{data}?service=db", str(tmp_path / "0.data")), "0.data is there"),
        ((f"{data}?service=none",), f"{data}: no recording with these tags is there"),
    ):
        ran = rm(*words)
        assert (ran.code, said in ran.said) == (2, True), ran.said
    assert len(numbers(data)["recordings"]) == 4
