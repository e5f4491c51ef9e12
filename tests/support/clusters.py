"""A cluster's shape: scheduler, workers and the command as processes of their own, which talk over TCP."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from perf2x.fleet.ingest import Job
from perf2x.pipeline.load_options import LoadOptions
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.fleets import files_of, ingest_one

SCHEDULER = (
    "import asyncio, os, sys; from distributed import Scheduler\n"
    "async def main():\n"
    "    async with Scheduler(host='127.0.0.1', port=0, dashboard=False, protocol=sys.argv[2]) as one:\n"
    "        open(sys.argv[1] + '.new', 'w').write(one.address); os.replace(sys.argv[1] + '.new', sys.argv[1])\n"
    "        await one.finished()\n"
    "asyncio.run(main())"
)
WORKER = (
    "import asyncio, sys; from distributed import Worker\n"
    "async def main():\n"
    "    async with Worker(sys.argv[1], nthreads=1, host='127.0.0.1', dashboard=False) as one: await one.finished()\n"
    "asyncio.run(main())"
)


def start(*words: str, errors: Path | None = None, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a process, whose messages go to a file or nowhere."""
    with contextlib.ExitStack() as stack:
        said = stack.enter_context(errors.open("wb")) if errors else subprocess.DEVNULL
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said, env=os.environ | (env or {}))


@contextlib.contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give a running process, which is killed at the end."""
    with start(*words) as running:
        try:
            yield running
        finally:
            running.kill()


def start_scheduler(file: Path, protocol: str = "tcp", env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a scheduler, which writes its address to a file."""
    file.unlink(missing_ok=True)
    return start(sys.executable, "-c", SCHEDULER, str(file), protocol, errors=file.with_suffix(".scheduler"), env=env)


def start_worker(address: str, scratch: Path, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a worker, whose files lie in a folder of the test's, not in that of all temporary files."""
    scratch.mkdir(exist_ok=True)
    return start(sys.executable, "-c", WORKER, address, env={"DASK_TEMPORARY_DIRECTORY": str(scratch)} | (env or {}))


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait, however busy the machine is, but not for good."""
    end = time.monotonic() + 600
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def scheduler_address(file: Path) -> str:
    wait_for(file.exists)
    return file.read_text()


def command(recordings: Path, data: Path, *words: str) -> list[str]:
    """Words of the command that adds all recordings of a folder."""
    code = "from perf2x.cli import main; main()"
    return [sys.executable, "-c", code, "fleet", "ingest", str(recordings / "*.data"), "-o", str(data), "-q", *words]


def row_count(data: Path) -> int:
    return len(list((data / "recordings").rglob("*.parquet")))


def undisturbed(paths: list[Path], data: Path) -> dict[str, bytes]:
    """The dataset that tasks make one after the other, in another order and without Dask."""
    job = Job(str(data), LoadOptions(keep=frozenset({"cgroup"}), symbols=SymbolOptions()), {}, (), os.urandom(4).hex())
    for path in reversed(paths):
        ingest_one(str(path), job)
    return files_of(data)
