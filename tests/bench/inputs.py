"""Inputs of the benchmark: forged recordings, and recordings of this machine where the kernel allows them."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.forged import Shape, write_forged
from tests.bench.scaled import write_scaled

BUSY = """
import json, re, threading, time
end = time.time() + 600
def work():
    while time.time() < end:
        re.sub("a+b", "x", "aab" * 500)
        json.loads(json.dumps({str(i): [i] * 5 for i in range(200)}))
        sorted(range(3000), key=lambda x: -x)
for _ in range(20):
    threading.Thread(target=work, daemon=True).start()
work()
"""
FORKING = "while :; do ls -R /usr/lib | sort | gzip -c > /dev/null; done"


@dataclass(frozen=True)
class Input:
    """A recording; ``samples`` is the number that outputs must count, None: as many as perf script prints."""

    name: str
    path: Path
    samples: int | None = None


def copied(folder: Path, files: Sequence[Path], copies: Sequence[int]) -> Iterator[Input]:
    """Yield the records of each file so many times, one input at a time, deleted before the next one."""
    for file in files:
        for count in copies:
            path = folder / f"{file.name[:7]}×{count}"
            write_scaled(file, path, count)
            yield Input(path.name, path)
            path.unlink()


def small(folder: Path, samples: int) -> Iterator[Input]:
    """Yield one small forged input."""
    path = folder / "small"
    write_forged(path, Shape(samples))
    yield Input(path.name, path, samples)


def forged(folder: Path, million: int, largest: int) -> Iterator[Input]:
    """Yield one input at a time, deleted before the next one. ``million`` is the number of samples named 1M."""
    shapes = {
        "tiny": Shape(2_000), "1M": Shape(million), "deferred": Shape(million, deferred=True),
        "zstd": Shape(million, compressed=True), "2M": Shape(2 * million), "4M": Shape(4 * million),
        "10M": Shape(10 * million),
    }  # fmt: skip
    for name, shape in shapes.items():
        if shape.samples <= largest * million:
            path = folder / name
            write_forged(path, shape)
            yield Input(name, path, shape.samples)
            path.unlink()


def recorded(folder: Path, seconds: int, perf: Sequence[str] = ("perf",)) -> Iterator[Input]:
    """Record the whole machine with frame pointers, and a Python program with copies of its stacks."""
    kinds = {
        "system-wide": ["-F", "20000", "-m", "2048", "-a", "-g"],
        "dwarf": ["-F", "2000", "-m", "4M", "--call-graph", "dwarf,8192"],
    }
    for name, options in kinds.items():
        path = folder / name
        with _busy():
            target = ["sleep", str(seconds)] if "-a" in options else _for(seconds)
            refusal = _record(perf, [*options, "-o", str(path), "--", *target])
        if refusal:
            print(f"{name:<12}perf record is not allowed here: {refusal}", flush=True)
            continue
        yield Input(name, path)
        path.unlink()


def _record(perf: Sequence[str], arguments: Sequence[str]) -> str:
    """Return perf's error message, "" when it succeeded."""
    if not shutil.which(perf[0]):
        return "there is no perf"
    command = [*perf, "record", "-q", "-e", "cpu-clock", *arguments]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return done.stderr.decode(errors="replace").strip()[-200:] if done.returncode else ""


def _for(seconds: int) -> list[str]:
    return [sys.executable, "-c", BUSY.replace("600", str(seconds))]


@contextmanager
def _busy() -> Iterator[None]:
    """Run a workload to record: threads of one program, and short-lived processes."""
    processes = [subprocess.Popen(command) for command in ([sys.executable, "-c", BUSY], ["sh", "-c", FORKING])]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
