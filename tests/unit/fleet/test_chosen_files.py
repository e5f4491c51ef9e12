"""Of a dataset in a store only those files are read that can have what is asked for: objects and bytes are counted."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from perf2x.fleet.upkeep.compact_files import compact
from perf2x.storage.dataset.content_ids import text_id
from perf2x.storage.dataset.dataset_address import DatasetAddress
from perf2x.storage.dataset.dataset_folder import LocalFolder, storage_at
from perf2x.storage.dataset.dataset_schema import PARTITIONED, TABLES
from perf2x.storage.dataset.read import read_dataset
from perf2x.storage.dataset.sql import asked_rows
from perf2x.storage.dataset.table_log import read_log
from perf2x.storage.dataset.write.write_recording import commit_files, write_files
from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.datasets import name_places, rows, stored
from tests.support.extremes import EVENT, SAMPLE, STAMP

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
memory = pytest.importorskip("fsspec.implementations.memory")

DAYS, HOSTS, SERVICES, PARTITION = 4, ("a", "b"), ("web", "db"), ("service", "date")
STORE = "memory://chosen-files"
DAY, COSTS = "2026-11-03", "SELECT function, sum(self) FROM by_function JOIN recordings USING (recording)"


def recording_of_service(service: str) -> bytes:
    program = forge.Mmap(pid=10, tid=10, addr=0x1000, len=0x10000, filename=f"/bin/{service}", stamp=STAMP)
    samples = [
        dataclasses.replace(SAMPLE, time=1000 + row, chain=(k.CONTEXT_USER, 0x1100 + row, 0x2000 + row % 3))
        for row in range(20)
    ]
    return forge.write_file(forge.Session((EVENT,)), [program, *samples])


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Days of two services, which run programs of their own, on two hosts."""
    place = tmp_path_factory.mktemp("chosen")
    storage, written = LocalFolder(place / "profiles"), []
    for service in SERVICES:
        (place / service).write_bytes(recording_of_service(service))
        one = stored(place / service)
        for day in range(DAYS):
            for host in HOSTS:
                start = (day + 1) * 86400 * 10**9 + 1793491200 * 10**9
                meta = replace(one.profile.meta, wall_start_ns=start, hostname=host, source=f"{service}-{day}-{host}")
                profile = replace(one.profile, meta=meta)
                new = replace(
                    one,
                    recording=text_id(meta.source),
                    profile=profile,
                    tags={"service": service, "host": host, "run": f"{service}-{day}"},
                )
                written += write_files(storage, new, None, PARTITION)
    commit_files(storage.root, PARTITION, written)
    shared = [row for row in rows(storage.folder, "places") if not row["is_local"]]
    for file in sorted({row["file"] for row in shared}):
        name_places(storage.folder, [row for row in shared if row["file"] == file], [(file, file, "", 1)])
    return storage.folder


