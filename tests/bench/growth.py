"""A dataset of varied recordings as it grows: what ten more cost, a day's compaction, and questions about a day.

    python -m tests.bench growth FOLDER                  # 250 and 1,000 recordings; FOLDER keeps them (varied.py)
    python -m tests.bench growth FOLDER --sizes 100 400

Prints seconds of the processor (all processes), MiB of the largest process, bytes, and files.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.measure import run
from tests.bench.varied import PATTERNS, made

PERF2X = [sys.executable, "-m", "perf2x"]
MORE, DAYS = 10, 30
TOP = "SELECT function, sum(self) FROM by_function GROUP BY ALL ORDER BY 2 DESC LIMIT 20"


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark with these options."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.bench growth", description=about)
    parser.add_argument("folder", type=Path, help="where the recordings are, or are made")
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 1000], help="recordings of the datasets")
    options = parser.parse_args(arguments)
    files = made(options.folder, max(options.sizes) + MORE, DAYS)
    sizes = [min(size, len(files) - MORE) for size in options.sizes]
    whole = sum(file.stat().st_size for file in files)
    print(f"{len(files):,} recordings, {whole / len(files) / 1e3:.0f} kB on average")
    print(f"{'':<44}{'cpu s':>8}{'MiB':>8}{'kB':>10}", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for size in sizes:
            _grow(Path(place), files, size)
        for count in (max(sizes) // 8, max(sizes) // 4, max(sizes) // 2):
            _one_day(Path(place), files[:count])


def _grow(place: Path, files: Sequence[Path], size: int) -> None:
    data = place / f"profiles{size}"
    _ingest(f"ingest of {size:,}", place, data, files[:size])
    files = sum(file.is_file() for file in data.rglob("*"))
    print(f"{'  the dataset':<44}{files:8,} files {_bytes(data) / 1e3:11,.0f}", flush=True)
    _step("  fleet symbolize", place, data, "fleet", "symbolize", "-q", str(data))
    _step("  fleet maintain", place, data, "fleet", "maintain", "-q", str(data))
    both = place / "more"
    shutil.copytree(data, both)
    _ingest(f"  {MORE} more to {size:,}", place, both, files[size : size + MORE])
    _step("  fleet maintain after them", place, both, "fleet", "maintain", "-q", str(both))
    shutil.rmtree(both)
    _step("  top of everything", place, data, "top", "-q", str(data))
    day = f"{data}?date=2026-11-22"
    _step("  top of a day", place, data, "top", "-q", day)
    _step("  fleet query of a day", place, data, "fleet", "query", day, TOP)
    _step("  fleet query of everything", place, data, "fleet", "query", str(data), TOP)
    shutil.rmtree(data)


def _one_day(place: Path, files: Sequence[Path]) -> None:
    """All recordings as those of one day."""
    data = place / "day"
    links = [place / "links" / file.parts[-3] / "1" / f"{file.name[:10]}-20261122{file.name[19:]}" for file in files]
    for link, file in zip(links, files, strict=True):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(file)
    _ingest(f"a day of {len(files):,}", place, data, sorted(set(links)))
    _step("  fleet maintain", place, data, "fleet", "maintain", "-q", str(data))
    shutil.rmtree(data)


def _ingest(name: str, place: Path, data: Path, files: Sequence[Path]) -> None:
    names = place / "names"
    names.write_text("".join(f"{file}\n" for file in files))
    more = (*PATTERNS, "--list", str(names), "-o", str(data))
    _step(name, place, data, "fleet", "ingest", "-q", "--workers", "1", *more)


def _step(name: str, place: Path, data: Path, *words: str) -> None:
    before = _bytes(data)
    cost = run([*PERF2X, *words], place / "log")
    written = _bytes(data) - before
    print(f"{name:<44}{cost.cpu:8.2f}{cost.memory:8.0f}{written / 1e3:10,.0f}", flush=True)


def _bytes(data: Path) -> int:
    return sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
