"""perf2x and perf script on the same files.

    python -m tests.bench                 # forges 1, 2 and 4 million samples, deferred, zstd, tiny; takes a while
    python -m tests.bench --quick         # 0.2 million, one run each
    python -m tests.bench --record 10     # also records this machine for ten seconds (perf record -a -g)
    python -m tests.bench FILE...         # files of your own

Prints medians of wall time, processor time and peak memory, and their ratio to perf script where perf is installed.
Asserts that every output counts the samples that were written, and nothing about time.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.forged import Shape, write_forged
from tests.bench.measure import Cost, in_turn, run

FIELDS = "comm,pid,tid,time,event,ip,sym,dso"
FORMATS = ("collapsed", "pprof", "speedscope", "html", "chrome")


@dataclass(frozen=True)
class Input:
    name: str
    path: Path
    samples: int | None
    """How many samples the outputs must count; None: as many as perf2x info says."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        folder = Path(place)
        print(f"{'input':<12}{'command':<14}{'wall s':>9}{'cpu s':>9}{'MiB':>8}{'wall/perf':>11}", flush=True)
        _print_start_up(folder, options.runs)
        for given in _inputs(options, folder):
            _bench(given, options, folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="recordings to use instead of forged ones")
    parser.add_argument("--quick", action="store_true", help="small files, one run each")
    parser.add_argument("--runs", type=int, default=3, help="runs of each command (default 3)")
    parser.add_argument("--record", type=int, default=0, metavar="SECONDS", help="record this machine as well")
    parser.add_argument("--formats", nargs="*", default=list(FORMATS), help="output formats")
    parser.add_argument("--directory", default=None, help="where to put the large files (default: the temporary one)")
    options = parser.parse_args()
    options.runs = 1 if options.quick else options.runs
    return options


def _inputs(options: argparse.Namespace, folder: Path) -> Iterator[Input]:
    if options.files:
        yield from (Input(path.name[:11], path, None) for path in options.files)
        return
    million = 200_000 if options.quick else 1_000_000
    shapes = {
        "tiny": Shape(2_000), "1M": Shape(million), "deferred": Shape(million, deferred=True),
        "zstd": Shape(million, compressed=True), "2M": Shape(2 * million), "4M": Shape(4 * million),
    }  # fmt: skip
    for name, shape in shapes.items():
        if not options.quick or name not in {"2M", "4M"}:
            path = folder / name
            write_forged(path, shape)
            yield Input(name, path, shape.samples)
            path.unlink()
    if options.record and shutil.which("perf"):
        yield from _recorded(options.record, folder / "recorded")


def _recorded(seconds: int, path: Path) -> Iterator[Input]:
    """The machine itself, when the kernel lets us (kernel.perf_event_paranoid)."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do ls -R /usr/lib > /dev/null; done"]) for _ in range(2)]
    command = ["perf", "record", "-e", "cpu-clock", "-F", "max", "-a", "-g", "-o", str(path), "sleep", str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    finally:
        for process in busy:
            process.kill()
    if done.returncode:
        print(f"{'recorded':<12}perf record is not allowed here: {done.stderr.decode()[-200:]!r}")
        return
    yield Input("recorded", path, None)


def _bench(given: Input, options: argparse.Namespace, folder: Path) -> None:
    commands: dict[str, Sequence[str]] = {}
    if shutil.which("perf"):
        commands["perf script"] = ["perf", "script", "-F", FIELDS, "--no-inline", "-i", str(given.path)]
        try:
            run(commands["perf script"], folder / "log")
        except RuntimeError as refusal:
            print(f"{given.name:<12}this perf cannot read it: {str(refusal).strip()[-80:]}")
            del commands["perf script"]
    product = [sys.executable, "-m", "perf2x"]
    outputs = {name: folder / f"out.{name}" for name in options.formats}
    for name, out in outputs.items():
        commands[name] = [*product, "convert", "-q", str(given.path), "--to", name, "-o", str(out)]
    commands["info"] = [*product, "info", "--json", str(given.path)]
    costs = in_turn(commands, options.runs, folder / "log")
    for name, cost in costs.items():
        _print(given.name, name, cost, costs.get("perf script"))
    _assert_answers(given, folder)
    for out in outputs.values():
        out.unlink(missing_ok=True)


def _assert_answers(given: Input, folder: Path) -> None:
    """Every sample is counted once, whatever the format; perf counts the same."""
    out = folder / "counted"
    command = [sys.executable, "-m", "perf2x", "convert", "-q", str(given.path), "--to", "collapsed", "-o", str(out)]
    run([*command, "--event", "all", "--value", "samples"], folder / "log")
    counted = sum(int(line.rpartition(b" ")[2]) for line in out.read_bytes().splitlines())
    wanted = given.samples
    if wanted is None and shutil.which("perf"):
        said = subprocess.run(
            ["perf", "script", "-F", "tid", "-G", "-i", str(given.path)], capture_output=True, check=False
        )
        wanted = len(said.stdout.split()) or None
    assert wanted is None or counted == wanted, f"{given.name}: {counted} samples in the output, {wanted} written"


def _print_start_up(folder: Path, runs: int) -> None:
    commands = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "--help": [sys.executable, "-m", "perf2x", "--help"],
    }
    for name, cost in in_turn(commands, runs, folder / "log").items():
        _print("start", name, cost, None)


def _print(given: str, name: str, cost: Cost, perf: Cost | None) -> None:
    ratio = f"{cost.wall / perf.wall:11.2f}" if perf else ""
    print(f"{given:<12}{name:<14}{cost.wall:9.2f}{cost.cpu:9.2f}{cost.memory:8.0f}{ratio}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
