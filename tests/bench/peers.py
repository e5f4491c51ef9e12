"""perf, samply, the scripts that collapse perf's text, and perf2x side by side: a table for each recording.

    python -m tests.bench peers                            # records this machine: all of it, and one program's stacks
    python -m tests.bench peers --perf perf --perf /opt/perf7/perf --samply /opt/samply
    python -m tests.bench peers FILE...                    # recordings of your own

Programs take turns, so that a slow minute affects all. The tables are Markdown: medians, least and most of the
rounds, the peak memory of the largest process, and the median of each round's ratio to the first line, which is perf
script where it can read the recording. What is not installed is named. Without a perf that may record, recordings are
forged.
"""

import argparse
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import median

from tests.bench.inputs import Input, forged, recorded
from tests.bench.measure import Cost, each_in_turn, run

FIELDS = "comm,pid,tid,time,event,ip,sym,dso"
FORMATS = ("collapsed", "pprof", "html", "speedscope", "perfetto", "firefox", "chrome")
SCRIPTS = ("stackcollapse-perf.pl", "inferno-collapse-perf")
Costs = dict[str, list[Cost]]


def main(words: Sequence[str]) -> None:
    """Measure what is installed, and print the tables."""
    options = _options(words)
    perfs, missing = _installed(options.perf or ["perf"])
    samply, no_samply = _installed([options.samply])
    scripts, no_scripts = _installed(SCRIPTS)
    absent = ", ".join([*missing, *no_samply, *no_scripts]) or "nothing"
    machine = f"{os.cpu_count()} CPUs, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    print(f"{machine}; {options.runs} rounds; not installed: {absent}", flush=True)
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 1:
        print("the machine is busy: wall times say little, CPU times some per cent too much", flush=True)
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        folder = Path(place)
        for given in _inputs(options, folder, bool(perfs)):
            commands = dict(_peers(given.path, folder, perfs, samply, scripts))
            commands |= _ours(given.path, folder, options.formats)
            readable, refusals = _readable(commands, folder / "log")
            costs = each_in_turn(readable, options.runs, folder / "log")
            print(f"\n{given.name}, {given.path.stat().st_size / 1e6:.1f} MB{_counted(given, folder)}\n")
            print("\n".join([*table(costs, next(iter(readable))), *refusals]), flush=True)


def table(costs: Costs, base: str) -> Iterator[str]:
    """Yield the lines of a table of Markdown; ``base`` is the command that others are compared with."""
    yield f"| | wall s | CPU s | peak MiB | wall ÷ {base} | CPU |"
    yield "|---|---|---|---|---|---|"
    for name, found in costs.items():
        walls, cpus = [cost.wall for cost in found], [cost.cpu for cost in found]
        pairs = list(zip(found, costs[base], strict=True))
        ratios = (median(one.wall / its.wall for one, its in pairs), median(one.cpu / its.cpu for one, its in pairs))
        memory = median(cost.memory for cost in found)
        yield f"| {name} | {_spread(walls)} | {_spread(cpus)} | {memory:.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} |"


def _spread(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} ({min(seconds):.2f}–{max(seconds):.2f})"


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench peers", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="recordings to use instead of made ones")
    parser.add_argument("--runs", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--seconds", type=int, default=20, help="to record (default 20)")
    parser.add_argument("--perf", action="append", metavar="CMD", help="a perf; repeatable, the first one records")
    parser.add_argument("--samply", default="samply", metavar="CMD", help="the samply to use")
    parser.add_argument("--formats", nargs="*", default=list(FORMATS), choices=FORMATS, help="outputs of perf2x")
    parser.add_argument("--directory", default=None, help="where to put the large files (default: the temporary one)")
    return parser.parse_args(words)


def _installed(commands: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Commands by name and version, and the names of those that cannot be run."""
    found, missing = dict[str, list[str]](), list[str]()
    for command in commands:
        words = shlex.split(command)
        if shutil.which(words[0]):
            said = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False).stdout.split()
            version = said[-1] if said else ""
            found[f"{Path(words[-1]).name} {version}".strip()] = words
        else:
            missing.append(command)
    return found, missing


def _inputs(options: argparse.Namespace, folder: Path, can_record: bool) -> Iterator[Input]:
    if options.files:
        return (Input(path.name, path) for path in options.files)
    made = recorded(folder, options.seconds, shlex.split(options.perf[0]) if options.perf else ["perf"])
    first = next(made, None) if can_record else None
    return chain([first], made) if first else forged(folder, 1_000_000, 1)


def _peers(
    path: Path, folder: Path, perfs: dict[str, list[str]], samply: dict[str, list[str]], scripts: dict[str, list[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the other programs' commands by their names; those of the first perf first."""
    for name, perf in perfs.items():
        text = [*perf, "script", "-F", FIELDS, "--no-inline", "-i", str(path)]
        yield f"{name}, script", text
        for script, words in scripts.items():
            pipe = f"{shlex.join(text)} 2> /dev/null | {shlex.join(words)} > {shlex.quote(str(folder / 'folded'))}"
            yield f"{name}, script, {script}", ["sh", "-c", pipe]
    for name, words in samply.items():
        yield f"{name}, no names", [*words, "import", "--save-only", "-o", str(folder / "samply.json"), str(path)]


def _ours(path: Path, folder: Path, formats: Sequence[str]) -> dict[str, list[str]]:
    convert = [sys.executable, "-m", "perf2x", "convert", "-q", str(path)]
    commands = {f"perf2x, {name}": [*convert, "--to", name, "-o", str(folder / f"out.{name}")] for name in formats}
    commands |= {f"{name}, one process": [*words, "--jobs", "1"] for name, words in list(commands.items())[:1]}
    return commands


def _readable(commands: dict[str, list[str]], log: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The commands that can read the recording, run once, which fills all caches; and what the others say."""
    readable, refusals = {}, []
    for name, command in commands.items():
        try:
            run(command, log)
        except RuntimeError as refusal:
            refusals.append(f"\n{name} cannot read it: {' '.join(str(refusal).split())[-200:]}")
        else:
            readable[name] = command
    return readable, refusals


def _counted(given: Input, folder: Path) -> str:
    """The number of samples in the collapsed output, after a comma."""
    out = folder / "counted"
    command = [sys.executable, "-m", "perf2x", "convert", "-q", str(given.path), "--to", "collapsed", "-o", str(out)]
    run([*command, "--event", "all", "--value", "samples", "--no-symbols"], folder / "log")
    counted = sum(int(line.rpartition(b" ")[2]) for line in out.read_bytes().splitlines())
    assert given.samples in (None, counted), f"{counted} samples in the output, {given.samples} written"
    return f", {counted:,} samples"
