"""kill -9 of workers, scheduler and command at random while they add recordings: the dataset must not show it.

    python -m tests.support.fleet_kills                          # 50 kills, 200 recordings
    python -m tests.support.fleet_kills --kills 10 --seed 3
    python -m tests.support.fleet_kills --local          # workers of this machine, which nobody else starts again

A round adds all recordings to a new dataset. Whatever is killed is started again, at random moments up to the start of
the next, until the command ends by itself; then the dataset must be, byte for byte, that of an undisturbed run.
"""

import argparse
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from random import Random

from tests.support.clusters import (
    command,
    row_count,
    scheduler_address,
    start,
    start_scheduler,
    start_worker,
    undisturbed,
    wait_for,
)
from tests.support.fleets import files_of, write_fleet
from tests.support.sockets import descendants

WORKERS = 2
Processes = dict[str, subprocess.Popen[bytes]]


class Round:
    """One dataset, from its first recording to the end of an undisturbed command."""

    def __init__(self, recordings: Path, data: Path, random: Random) -> None:
        self.recordings, self.data, self.random = recordings, data, random
        self.address = data.with_suffix(".address")
        self.errors = data.with_suffix(".errors")
        self.running: Processes = {}
        self.killed: list[str] = []

    def run(self, kills: int) -> list[str]:
        """Kill at most so many times; returns what was killed."""
        try:
            while True:
                self._start_missing()
                moment = row_count(self.data) + self.random.randint(0, self._step())
                wait_for(lambda moment=moment: self._has_ended() or row_count(self.data) >= moment)  # type: ignore[misc]
                if self._has_ended():
                    self._check_end()
                    return self.killed
                if len(self.killed) < kills:
                    self._kill(self.random.choice(sorted(self.running)))
                else:
                    wait_for(self._has_ended)
        finally:
            for one in self.running.values():
                one.kill()
                one.wait()

    def _check_end(self) -> None:
        said = [self.errors.read_text(), self.address.with_suffix(".scheduler").read_text()]
        assert self.running["command"].returncode == 0, (self.killed, *said)

    def _step(self) -> int:
        return max(1, len(list(self.recordings.iterdir())) // 4)

    def _has_ended(self) -> bool:
        return self.running["command"].poll() is not None

    def _start_missing(self) -> None:
        if "scheduler" not in self.running:
            self.running["scheduler"] = start_scheduler(self.address)
        address = scheduler_address(self.address)
        for name in (f"worker {number}" for number in range(WORKERS)):
            if name not in self.running:
                self.running[name] = start_worker(address, self.data.with_suffix(".scratch"))
        if "command" not in self.running:
            words = command(self.recordings, self.data, "--scheduler", address)
            self.running["command"] = start(*words, errors=self.errors)

    def _kill(self, name: str) -> None:
        self.killed.append(name.partition(" ")[0])
        self._end(name)
        if name != "scheduler":
            return
        wait_for(self._has_ended)  # by itself, with one sentence
        said = self.errors.read_text()
        assert self.running["command"].returncode in (0, 1), said
        assert said.count("\n") <= 1, said
        for other in sorted(self.running):
            self._end(other)

    def _end(self, name: str) -> None:
        one = self.running.pop(name)
        one.kill()
        one.wait()


class LocalRound(Round):
    """The same without a cluster: the command starts its workers itself."""

    def _check_end(self) -> None:
        assert self.running["command"].returncode == 0, (self.killed, self.errors.read_text())

    def _start_missing(self) -> None:
        if "command" not in self.running:
            words = command(self.recordings, self.data, "--workers", str(WORKERS))
            self.running["command"] = start(*words, errors=self.errors)

    def _kill(self, name: str) -> None:
        workers = worker_processes(self.running[name].pid)
        if not workers or self.random.random() < 1 / 3:
            super()._kill(name)
            return
        self.killed.append("worker")
        os.kill(self.random.choice(workers), signal.SIGKILL)


def worker_processes(pid: int) -> list[int]:
    """Processes that a command started to work for it."""
    found = ((one, Path(f"/proc/{one}/cmdline").read_bytes()) for one in descendants(pid))
    return [one for one, words in found if b"spawn_main" in words]


def differences(found: dict[str, bytes], wanted: dict[str, bytes]) -> str:
    """Names of files that only one of two datasets has, or that are not the same."""
    parts = {"missing": wanted.keys() - found.keys(), "left over": found.keys() - wanted.keys(),
             "changed": {name for name in found.keys() & wanted.keys() if found[name] != wanted[name]}}  # fmt: skip
    return "; ".join(f"{kind}: {', '.join(sorted(names))}" for kind, names in parts.items() if names)


def rounds(place: Path, recordings: int, kills: int, seed: int, kind: type[Round] = Round) -> int:
    """Run rounds until so many kills were done; returns their number. AssertionError for a dataset that differs."""
    random, done, number = Random(seed), 0, 0
    wanted = undisturbed(write_fleet(place / "fleet", recordings), place / "alone")
    while done < kills:
        data = place / f"round{number}"
        killed = kind(place / "fleet", data, random).run(kills - done)
        assert (differ := differences(files_of(data), wanted)) == "", (seed, number, killed, differ)
        done, number = done + len(killed), number + 1
        print(f"round {number}: equal after kills of {', '.join(killed) or 'nothing'}; {done} of {kills}", flush=True)
    return number


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.fleet_kills", description=__doc__.partition("\n")[0])
    parser.add_argument("--recordings", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--local", action="store_true", help="workers of this machine instead of a cluster")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        number = rounds(Path(place), options.recordings, options.kills, options.seed,
                        LocalRound if options.local else Round)  # fmt: skip
    print(f"{options.kills} kills in {number} rounds of {options.recordings} recordings: all datasets equal")


if __name__ == "__main__":
    main()
