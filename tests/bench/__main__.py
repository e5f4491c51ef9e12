"""perf2x, perf script and samply on the same files.

    python -m tests.bench                 # records this machine; forges 1, 2, 4 million samples, deferred, zstd, tiny
    python -m tests.bench --quick         # a fifth of that, one run each
    python -m tests.bench --small         # a forged file alone, in ten seconds
    python -m tests.bench --largest 10    # forges 10 million samples as well
    python -m tests.bench FILE...         # files of your own
    python -m tests.bench growth FOLDER   # a dataset of varied recordings as it grows: tests/bench/growth.py
    python -m tests.bench peers           # perf, samply and perf2x as a table of Markdown: tests/bench/peers.py
    python -m tests.bench FILE --copies 1 15 75    # a file's records so many times, later and of other processes

Prints medians of wall time, processor time (all processes) and peak memory (the largest process), the ratio of both
times to perf script's where perf is installed, processor time per million samples, and where collapsed spends it.
Figures that hold on any machine follow: the bytes that Python held at most and how many calls it made. All are kept
(``--results``), and what moved since the last run is said in the end. Asserts that every output counts the samples
that were written, and nothing about time.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from tests.bench import growth, peers
from tests.bench.inputs import Input, copied, forged, recorded, small
from tests.bench.measure import Cost, in_turn, run
from tests.bench.results import load_results, moved, save_results

FIELDS = "comm,pid,tid,time,event,ip,sym,dso"
FORMATS: dict[str, list[str]] = {
    "collapsed": ["--to", "collapsed"],
    "pprof": ["--to", "pprof"],
    "speedscope": ["--to", "speedscope"],
    "html": ["--to", "html"],
    "chrome": ["--to", "chrome"],
}
PRODUCT = [sys.executable, "-m", "perf2x"]
COUNTED = [sys.executable, "-m", "tests.bench.counted"]
RESULTS = Path(__file__).parents[2] / ".bench.json"
SMALL = 5_000
FEW = 300_000
"""Samples up to which calls are counted, which takes some times as long."""
Results = dict[str, dict[str, float]]


def main() -> None:
    if sys.argv[1:2] == ["growth"]:
        growth.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["peers"]:
        peers.main(sys.argv[2:])
        return
    options = _options()
    results: Results = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        folder = Path(place)
        heads = f"{'wall s':>9}{'cpu s':>9}{'MiB':>8}{'wall/perf':>11}{'cpu/perf':>10}{'cpu/1M':>9}"
        print(f"{'input':<12}{'command':<14}{heads}", flush=True)
        if not options.small:
            _print_start_up(folder, max(options.runs, 3))
        for given in _inputs(options, folder):
            _bench(given, options, folder, results)
    before = load_results(options.results)
    for line in moved(before, results) if before else ["no earlier results to compare with"]:
        print(f"moved  {line}" if before else line, flush=True)
    save_results(options.results, results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="recordings to use instead of made ones")
    parser.add_argument("--quick", action="store_true", help="small files, one run each")
    parser.add_argument("--runs", type=int, default=3, help="runs of each command (default 3)")
    parser.add_argument(
        "--record", type=int, default=20, metavar="SECONDS", help="of this machine (default 20, 0: none)"
    )
    parser.add_argument("--largest", type=int, default=4, metavar="N", help="million samples to forge (default 4)")
    parser.add_argument("--formats", nargs="*", default=list(FORMATS), choices=list(FORMATS), help="outputs")
    parser.add_argument("--small", action="store_true", help="one small forged file, two formats, one run each")
    parser.add_argument(
        "--copies", nargs="*", type=int, default=[], metavar="N", help="times to take the files' records"
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help=f"where figures are kept (default {RESULTS.name})"
    )
    parser.add_argument("--directory", default=None, help="where to put the large files (default: the temporary one)")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.largest, options.record = 1, 1, min(options.record, 2)
    if options.small:
        options.runs, options.largest, options.record, options.formats = 1, 1, 0, ["collapsed", "chrome"]
    return options


def _inputs(options: argparse.Namespace, folder: Path) -> Iterator[Input]:
    if options.copies:
        return copied(folder, options.files, options.copies)
    if options.files:
        return (Input(path.name[:11], path) for path in options.files)
    if options.small:
        return small(folder, SMALL)
    made = forged(folder, 200_000 if options.quick else 1_000_000, options.largest)
    return chain(recorded(folder, options.record), made) if options.record else made


def _bench(given: Input, options: argparse.Namespace, folder: Path, results: Results) -> None:
    commands = dict(_others(given, folder))
    outputs = {name: folder / f"out.{name}" for name in options.formats}
    for name, out in outputs.items():
        commands[name] = [*PRODUCT, "convert", "-q", str(given.path), *FORMATS[name], "-o", str(out)]
    commands["info"] = [*PRODUCT, "info", "--json", str(given.path)]
    costs = in_turn(commands, options.runs, folder / "log")
    samples = _assert_answers(given, folder)
    for name, cost in costs.items():
        _print(given.name, name, cost, costs.get("perf script"), samples)
        results[f"{given.name} {name}"] = _figures(cost, costs.get("perf script"))
    _print_stages(given, folder)
    if samples <= FEW:
        counted = _count(given, folder)
        results[f"{given.name} collapsed"] |= counted
        print(f"{given.name:<12}  " + ", ".join(f"{figure:.6g} {kind}" for kind, figure in counted.items()), flush=True)
    for out in outputs.values():
        out.unlink(missing_ok=True)


def _figures(cost: Cost, perf: Cost | None) -> dict[str, float]:
    ratios = {"wall/perf": cost.wall / perf.wall, "cpu/perf": cost.cpu / perf.cpu} if perf else {}
    return {"cpu s": cost.cpu, "MiB": cost.memory} | ratios


def _count(given: Input, folder: Path) -> dict[str, float]:
    """Return what a conversion to collapsed stacks takes on any machine."""
    command = [*COUNTED, "convert", "-q", "--jobs", "1", str(given.path), "--to", "collapsed", "-o"]
    done = subprocess.run([*command, str(folder / "counted")], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return {"peak MiB": said["peak"] / (1 << 20), "calls": said["calls"]}


def _others(given: Input, folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Return the programs to compare with that are installed and can read the file."""
    imported = folder / "samply.json"
    known = {
        "perf script": ["perf", "script", "-F", FIELDS, "--no-inline", "-i", str(given.path)],
        "samply": ["samply", "import", "--save-only", "-o", str(imported), str(given.path)],
    }
    for name, command in known.items():
        if not shutil.which(command[0]):
            continue
        try:
            run(command, folder / "log")
        except RuntimeError as refusal:
            print(f"{given.name:<12}{name} cannot read it: {str(refusal).strip()[-80:]}", flush=True)
        else:
            yield name, command


