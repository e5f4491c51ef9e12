"""A real cluster: a scheduler and workers in processes of their own, over TCP, which are killed meanwhile."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perf2x.fleet.ingest_one import Job, ingest_one
from perf2x.pipeline.options import LoadOptions
from perf2x.symbolize.options import SymbolOptions
from tests.support.fleets import files_of, write_fleet

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")
pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]

COUNT = 14
SCHEDULER = (
    "import asyncio, sys; from distributed import Scheduler\n"
    "async def main():\n"
    "    async with Scheduler(host='127.0.0.1', port=0, dashboard=False) as one:\n"
    "        open(sys.argv[1], 'w').write(one.address); await one.finished()\n"
    "asyncio.run(main())"
)
WORKER = (
    "import asyncio, sys; from distributed import Worker\n"
    "async def main():\n"
    "    async with Worker(sys.argv[1], nthreads=1, host='127.0.0.1', dashboard=False) as one: await one.finished()\n"
    "asyncio.run(main())"
)


@contextlib.contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            yield running
        finally:
            running.kill()


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait, however busy the machine is, but not for good."""
    end = time.monotonic() + 600
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def scheduler_address(file: Path) -> str:
    wait_for(lambda: file.exists() and bool(file.read_text()))
    return file.read_text()


def command(recordings: Path, data: Path, *words: str) -> list[str]:
    code = "from perf2x.cli import main; main()"
    return [sys.executable, "-c", code, "fleet", "ingest", str(recordings / "*.data"), "-o", str(data), "-q", *words]


def rows_are_there(data: Path, least: int) -> None:
    wait_for(lambda: len(list((data / "recordings").rglob("*.parquet"))) >= least)


def undisturbed(paths: list[Path], data: Path) -> dict[str, bytes]:
    """The dataset that tasks make one after the other, in another order and without Dask."""
    job = Job(str(data), LoadOptions(by_cgroup=True, symbols=SymbolOptions()), {}, (), "1")
    for path in reversed(paths):
        ingest_one(str(path), job)
    return files_of(data)


def test_kills_neither_lose_nor_double(tmp_path: Path) -> None:
    paths = write_fleet(tmp_path / "fleet", COUNT)
    data, file = tmp_path / "killed", tmp_path / "address"
    with process(sys.executable, "-c", SCHEDULER, str(file)) as scheduler, contextlib.ExitStack() as workers:
        address = scheduler_address(file)

        def worker() -> subprocess.Popen[bytes]:
            return workers.enter_context(process(sys.executable, "-c", WORKER, address))

        first, _ = worker(), worker()
        with process(*command(tmp_path / "fleet", data, "--scheduler", address)) as client:
            rows_are_there(data, 2)
            first.kill()
            worker()
            rows_are_there(data, 5)
            client.kill()
        with process(*command(tmp_path / "fleet", data, "--scheduler", address)):
            rows_are_there(data, 8)
            scheduler.kill()
    local = subprocess.run(command(tmp_path / "fleet", data, "--workers", "1"), capture_output=True, check=False)
    assert (local.returncode, local.stderr) == (0, b"")
    assert files_of(data) == undisturbed(paths, tmp_path / "alone")


def test_errors_are_counted_and_no_scheduler_is_one_sentence(tmp_path: Path) -> None:
    write_fleet(tmp_path / "fleet", 4)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB")}
    words = [word for word in command(tmp_path / "fleet", tmp_path / "data", "--workers", "1") if word != "-q"]
    ran = subprocess.run([*words, "--fail-above-errors", "20"], capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 3, ran.stderr
    assert "4 recordings; Dask's dashboard: http://127.0.0.1:" in ran.stderr
    assert f"{tmp_path / 'data'}: 3 recordings added with 120 samples\nnot read: " in ran.stderr
    assert "25.0 % of the recordings cannot be read, more than 20 %" in ran.stderr
    gone = subprocess.run([*words, "--scheduler", "tcp://127.0.0.1:9"], capture_output=True, text=True, check=False)
    assert gone.returncode == 1
    assert gone.stderr.startswith("perf2x: tcp://127.0.0.1:9: ")
    assert gone.stderr.count("\n") == 1
