"""Records this machine in a random choice of ways, and compares what perf and perf2x see in each.

    python -m tests.oracle.fresh                             # 12 of the modes; prints the seed of the choice
    python -m tests.oracle.fresh --seed 7 --seconds 60       # those of a seed, until the time is over
    python -m tests.oracle.fresh --perf /opt/perf-7.2/perf --perf2x /opt/before/bin/perf2x
    python -m tests.oracle.fresh --record FOLDER             # compares nothing
    python -m tests.oracle.fresh --mode zstd --mode pipe --count 100 --keep FOLDER

Samples are compared one by one (names of threads, times, periods, frames, objects, text of tracepoints), and counts,
sums, losses, threads, time spans and folded stacks. Differences of docs/differences.md are counted under their rule
(``known.py``); any other one is printed, its recording kept, and the exit code 1. Frames of programs that a mode of the
whole machine met by chance are printed only. Modes that this machine cannot record are named.
"""

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.oracle.fresh.comparison import Findings, compare
from tests.oracle.fresh.modes import MODES
from tests.oracle.fresh.programs import build, lay_out
from tests.oracle.fresh.recording import Commands, Unable, has_event, product


def main() -> int:
    """Record and compare; return the exit code."""
    options = _options()
    perf = shlex.split(options.perf)
    if shutil.which(perf[0]) is None or not has_event(perf, "cpu-clock"):
        print(f"{options.perf} is not here, or may not record")
        return 0
    seed = Random().randrange(10**6) if options.seed is None else options.seed
    chosen = options.mode or Random(seed).sample(list(MODES), min(options.count, len(MODES)))
    until = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="perf2x-fresh-") as place:
        programs = Path(place) / "programs"
        programs.mkdir()
        if missing := build(programs):
            print(f"no compiler here for {', '.join(missing)}")
        commands = Commands(perf, product(shlex.split(options.perf2x)), programs)
        event = "cycles" if has_event(perf, "cycles") else "cpu-clock"
        print(f"--seed {seed} --perf {options.perf!r}, which counts {event}", flush=True)
        failed = compared = 0
        for number, mode in enumerate(chosen):
            if time.monotonic() > until:
                print(f"the time is over: {len(chosen) - number} modes were not tried")
                break
            found = _try(mode, commands, event, Path(place) / mode.replace(" ", "-").replace(",", ""), options)
            failed += bool(found and found.unknown)
            compared += bool(found and found.samples)
    print(f"{compared} of {len(chosen)} modes compared, {failed} differ: --seed {seed}")
    return int(bool(failed) or not (compared or options.record))


def _try(mode: str, commands: Commands, event: str, folder: Path, options: argparse.Namespace) -> Findings | None:
    """Record and compare one mode, and print a line; None if that cannot be."""
    keep, record = options.record or options.keep, options.record is not None
    folder.mkdir()
    lay_out(folder)
    found = Findings()
    began = time.monotonic()
    try:
        recordings = commands.record(MODES[mode], event, folder)
        if not record:
            compare(commands, recordings, found)
    except Unable as why:
        print(f"{mode:32} not here: {why}", flush=True)
        return None
    except AssertionError as trouble:
        found.differ("command failed", None, trouble)
    known = "; ".join(f"{count} {rule}" for rule, count in sorted(found.known.items()))
    size = sum(path.stat().st_size for path in folder.rglob("*data*") if path.is_file())
    said = f"{found.samples:7,} samples, {size / 1e6:.1f} MB, {time.monotonic() - began:.1f} s"
    print(f"{mode:32} {said}{'; known: ' if known else ''}{known}", flush=True)
    for kind, count in (*found.unknown.items(), *found.elsewhere.items()):
        print(
            f"  {'DIFFERS' if kind in found.unknown else 'differs'} {count} × {kind}\n    "
            + found.examples[kind].replace("\n", "\n    ")
        )
    if keep and (found.unknown or found.elsewhere or record):
        shutil.rmtree(keep / folder.name, ignore_errors=True)
        shutil.copytree(folder, keep / folder.name, ignore=shutil.ignore_patterns("home"))
    shutil.rmtree(folder)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle.fresh", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seed", type=int, help="the choice of modes (default: any, and printed)")
    parser.add_argument("--count", type=int, default=12, help="how many modes (default 12)")
    parser.add_argument("--seconds", type=float, default=600, help="start no mode after these (default 600)")
    parser.add_argument("--mode", action="append", choices=MODES, metavar="NAME", help="this mode; repeatable")
    parser.add_argument("--perf", default="perf", metavar="CMD", help="the perf that records and is compared with")
    parser.add_argument("--perf2x", default="", metavar="CMD", help="the perf2x that is tried (default: this one)")
    parser.add_argument("--directory", type=Path, help="where to record (default: the temporary folder)")
    parser.add_argument("--record", type=Path, metavar="DIR", help="leave recordings in this folder, compare nothing")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="copy recordings that differ to this folder")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
