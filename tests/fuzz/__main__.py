"""``python -m tests.fuzz [--seconds N] [--seed S] [--case N] [--kind NAME] [--keep DIR]``."""

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.cases import INGEST, Case, case, commands_of
from tests.fuzz.minimise import minimised
from tests.fuzz.seeds import Seed, seeds
from tests.fuzz.server import answer_with
from tests.fuzz.verdict import verdict
from tests.fuzz.worker import Result, command, run, settle

TIMEOUT = 20.0
"""Seconds for an input of less than a megabyte; on a busy machine most of that is waiting."""


@dataclass
class Tally:
    """Results of one kind of input; ``temporary`` is the largest temporary file of all its runs, in bytes."""

    codes: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: int = 0
    temporary: int = 0

    def add(self, result: Result) -> None:
        self.codes[result.code] += 1
        self.slowest = max(self.slowest, result.seconds)
        self.memory = max(self.memory, result.memory)
        self.temporary = max(self.temporary, result.temporary)


def main() -> int:
    """Run the cases and return the exit code: 0 without failures."""
    options = _options()
    found: dict[str, Case] = {}
    tallies: dict[str, Tally] = defaultdict(Tally)
    whole = [seed for seed in seeds() if options.kind in (None, seed.kind)]
    _warm_up(whole)
    until = time.monotonic() + options.seconds
    number = options.case or 0
    while time.monotonic() < until:
        tried = case(whole, options.seed, number)
        result = run(tried, TIMEOUT)
        tallies[tried.seed.kind].add(result)
        trouble = verdict(tried, result, TIMEOUT)
        if trouble and trouble not in found:
            print(
                f"case {number}: {tried.seed.kind} {tried.seed.name}: {' '.join(tried.words)}\n  {trouble}", flush=True
            )
            found[trouble] = tried
            _keep(tried, trouble, options.keep)
        if options.case is not None:
            print(result.err, result.code, trouble)
            break
        number += 1
    _report(tallies)
    return int(bool(found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=60, help="how long [60]")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases [1]")
    parser.add_argument("--case", type=int, help="run only this case, and show what it says")
    parser.add_argument("--kind", help="only inputs of this kind")
    parser.add_argument("--keep", type=Path, help="write minimised crashers to this folder, such as tests/crashes")
    return parser.parse_args()


def _warm_up(whole: list[Seed]) -> None:
    """Run every command and every kind of input once, so that forked processes have all modules imported.

    None with a dataset runs here: what deltalake starts does not live on in forks, which then refuse all of them.
    """
    with suppress(ImportError):
        import deltalake  # noqa: F401
    whole = [seed for seed in whole if "dataset" not in seed.kind]
    kinds = {seed.kind: seed for seed in whole}
    pairs = [(seed, words) for seed in whole[:1] for words in commands_of(seed) if words != INGEST]
    pairs += [(seed, commands_of(seed)[0]) for seed in kinds.values()]
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as name, Path(os.devnull).open("w") as nowhere:
        for number, (seed, words) in enumerate(pairs):
            folder = Path(name) / str(number)
            folder.mkdir()
            first = Case(seed, seed.data, words)
            first.lay_out(folder)
            settle(folder)
            if seed.served is not None:
                answer_with(seed.data, seed.served)
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                command([word.replace("{dir}", str(folder)) for word in first.words])
    os.environ |= environment
    tempfile.tempdir = None


def _keep(tried: Case, trouble: str, folder: Path | None) -> None:
    """Write the smallest input with that failure, as .data for a recording, which tests/crashes runs."""
    if folder is None:
        return
    small = minimised(tried, lambda shorter: verdict(shorter, run(shorter, TIMEOUT), TIMEOUT) == trouble)
    suffix = ".bin" if "perf.data" in small.seed.beside else ".data"
    path = folder / f"{small.seed.kind.replace(' ', '-')}-{hashlib.sha256(small.data).hexdigest()[:12]}{suffix}"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(small.seed.wrap(small.data))
    print(f"  kept as {path} ({len(small.data)} bytes)", flush=True)


def _report(tallies: dict[str, Tally]) -> None:
    heading = f"{'kind':20}{'inputs':>8}{'done':>8}{'refused':>9}{'usage':>7}"
    print(f"\n{heading}{'slowest s':>11}{'memory MB':>11}{'temporary B':>13}")
    for kind, tally in sorted(tallies.items()):
        done, refused, usage = tally.codes[0] + tally.codes[3], tally.codes[1], tally.codes[2]
        row = f"{kind:20}{tally.codes.total():>8}{done:>8}{refused:>9}{usage:>7}"
        print(f"{row}{tally.slowest:>11.2f}{tally.memory / 1e6:>11.0f}{tally.temporary:>13,}")


if __name__ == "__main__":
    sys.exit(main())
