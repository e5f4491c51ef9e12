"""Datasets of object stores are inputs of every command that reads one, with the answers of a folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perf2x.base.errors import FormatError
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_folder import fetched, fetched_folder, storage_at
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.datasets import add_recording
from tests.support.fleets import files_of, recording_of
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
    for name, data in files_of(folder).items():
        with storage_at(address).new_file(name) as file:
            file.write(data)


def pprof(name: str) -> bytes:
    return outputs.emitted(load([name], LoadOptions()).profile, "pprof", compress=False)


def test_conversions_are_those_of_a_folder(folder: Path, store: str) -> None:
    assert pprof(f"{store}/") == pprof(str(folder))
    assert pprof(f"{store}?service=a b") == pprof(f"{folder}?service=a b") != pprof(store)
    with fetched([f"{store}?x=1", f"{store}?x=2", "a.data", str(folder)]) as names:
        assert names[2:] == ["a.data", str(folder)]
        copy = Path(names[0].partition("?")[0])
        assert names[:2] == [f"{copy}?x=1", f"{copy}?x=2"]
        assert {name: data for name, data in files_of(copy).items() if name != "lock"} == files_of(folder)
    assert not copy.exists()


def test_commands_take_addresses(folder: Path, store: str) -> None:
    pytest.importorskip("duckdb")
    asked = [("fleet", "query", dataset, NAMED) for dataset in (folder, store)]
    top = [("top", dataset, "--where", "pid > 1 AND samples.count > 0") for dataset in (folder, store)]
    for words, others in (asked, top):
        here, there = perf2x(*words), perf2x(*others)
        assert (there.code, there.out) == (0, here.out)


def test_names_go_to_the_store(folder: Path, store: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    words = ["--symfs", CORPUS / "common" / "symfs"]
    copy = tmp_path / "copy"
    with fetched_folder(store) as fetched_copy:
        for name, data in files_of(fetched_copy).items():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes(data)
    for dataset in (copy, store):
        assert perf2x("fleet", "symbolize", dataset, *words, env={"XDG_CACHE_HOME": str(tmp_path)}).code == 0
    with fetched_folder(store) as fetched_copy:
        assert files_of(fetched_copy).keys() > files_of(folder).keys()
        assert {**files_of(fetched_copy), "lock": b""} == {**files_of(copy), "lock": b""}


def test_errors_name_the_address(folder: Path, store: str) -> None:
    assert perf2x("top", "memory://stores-as-inputs/none").err == (
        "perf2x: memory://stores-as-inputs/none: not a dataset; perf2x fleet ingest reads recordings at addresses\n"
    )
    (row, *_) = storage_at(store).files("samples")
    with storage_at(store).new_file(row.name) as file:
        file.write(b"PAR1 damaged PAR1")
    ran = perf2x("convert", store, "--to", "pprof", "-o", "-")
    assert ran.code == 1
    assert ran.err.startswith(f"perf2x: {store}/{row.name}: damaged")


def test_names_that_lead_elsewhere_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    system = fsspec.filesystem("memory")
    monkeypatch.setattr(type(system), "exists", lambda *_: True)
    monkeypatch.setattr(type(system), "find", lambda *_, **__: {"/elsewhere/recordings/../../x.parquet": {"size": 1}})
    with pytest.raises(FormatError, match="leads out of the dataset"), fetched_folder("memory://elsewhere"):
        pass
