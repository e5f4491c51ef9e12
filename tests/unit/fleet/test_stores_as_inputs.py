"""Datasets of object stores are inputs of every command that reads one, with the answers of a folder."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_folder import fetched, storage_at
from perf2x.storage.dataset.table_log import read_log
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.datasets import add_recording
from tests.support.fleets import recording_of
from tests.support.recordings import CORPUS

pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")

STORE = "memory://stores-as-inputs/profiles"
NAMED = "SELECT function, sum(self) FROM by_function GROUP BY ALL ORDER BY ALL"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stores")
    (place / "a.data").write_bytes(recording_of(1))
    for file, service in ((place / "a.data", "a b"), (CORPUS / "calls" / "perf.data", "calls")):
        add_recording(place / "profiles", file, {"service": service}, ["service"])
    return place / "profiles"


@pytest.fixture
def store(folder: Path) -> Iterator[str]:
    put(folder, STORE)
    yield STORE
    fsspec.filesystem("memory").rm("/stores-as-inputs", recursive=True)


def put(folder: Path, address: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with storage_at(address).new_file(path.relative_to(folder).as_posix()) as file:
                file.write(path.read_bytes())


def pprof(name: str) -> bytes:
    return outputs.emitted(load([name], LoadOptions()).profile, "pprof", compress=False)


def test_conversions_are_those_of_a_folder(folder: Path, store: str) -> None:
    assert pprof(f"{store}/") == pprof(str(folder))
    assert pprof(f"{store}?service=a b") == pprof(f"{folder}?service=a b") != pprof(store)
    with fetched([f"{store}?x=1", f"{store}?x=2", "a.data", str(folder)]) as names:
        assert names[2:] == ["a.data", str(folder)]
        copy = Path(names[0].partition("?")[0])
        assert names[:2] == [f"{copy}?x=1", f"{copy}?x=2"]
        assert not list(copy.rglob("*.parquet"))  # they come when they are asked for
        assert read_log(copy / "samples") == read_log(folder / "samples")
    assert not copy.exists()


def test_commands_take_addresses(folder: Path, store: str) -> None:
    pytest.importorskip("duckdb")
    asked = [("fleet", "query", dataset, NAMED) for dataset in (folder, store)]
    top = [("top", dataset, "--where", "pid > 1 AND samples.count > 0") for dataset in (folder, store)]
    for words, others in (asked, top):
        here, there = perf2x(*words), perf2x(*others)
        assert (there.code, there.out) == (0, here.out)


def test_only_files_of_chosen_partitions_are_fetched(store: str) -> None:
    """Nothing of the other service, whose rows lie in other folders; of recordings only what tells them apart."""
    for command in (("top",), ("fleet", "query")):
        asked = [NAMED] if command[0] == "fleet" else []
        with fetched([f"{store}?service=calls"]) as (name,):
            assert perf2x(*command, name, *asked).code == 0
            read = {path.parent.parent.name for path in Path(name.partition("?")[0]).rglob("*.parquet")}
        assert read == {"service=calls"}


def test_errors_name_the_address(folder: Path, store: str) -> None:
    assert perf2x("top", "memory://stores-as-inputs/none").err == (
        "perf2x: memory://stores-as-inputs/none: not a dataset; perf2x fleet ingest reads recordings at addresses\n"
    )
    row = f"samples/{min(read_log(folder / 'samples').files)}"
    with storage_at(store).new_file(row) as file:
        file.write(b"PAR1 damaged PAR1")
    ran = perf2x("convert", store, "--to", "pprof", "-o", "-")
    assert ran.code == 1
    assert ran.err.startswith(f"perf2x: {store}/{row}: damaged")


@pytest.mark.parametrize(
    "name",
    ["../../x.parquet", "/etc/x.parquet", "s3://other/x.parquet", "a/%2E%2E/x.parquet", "x\\y.parquet", "passwd"],
)
def test_logs_that_lead_elsewhere_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    log = copy / "samples" / "_delta_log"
    (log / f"{len(list(log.iterdir())):020}.json").write_text(json.dumps({"add": {"path": name, "size": 9}}))
    for words in (("top", copy), ("fleet", "query", copy, "FROM samples"), ("fleet", "compact", copy)):
        ran = perf2x(*words)
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert f"{log}: damaged: it names what is no file of this table" in ran.err


@pytest.mark.parametrize("text", ["{", '{"add": 7}', '{"add": {"path": "a.parquet", "size": -1}}', "[" * 10**5, "\xff"])
def test_logs_that_cannot_be_read(folder: Path, tmp_path: Path, text: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    log = copy / "samples" / "_delta_log"
    (log / f"{len(list(log.iterdir())):020}.json").write_text(text, encoding="latin-1")
    ran = perf2x("top", copy)
    assert (ran.code, ran.err.count("\n"), "damaged" in ran.err) == (1, 1, True)


def test_tables_of_later_protocols_and_gaps(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    log = copy / "samples" / "_delta_log"
    (log / f"{9:020}.json").write_text('{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}')
    assert "this commit is missing" in perf2x("top", copy).err
    for version in range(len(list(log.iterdir())) - 1, 9):
        (log / f"{version:020}.json").write_text("")
    assert (
        perf2x("top", copy).err == f"perf2x: {copy / 'samples'}: a Delta table of version 3; perf2x reads version 1\n"
    )