@pytest.fixture(scope="module", params=["as added", "compacted"])
def folder(request: pytest.FixtureRequest, added: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "as added":
        return added
    copy = Path(shutil.copytree(added, tmp_path_factory.mktemp("compacted") / "profiles"))
    compact(LocalFolder(copy))
    return copy


@pytest.fixture
def read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Bytes of each object that is read from the store."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            with storage_at(STORE).new_file(path.relative_to(folder).as_posix()) as file:
                file.write(path.read_bytes())
    get = memory.MemoryFileSystem.get_file

    def counted(system: Any, source: str, *words: Any, **more: Any) -> None:
        found[source.partition("chosen-files/")[2]] = system.size(source)
        get(system, source, *words, **more)

    monkeypatch.setattr(memory.MemoryFileSystem, "get_file", counted)
    yield found
    memory.MemoryFileSystem().rm("/chosen-files", recursive=True)


def bytes_of(folder: Path, part: str, program: str) -> int:
    """Bytes of the files in folders of a name, and of the names of a program."""
    (ident,) = {row["object_id"] for row in rows(folder, "places") if row["file"] == program}
    logs = {table: read_log(folder / table).files.values() for table in TABLES}
    own = sum(file.size for table in PARTITIONED for file in logs[table] if part in file.name)
    return own + sum(file.size for file in logs["symbols"] if file.may_hold(ident))


CHOSEN = f"service=web/date={DAY}/"
QUESTIONS = [
    ("fleet", "query", f"{STORE}?service=web&date={DAY}", COSTS),
    ("fleet", "query", STORE, f"{COSTS} WHERE recordings.service = 'web' AND date = '{DAY}' GROUP BY ALL"),
    ("top", f"{STORE}?service=web&date={DAY}"),
    ("top", STORE, "--where", f"recordings.service = 'web' AND recordings.date = '{DAY}' AND pid > 1"),
]


@pytest.mark.parametrize("words", QUESTIONS, ids=["tags", "sql", "top", "where"])
def test_a_day_and_a_service(folder: Path, read: dict[str, int], words: tuple[str, ...]) -> None:
    words = tuple(word.replace(COSTS, f"{COSTS} GROUP BY ALL") if word == COSTS else word for word in words)
    here, there = perf2x(*(word.replace(STORE, str(folder)) for word in words)), perf2x(*words)
    assert (there.code, there.out) == (0, here.out)
    assert "/bin/web" in here.out
    data = {name: size for name, size in read.items() if name.endswith(".parquet") and "_delta_log" not in name}
    assert all(CHOSEN in name for name in data if not name.startswith("symbols/")), data
    assert sum(data.values()) <= 1.1 * bytes_of(folder, CHOSEN, "/bin/web")
    assert len(read) - len(data) <= 3 * len(TABLES), read  # logs


@pytest.mark.parametrize(
    ("words", "tables"),
    [
        (("fleet", "query", STORE, "SELECT host, sum(samples) FROM recordings GROUP BY 1"), {"recordings"}),
        (("fleet", "query", STORE, "SELECT sum(value) FROM samples WHERE service = 'db'"), {"recordings", "samples"}),
        (("fleet", "query", f"{STORE}?host=b", "FROM symbols"), {"recordings", "symbols"}),
    ],
)
def test_tables_that_are_not_asked_for(
    folder: Path, read: dict[str, int], words: tuple[str, ...], tables: set[str]
) -> None:
    here, there = perf2x(*(word.replace(STORE, str(folder)) for word in words)), perf2x(*words)
    assert (there.code, there.out) == (0, here.out)
    data = [name for name in read if "_delta_log" not in name]
    assert {name.partition("/")[0] for name in data} == tables
    assert "'db'" not in words[-1] or all("service=db" in name for name in data)


@pytest.mark.parametrize(
    "words",
    [
        ("fleet", "query", STORE, f"{COSTS} WHERE host = 'b' AND tags['service'] = 'db' AND start_ns > 0 GROUP BY ALL"),
        ("fleet", "query", f"{STORE}?host=b&service=db", f"{COSTS} GROUP BY ALL"),
        ("top", f"{STORE}?host=b&service=db"),
        ("top", STORE, "--where", "host = 'b' AND tags['service'] = 'db'"),
    ],
)
def test_hosts_and_tags_that_name_no_folder(folder: Path, read: dict[str, int], words: tuple[str, ...]) -> None:
    """Files of other hosts' recordings are left alone as long as each has its own; other services always are."""
    here, there = perf2x(*(word.replace(STORE, str(folder)) for word in words)), perf2x(*words)
    assert (there.code, there.out) == (0, here.out)
    assert "/bin/db" in here.out
    samples = [name for name in read if name.startswith("samples/") and "_delta_log" not in name]
    assert len(samples) == DAYS
    assert all("service=db/" in name for name in samples)
    assert sum(name.startswith("symbols/") and "_delta_log" not in name for name in read) == 1


def test_files_of_a_recording_lie_in_its_folder(folder: Path, read: dict[str, int]) -> None:
    """Those of other days may have ids around its own."""
    assert perf2x("top", f"{STORE}?run=web-1").out == perf2x("top", f"{folder}?run=web-1").out
    data = {name for name in read if "_delta_log" not in name and not name.startswith(("recordings/", "symbols/"))}
    assert data
    assert all(CHOSEN in name for name in data), data


def test_names_of_many_objects_are_one_piece(added: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking from many costs each recording as much as putting them together."""
    monkeypatch.setattr(read_dataset, "SymbolIndex", lambda names, _: [one.num_chunks for one in names.columns])
    assert set(read_dataset.Dataset(DatasetAddress(added, {})).symbols) == {1}


def test_conditions_that_differ_from_time_to_time() -> None:
    sql = "SELECT count(*) FROM recordings WHERE hash(host) > random() AND host <> 'a' AND 1 < 2"
    with duckdb.connect(":memory:") as connection:
        asked = asked_rows.asked_rows(connection, sql, PARTITION)
    assert [one.columns for one in asked.conditions] == [{"host"}]


UNSURE = (
    f"WITH recordings AS (SELECT recording, 'x' AS host FROM samples) {COSTS} WHERE host = 'x' GROUP BY ALL",
    "SELECT count(*) FROM recordings r LEFT JOIN samples s USING (recording) WHERE s.recording IS NULL",
    "SELECT (SELECT count(*) FROM samples) FROM recordings WHERE host = 'a' LIMIT 1",
    "SELECT count(*) FROM samples s, recordings r WHERE r.host = 'a'",
    "SELECT count(*) FROM samples s RIGHT JOIN recordings r USING (recording) WHERE s.recording IS NULL",
    "SELECT event AS date, count(*) > 0 FROM by_function WHERE date = 'cycles' GROUP BY ALL",
    "SELECT count(*) FROM samples UNION ALL SELECT count(*) FROM recordings WHERE date = '2026-11-03'",
)


@pytest.mark.parametrize("sql", UNSURE)
def test_statements_whose_conditions_do_not_choose_files(
    added: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is that of all rows."""
    found = sorted(perf2x("fleet", "query", added, sql).out.splitlines())  # they come in any order
    monkeypatch.setattr(asked_rows, "_conjuncts", lambda _: ())
    assert sorted(perf2x("fleet", "query", added, sql).out.splitlines()) == found != []
