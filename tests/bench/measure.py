"""Measurement of a command: wall time, processor time, peak memory."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Cost:
    """Seconds and MiB; memory is that of the largest process (ru_maxrss)."""

    wall: float
    cpu: float
    memory: float


def run(command: Sequence[str], log: Path) -> Cost:
    """Run once, discarding the output; RuntimeError with the command's message when it fails."""
    with log.open("wb") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {log.read_text(errors='replace')[-500:]}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def each_in_turn(commands: Mapping[str, Sequence[str]], runs: int, log: Path) -> dict[str, list[Cost]]:
    """Return the costs of each command; they run in turns, so that a slow minute affects all of them."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            costs[name].append(run(command, log))
    return costs


def in_turn(commands: Mapping[str, Sequence[str]], runs: int, log: Path) -> dict[str, Cost]:
    """Return the median of each command, as ``each_in_turn`` measures them."""
    costs = each_in_turn(commands, runs, log)
    return {
        name: Cost(*(median(getattr(cost, field) for cost in found) for field in ("wall", "cpu", "memory")))
        for name, found in costs.items()
    }
