"""Datasets in object stores are put whole and have the files of a folder."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf2x.base.errors import FormatError, OutputError
from perf2x.fleet.ingest import Job
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.fleet.upkeep.remove_recordings import collect
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.storage.dataset.dataset_schema import TABLES
from tests.support.command import perf2x
from tests.support.fleets import files_of, ingest_one, recording_of

pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")

FAR = 1 << 62
"""A time after all others."""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("recordings")
    for number in range(3):
        (folder / f"{number}.data").write_bytes(recording_of(number, 6))
    (folder / "9.data").write_bytes(b"no recording")
    return sorted(folder.iterdir())


def add(recordings: list[Path], data: str) -> list[str]:
    run = os.urandom(4).hex()
    job = Job(data, LoadOptions(by_cgroup=True), {"service": "a b"}, ("service",), run)
    return [ingest_one(str(path), job).state for path in recordings]


def objects(address: str) -> dict[str, bytes]:
    """All objects that the logs of a dataset in a store name."""
    storage, found = storage_at(address), {}
    for table in TABLES:
        for name in storage.log(table).files:
            with storage.open(f"{table}/{name}") as file:
                found[f"{table}/{name}"] = file.read()
    return found


def check(recordings: list[Path], address: str, folder: Path) -> None:
    """Commands leave the same files in a store and in a folder."""
    for data in (address, str(folder)):
        assert add(recordings, data) == ["added"] * 3 + ["failed"]
        assert add(recordings, data) == ["known"] * 3 + ["failed"]
    assert objects(address) == files_of(folder)
    for data in (address, str(folder)):
        compact(storage_at(data))
        assert add(recordings, data) == ["known"] * 3 + ["failed"]
    assert objects(address) == files_of(folder)
    for data in (address, str(folder)):
        assert collect(storage_at(data), FAR, 0).recordings == 4
    assert objects(address) == files_of(folder) == {}


def test_an_object_is_put_whole(tmp_path: Path) -> None:
    for data in ("memory://whole", f"file://{tmp_path}/a%20b"):
        storage = storage_at(data)
        with pytest.raises(KeyError), storage.new_file("nodes/x.parquet") as file:
            file.write(b"half")
            raise KeyError
        assert storage.sizes("nodes") == {}
        with storage.new_file("nodes/x.parquet") as file:
            file.write(b"whole")
            assert storage.sizes("nodes") == {}
        assert storage.sizes("nodes") == {"x.parquet": 5}
        with storage.open("nodes/x.parquet") as opened:
            assert opened.read() == b"whole"
    assert (tmp_path / "a b").is_dir()


def test_errors_name_the_object() -> None:
    with pytest.raises(FormatError, match=r"memory://nowhere/nodes/x\.parquet"):
        storage_at("memory://nowhere").open("nodes/x.parquet")
    with pytest.raises(OutputError, match="nosuchprotocol"):
        storage_at("nosuchprotocol://bucket")


def test_bytes_and_names_are_on_the_disk_before_a_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    path = tmp_path / "nodes" / "x.parquet"
    fsync, replace, link = os.fsync, Path.replace, os.link

    def synced(descriptor: int) -> None:
        said.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "bytes")
        fsync(descriptor)

    def renamed(self: Path, target: Path) -> Path:
        said.append("name")
        return replace(self, target)

    def linked(source: str, target: Path, **options: Any) -> None:
        link(source, target, **options)
        said.extend(["name"] * (target == path))

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(os, "link", linked)
    for version in (b"first", b"second"):
        with storage_at(tmp_path).new_file("nodes/x.parquet") as file:
            file.write(version)
        assert path.read_bytes() == version
        assert said == ["bytes", "name", "folder"]
        said.clear()


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of moto's server, which speaks S3."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    pytest.importorskip("flask_cors")
    code = (
        "from moto.server import ThreadedMotoServer as S; import sys\n"
        "s = S(ip_address='127.0.0.1', port=0, verbose=False); s.start()\n"
        "print(s.get_host_and_port()[1], flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        settings = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1",
                    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            fsspec.filesystem("s3").mkdir("fleet")
            yield "s3://fleet"
        server.send_signal(signal.SIGTERM)


@pytest.mark.slow
def test_objects_of_s3_are_those_of_a_folder(bucket: str, recordings: list[Path], tmp_path: Path) -> None:
    check(recordings, f"{bucket}/profiles", tmp_path / "profiles")


@pytest.mark.slow
def test_datasets_of_s3_are_inputs(bucket: str, recordings: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    names = (f"{bucket}/input", str(tmp_path / "profiles"))
    for data in names:
        add(recordings, data)
    one, other = (perf2x("fleet", "query", data, "SELECT * FROM by_function ORDER BY ALL", "--json") for data in names)
    assert (one.code, one.out) == (0, other.out)
    for number, data in enumerate(names):
        assert perf2x("convert", data, "--to", "collapsed", "-o", tmp_path / f"{number}.folded").code == 0
    assert (tmp_path / "0.folded").read_bytes() == (tmp_path / "1.folded").read_bytes()
    assert perf2x("top", f"{bucket}/none").code == 1


@pytest.mark.slow
def test_workers_put_objects(bucket: str, recordings: list[Path], tmp_path: Path) -> None:
    code = "from perf2x.cli import main; main()"
    words = [sys.executable, "-c", code, "fleet", "ingest", "-q", "--workers", "1", *map(str, recordings), "-o"]
    for data in (f"{bucket}/by-command", str(tmp_path / "profiles")):
        subprocess.run([*words, data], check=True)
    assert objects(f"{bucket}/by-command") == files_of(tmp_path / "profiles")


@pytest.mark.slow
def test_damaged_objects_are_left_out(bucket: str, recordings: list[Path]) -> None:
    data = f"{bucket}/damaged"
    add(recordings[:3], data)
    assert perf2x("fleet", "check", data).code == 0
    storage = storage_at(data)
    (cut, *_) = storage.log("samples").files
    with storage.new_file(f"samples/{cut}") as file:
        file.write(b"PAR1")
    assert "files of another size than their log has: 1" in perf2x("fleet", "check", data).err
    ran = perf2x("fleet", "repair", data)
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert perf2x("fleet", "check", data).code == 0
    assert perf2x("fleet", "rm", f"{data}?service=a+b", "--dry-run").err.endswith(
        "2 of 2 recordings would be removed\n"
    )
    assert perf2x("fleet", "rm", f"{data}?service=a+b").code == 0
    assert objects(data) == {}
