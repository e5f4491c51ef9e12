"""A dataset of varied recordings as it grows: what ten more cost, a day's compaction, and questions about a day.

    python -m tests.bench growth FOLDER                  # 250 and 1,000 recordings; FOLDER keeps them (varied.py)
    python -m tests.bench growth FOLDER --sizes 100 400

Prints seconds of the processor (all processes), MiB of the largest process, and bytes. What is read from an object
store is counted at a store in memory, to which the dataset is copied.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
    _step("  fleet symbolize", place, data, "fleet", "symbolize", "-q", str(data))
    _step("  fleet compact", place, data, "fleet", "compact", "-q", str(data))
    print(f"{'  the dataset':<44}{'':16}{_bytes(data) / 1e3:10,.0f}", flush=True)
    both = place / "more"
    shutil.copytree(data, both)
    _ingest(f"  {MORE} more to {size:,}", place, both, files[size : size + MORE])
    _step("  fleet compact after them", place, both, "fleet", "compact", "-q", str(both))
    shutil.rmtree(both)
    day = f"{data}?date=2026-11-22"
    _step("  top of a day", place, data, "top", "-q", day)
    _step("  fleet query of a day", place, data, "fleet", "query", day, TOP)
    _step("  fleet query of everything", place, data, "fleet", "query", str(data), TOP)
    asking = [sys.executable, "-m", "tests.bench.growth", str(data), "date=2026-11-22"]
    subprocess.run(asking, check=True)  # its memory would be seen as that of the commands
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
    _step("  fleet compact", place, data, "fleet", "compact", "-q", str(data))
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


def _look_at(data: Path) -> None:
    """Questions of the page that ``fleet view`` serves, each asked once."""
    from perf2x.fleet.fleet_page import FleetPages
    from perf2x.storage.dataset.sql.duckdb_engine import engine

    begin = time.process_time()
    with engine(data, "by_function") as connection:
        pages = FleetPages(connection, "fleet")
        print(f"{'  fleet view: start':<44}{time.process_time() - begin:8.2f}", flush=True)
        for query in ("", "service=g%2B%2B", "day=2026-11-22", "version=2&before.version=1"):
            begin, wall = time.process_time(), time.perf_counter()
            size = len(pages.answer(query))
            took = time.process_time() - begin
            shown = f"  fleet view: {query or 'everything'}"
            print(f"{shown:<44}{took:8.2f}{'':8}{size / 1e3:10,.0f}  ({time.perf_counter() - wall:.2f} s)", flush=True)


def _from_a_store(data: Path, tags: str) -> None:
    """Objects and bytes that a question about a day takes from a store, beside those of the day."""
    import fsspec

    from perf2x.fleet.query import answered
    from perf2x.storage.dataset.dataset_folder import storage_at

    store = fsspec.filesystem("memory")
    store.put(str(data), "/bench", recursive=True)
    with _counted() as got, answered(f"memory://bench?{tags}", TOP) as answer:
        rows = len(list(answer.rows()))
    assert rows
    storage, wanted = storage_at(data), dict(pair.split("=") for pair in tags.split("&"))
    part = whole = 0
    for table in ("recordings", "samples", "nodes", "places", "lines", "mappings"):
        for file in storage.log(table).files.values():
            whole += file.size
            part += file.size if all(file.parts.get(key) == value for key, value in wanted.items()) else 0
    logs = sum(size for name, size in got if "_delta_log" in name)
    names = sum(size for name, size in got if name.startswith("symbols/") and "_delta_log" not in name)
    rest = sum(size for _, size in got) - logs - names
    print(f"  a day at a store: {len(got)} objects; {rest / 1e3:,.0f} kB of rows (the day has "
          f"{part / 1e3:,.0f}, all {whole / 1e3:,.0f}), {names / 1e3:,.0f} of names, {logs / 1e3:,.0f} of logs",
          flush=True)  # fmt: skip
    store.rm("/bench", recursive=True)


@contextmanager
def _counted() -> Iterator[list[tuple[str, int]]]:
    """Give the list of what is fetched from stores meanwhile: names and sizes."""
    from perf2x.storage.dataset.dataset_folder import ObjectStore

    found: list[tuple[str, int]] = []
    fetch = ObjectStore.fetch

    def counting(self: Any, names: Sequence[str], folder: Path) -> None:
        fetch(self, names, folder)
        found.extend((name, (folder / name).stat().st_size) for name in names)

    ObjectStore.fetch = counting  # type: ignore[method-assign]
    try:
        yield found
    finally:
        ObjectStore.fetch = fetch  # type: ignore[method-assign]


if __name__ == "__main__":
    _look_at(Path(sys.argv[1]))
    _from_a_store(Path(sys.argv[1]), sys.argv[2])
