"""Memory and work follow the bytes of a file, whatever they say: a hostile file names an address with every word."""

import gzip
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.forged import Shape, write_forged
from tests.forge.addresses import write_addresses

MOST = 20
"""Bytes of memory for each byte of the file, beyond what any file takes."""
FEW, MANY = 1_000_000, 2_000_000
SHORT, LONG = 1_000_000, 3_000_000
STEPS = 1.25
"""Tables that double grow in steps: between two sizes memory may grow faster than from the floor on."""
TRIES = 4
"""A machine busy with something else lets freed pages lie for a while."""
FLOOR = 160 << 20
"""Interpreter, modules and what is under way at once."""
ARROW = 48 << 20
"""pyarrow's libraries, which a dataset of one sample takes, too."""
FORMATS = (
    "collapsed",
    "pprof",
    "html",
    "svg",
    "chrome",
    "speedscope",
    "firefox",
    "otlp",
    "perfetto",
    "dataset",
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no wait4")
@pytest.mark.parametrize(
    ("name", "kernel"), [*((name, False) for name in FORMATS), ("collapsed", True), ("pprof", True), ("dataset", True)]
)
def test_memory_follows_the_bytes(name: str, kernel: bool, tmp_path: Path) -> None:
    if name == "dataset":
        pytest.importorskip("pyarrow")
    floor = FLOOR + ARROW if name == "dataset" else FLOOR
    paths = [tmp_path / f"{count}.data" for count in (FEW, MANY)]
    for count, path in zip((FEW, MANY), paths, strict=True):
        write_addresses(path, count, kernel=kernel)
    sizes = [path.stat().st_size for path in paths]
    peaks = [math.inf, math.inf]
    for _ in range(TRIES):
        peaks = [min(peak, peak_of(path, name)) for peak, path in zip(peaks, paths, strict=True)]
        if peaks[1] - peaks[0] < STEPS * MOST * (sizes[1] - sizes[0]) and peaks[1] < floor + MOST * sizes[1]:
            return
    pytest.fail(f"{peaks} bytes of memory for files of {sizes}")


_MEASURE = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""
"""A small process starts the command: what a process takes counts what its parent did when it was started."""


def peak_of(path: Path, name: str) -> int:
    to = ("fleet", "ingest", path) if name == "dataset" else ("convert", path, "--to", name)
    words = (sys.executable, "-m", "perf2x", *to, "-o", path.with_suffix(".out"), "-q")
    measured = (sys.executable, "-c", _MEASURE, *words)
    return int(subprocess.run(list(map(str, measured)), capture_output=True, check=True).stdout) * 1024


MOST_OF_TEXT = 45
"""Bytes of memory for each byte of a text: a letter may be a frame that makes a stack another one."""
_LETTERS = "abcdefghijklmnop"
TEXTS: dict[str, Callable[[str], str]] = {
    "folded": lambda names: f"{';'.join(names)} 1\n",
    "perf script": lambda names: (
        "a 1 1.000000: 1 e: \n" + "".join(f"{ord(name):8x} {name} (o)\n" for name in names) + "\n"
    ),
}
"""Samples whose stacks no other sample has, by kind of text."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no wait4")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", TEXTS)
def test_memory_follows_the_bytes_of_a_text(kind: str, packed: bool, tmp_path: Path) -> None:
    sizes, peaks = [], []
    for count in (50_000, 100_000):
        path = tmp_path / f"{count}.txt"
        stacks = ("".join(_LETTERS[at >> 4 * digit & 15] for digit in range(5)) for at in range(count))
        text = "".join(map(TEXTS[kind], stacks)).encode()
        sizes.append(len(text))
        path.write_bytes(gzip.compress(text, 1) if packed else text)
        peaks.append(peak_of(path, "collapsed"))
        assert path.with_suffix(".out").stat().st_size > count
    assert peaks[1] - peaks[0] < STEPS * MOST_OF_TEXT * (sizes[1] - sizes[0]), (peaks, sizes)
    assert peaks[1] < FLOOR + MOST_OF_TEXT * sizes[1], (peaks, sizes)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no wait4")
def test_a_text_that_grows_when_unpacked_takes_its_size(tmp_path: Path) -> None:
    """It is mapped once; equal lines are one row, however many."""
    path = tmp_path / "bomb.txt"
    text = b"main;work 1\n" * 20_000_000
    path.write_bytes(gzip.compress(text))
    assert path.stat().st_size < 1 << 20
    assert peak_of(path, "collapsed") < FLOOR + len(text)
    assert path.with_suffix(".out").read_text() == "main;work 20000000\n"


@pytest.mark.skipif("SMALL_PARTS" in os.environ, reason="tiny pieces are as many as there is to do")
def test_calls_do_not_follow_the_addresses(tmp_path: Path) -> None:
    """Four times as many addresses are a few more batches: no Python loop goes over them."""
    import cProfile
    import pstats

    from tests.support import outputs

    calls = []
    for count in (40_000, 160_000):
        path = tmp_path / str(count)
        write_addresses(path, count)
        profile = cProfile.Profile()
        profile.enable()
        outputs.emitted(outputs.profile_of(path), "collapsed")
        profile.disable()
        calls.append(sum(found[0] for found in pstats.Stats(profile).stats.values()))  # type: ignore[attr-defined]
    assert calls[1] < 1.5 * calls[0] + 10_000, calls


MOST_OF_SAMPLES = 4
"""Bytes of memory for each sample that is printed one by one: its size, and what batches in the works differ by."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no wait4")
def test_memory_does_not_follow_samples_that_are_printed_one_by_one(tmp_path: Path) -> None:
    """Thread and stack of each wait in a file, whichever process wrote them."""
    peaks = []
    for count in (SHORT, LONG):
        path = tmp_path / f"{count}.data"
        write_forged(path, Shape(count))
        peaks.append(min(peak_of(path, "perf-script") for _ in range(2)))
        path.with_suffix(".out").unlink()
        path.unlink()
    assert peaks[1] - peaks[0] < MOST_OF_SAMPLES * (LONG - SHORT), peaks
