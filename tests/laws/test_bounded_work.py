"""Memory and work follow the bytes of a file, whatever they say: a hostile file names an address with every word."""

import sys
from pathlib import Path

import pytest

from tests.bench.measure import run
from tests.forge.addresses import write_addresses

MOST = 20
"""Bytes of memory for each byte of the file, beyond what any file takes."""
FEW, MANY = 1_000_000, 2_000_000
FLOOR = 128 << 20
"""Interpreter, modules and what is under way at once."""
FORMATS = (
    "collapsed",
    "pprof",
    "html",
    "svg",
    "chrome",
    "speedscope",
    "firefox",
    "otlp",
    "otlp-json",
    "perfetto",
    "parquet",
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no wait4")
@pytest.mark.parametrize(
    ("name", "kernel"), [*((name, False) for name in FORMATS), ("collapsed", True), ("pprof", True), ("parquet", True)]
)
def test_memory_follows_the_bytes(name: str, kernel: bool, tmp_path: Path) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    peaks, sizes = [], []
    for count in (FEW, MANY):
        path, out = tmp_path / f"{count}.data", tmp_path / f"{count}.out"
        write_addresses(path, count, kernel=kernel)
        words = (sys.executable, "-m", "perf2x", "convert", path, "--to", name, "-o", out, "-q")
        peaks.append(run([str(word) for word in words], tmp_path / "log").memory * (1 << 20))
        sizes.append(path.stat().st_size)
    assert peaks[1] - peaks[0] < MOST * (sizes[1] - sizes[0]), (peaks, sizes)
    assert peaks[1] < FLOOR + MOST * sizes[1], (peaks, sizes)


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
