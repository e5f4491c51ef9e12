"""A fleet into a dataset, beside converting its recordings one by one.

    python -m tests.bench fleet                        # 1,000 recordings of 1.3 MB, then 4,000
    python -m tests.bench fleet --recordings 100       # 100, then 400
    python -m tests.bench fleet --from perf.data       # hosts of their own, with the samples of a real recording

Prints seconds of the clock and of the processor (all processes), and MiB of the largest process, of each step; then
the bars: ingest on two workers at most 1.15 × half the processor time of converting one by one without symbols, four
times the recordings four times the time (10 % more or less), a worker's memory flat and below 400 MiB, names for at
most 1.3 × what converting one recording of the same programs costs that has all samples of the smaller run (with
``--from``: the recording itself), a query of everything in 5 s. Asserts that
no sample is lost, and nothing about time.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench.forged import write_host
from tests.bench.measure import Cost, run

PERF2X = [sys.executable, "-m", "perf2x"]
WORKERS, SAMPLES, HOSTNAME = 2, 6000, 3
BY_FUNCTION = "SELECT function, sum(self), sum(total) FROM by_function GROUP BY ALL ORDER BY 2 DESC LIMIT 20"


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark with these options."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.bench fleet", description=about)
    parser.add_argument("--recordings", type=int, default=1000, help="of the smaller run (default 1,000)")
    parser.add_argument("--singles", type=int, default=100, help="converted one by one (default 100)")
    parser.add_argument("--from", dest="model", type=Path, help="a recording to take the samples from")
    parser.add_argument("--directory", default=None, help="where to put the files")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        _bench(Path(place), options)


def _bench(place: Path, options: argparse.Namespace) -> None:
    few, many = options.recordings, 4 * options.recordings
    files = _made(place, many, options.model)
    size = sum(file.stat().st_size for file in files) / len(files) / 1e6
    print(f"{many:,} recordings of {size:.2f} MB\n{'':<34}{'wall s':>9}{'cpu s':>9}{'MiB':>8}", flush=True)
    singles = _one_by_one(files[: options.singles], place)
    alone = Cost(singles.wall / options.singles * few, singles.cpu / options.singles * few, singles.memory)
    _print(f"convert, one by one, {few:,}", alone)
    costs = [_ingested(files[:count], place / f"profiles{count}", place) for count in (few, many)]
    data = place / f"profiles{many}"
    named = _step("symbolize", [*PERF2X, "fleet", "symbolize", "-q", str(data)], place)
    whole = options.model or _whole(place, few)
    words = ["convert", "-q", "-o", str(place / "one.pb.gz"), str(whole)]
    one = _step(f"convert, one of {whole.stat().st_size / 1e6:,.0f} MB, named", [*PERF2X, *words], place)
    queried = _step("query", [*PERF2X, "fleet", "query", str(data), BY_FUNCTION], place)
    _step("compact", [*PERF2X, "fleet", "compact", "-q", str(data)], place)
    _step("query, compact", [*PERF2X, "fleet", "query", str(data), BY_FUNCTION], place)
    print(f"dataset: {_bytes(data) / many / 1e3:.1f} kB a recording, {len(list(data.rglob('*.parquet'))):,} files")
    print(f"ingest beside half of one by one: {costs[0].wall / (alone.cpu / WORKERS):.2f} on the clock, "
          f"{costs[0].cpu / alone.cpu:.2f} of the processor (bar 1.15)")  # fmt: skip
    print(f"four times as many: {costs[1].wall / costs[0].wall:.2f} times the clock, "
          f"{costs[1].cpu / costs[0].cpu:.2f} times the processor (bar 4 ± 10 %)")  # fmt: skip
    print(f"symbolize beside that one recording: {named.cpu / one.cpu:.2f} of the processor (bar 1.3)")
    print(f"memory: {costs[0].memory:.0f} and {costs[1].memory:.0f} MiB (bar 400); query {queried.wall:.1f} s (bar 5)")


def _made(place: Path, count: int, model: Path | None) -> list[Path]:
    files = [place / f"{number:05}.data" for number in range(count)]
    if model is None:
        for number, file in enumerate(files):
            write_host(file, SAMPLES, number)
        return files
    from tests.forge.rewrite import pieces_of

    pieces = pieces_of(model)
    for number, file in enumerate(files):
        name = f"host{number}".encode().ljust(64, b"\0")
        features = pieces.features | {HOSTNAME: len(name).to_bytes(4, "little") + name}
        file.write_bytes(replace(pieces, features=features).to_file())
    return files


def _whole(place: Path, count: int) -> Path:
    """Return a recording with the samples of ``count`` hosts."""
    write_host(place / "whole.data", SAMPLES * count, 0)
    return place / "whole.data"


def _one_by_one(files: Sequence[Path], place: Path) -> Cost:
    command = [*PERF2X, "convert", "-q", "--no-symbols", "--to", "pprof", "-o", str(place / "one.pb.gz")]
    costs = [run([*command, str(file)], place / "log") for file in files]
    return Cost(sum(one.wall for one in costs), sum(one.cpu for one in costs), max(one.memory for one in costs))


def _ingested(files: Sequence[Path], data: Path, place: Path) -> Cost:
    names = place / "names"
    names.write_text("".join(f"{file}\n" for file in files))
    words = ["fleet", "ingest", "-q", "--workers", str(WORKERS), "--list", str(names), "-o", str(data)]
    cost = _step(f"ingest, {len(files):,}", [*PERF2X, *words], place)
    from pyarrow import parquet

    rows = [
        parquet.ParquetFile(file).read(["samples", "error"]).to_pylist() for file in (data / "recordings").iterdir()
    ]
    assert len(rows) == len(files) and all(row["error"] is None for part in rows for row in part)
    return cost


def _step(name: str, command: Sequence[str], place: Path) -> Cost:
    try:
        cost = run(command, place / "log")
    except RuntimeError as refusal:
        print(f"{name:<34}{str(refusal).strip()[-80:]}", flush=True)
        return Cost(0, 0, 0)
    _print(name, cost)
    return cost


def _print(name: str, cost: Cost) -> None:
    print(f"{name:<34}{cost.wall:9.1f}{cost.cpu:9.1f}{cost.memory:8.0f}", flush=True)


def _bytes(data: Path) -> int:
    return sum(file.stat().st_size for file in data.rglob("*.parquet"))