def _assert_answers(given: Input, folder: Path) -> int:
    """Check that every output counts each sample once, as perf does; return the number of samples."""
    out = folder / "counted"
    command = [*PRODUCT, "convert", "-q", str(given.path), "--to", "collapsed", "-o", str(out)]
    run([*command, "--event", "all", "--value", "samples"], folder / "log")
    counted = sum(int(line.rpartition(b" ")[2]) for line in out.read_bytes().splitlines())
    wanted = given.samples
    if wanted is None and shutil.which("perf"):
        said = subprocess.run(
            ["perf", "script", "-F", "tid", "-G", "-i", str(given.path)], capture_output=True, check=False
        )
        wanted = len(said.stdout.split()) or None
    assert wanted is None or counted == wanted, f"{given.name}: {counted} samples in the output, {wanted} written"
    return counted


def _print_stages(given: Input, folder: Path) -> None:
    command = [*PRODUCT, "convert", "-q", "--profile-stages", str(given.path), "--to", "collapsed", "-o"]
    said = subprocess.run([*command, str(folder / "counted")], capture_output=True, text=True, check=True)
    for line in said.stderr.splitlines()[1:]:
        stage, wall, processor = line.split()
        print(f"{given.name:<12}  {stage:<12}{float(wall):9.2f}{float(processor):9.2f}", flush=True)


def _print_start_up(folder: Path, runs: int) -> None:
    commands = {"import numpy": [sys.executable, "-c", "import numpy"], "--help": [*PRODUCT, "--help"]}
    for name, cost in in_turn(commands, runs, folder / "log").items():
        _print("start", name, cost, None, 0)


def _print(given: str, name: str, cost: Cost, perf: Cost | None, samples: int) -> None:
    ratios = f"{cost.wall / perf.wall:11.2f}{cost.cpu / perf.cpu:10.2f}" if perf else f"{'':21}"
    each = f"{cost.cpu / samples * 1e6:9.2f}" if samples else ""
    print(f"{given:<12}{name:<14}{cost.wall:9.2f}{cost.cpu:9.2f}{cost.memory:8.0f}{ratios}{each}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users have byte code; compiling it doubles the time to start
    main()
