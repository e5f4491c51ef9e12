"""Recordings of many programs that do different things: compilers, interpreters, databases, compressors, a browser.

    python -m tests.bench.varied FOLDER                # 1,010 recordings of half a second or so, on two processors
    python -m tests.bench.varied FOLDER --count 250 --days 30

Each runs a program of this machine on an input that a random number makes, under ``perf record -g``; programs that are
not installed are left out, and one in ten recordings is of the whole machine. They are filed as a fleet's:
``FOLDER/SERVICE/VERSION/HOST-YYYYmmdd-HHMMSS.data``, with the names of forty hosts in their headers.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.bench.programs import PROGRAMS

HOSTNAME = 3
HOSTS, LAST_DAY = 40, datetime(2026, 11, 22, tzinfo=UTC)
PATTERNS = ("--tag-from", "{service}/{version}/*.data", "--start-time", "{host}-%Y%m%d-%H%M%S.data")
"""Options by which ``fleet ingest`` reads the names."""
Made = Callable[[Path, Random], Sequence[str]]


def made(folder: Path, count: int, days: int, seed: int = 1) -> list[Path]:
    """Make those of ``count`` recordings that are not there yet, on all processors but one; returns all."""
    known = [name for name, (program, _) in PROGRAMS.items() if shutil.which(program)]
    names = list(_names(folder, known, count, days, Random(seed)))
    with ThreadPoolExecutor(max(1, min(2, os.cpu_count() or 1))) as threads:
        list(threads.map(lambda one: one[1].exists() or _record(*one), enumerate(names, seed * 100_000)))
    return [name for name in names if name.exists()]


def _names(folder: Path, known: Sequence[str], count: int, days: int, random: Random) -> Iterator[Path]:
    for number in range(count):
        service, host = known[number % len(known)], random.randrange(HOSTS)
        day = LAST_DAY - timedelta(days=number // len(known) % days)
        time = day + timedelta(seconds=random.randrange(86_400))
        yield folder / service / str(random.randint(1, 3)) / f"host{host:06}-{time:%Y%m%d-%H%M%S}.data"


def _record(seed: int, path: Path) -> None:
    """Record a program; one that fails leaves no recording."""
    random = Random(seed)
    _, program = PROGRAMS[path.parts[-3]]
    with tempfile.TemporaryDirectory() as place:
        words, raw = program(Path(place), random), Path(place) / "perf.data"
        everything = ["-a"] if random.random() < 0.1 else []
        record = ["perf", "record", "-q", "-F", "997", "-g", *everything, "-o", str(raw), "--"]
        limited = ["timeout", "-k", "1", "-s", "INT", f"{random.uniform(0.3, 0.9):.2f}", *words]
        subprocess.run([*record, *limited], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if raw.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _rename_host(raw, path)


def _rename_host(raw: Path, path: Path) -> None:
    from tests.forge.rewrite import pieces_of

    pieces = pieces_of(raw)
    name = path.name.partition("-")[0].encode().ljust(64, b"\0")
    features = pieces.features | {HOSTNAME: len(name).to_bytes(4, "little") + name}
    path.write_bytes(replace(pieces, features=features).to_file())


def main() -> None:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.bench.varied", description=about)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1010)
    parser.add_argument("--days", type=int, default=30)
    options = parser.parse_args()
    files = made(options.folder, options.count, options.days)
    size = sum(file.stat().st_size for file in files) / max(len(files), 1)
    print(f"{len(files):,} recordings of {size / 1e3:.0f} kB in {options.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
