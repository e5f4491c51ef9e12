"""Copied stacks: perf2x to collapsed against ``perf script --no-inline``, same file, same run, three rounds.

    python -m tests.bench.unwind perf.data          a recording made with --call-graph dwarf
    python -m tests.bench.unwind --record DIR       makes one first: this interpreter busy for 20 seconds

Prints wall time, processor time and peak memory of each; exits 1 when perf2x's best wall time is longer than perf's, or
its memory is not under 600 MB. A recording should have at least 50,000 samples and 400 MB to tell.
"""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MEMORY_LIMIT = 600_000_000
ROUNDS = 3
BUSY = """
import json, re, time
end = time.time() + 20
while time.time() < end:
    re.sub("a+b", "x", "aab" * 500)
    json.loads(json.dumps({str(i): [i] * 5 for i in range(200)}))
    sorted(range(3000), key=lambda x: -x)
"""


@dataclass(frozen=True)
class Cost:
    wall: float
    processor: float
    memory: int

    def __str__(self) -> str:
        return f"{self.wall:7.2f} s wall {self.processor:7.2f} s processor {self.memory / 1e6:7.0f} MB"


def cost_of(command: list[str]) -> Cost:
    """Run a command, its output thrown away; the rusage is of this child alone."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command[0]} ended with {child.returncode}")
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def record(directory: Path) -> Path:
    data = directory / "perf.data"
    jobs = f"{sys.executable} -c '{BUSY}' & {sys.executable} -c '{BUSY}' & wait"
    command = ["perf", "record", "-q", "-m", "4M", "-e", "cpu-clock", "-F", "4000", "--call-graph", "dwarf,8192"]
    subprocess.run([*command, "-o", str(data), "--", "sh", "-c", jobs], check=True)
    return data


def best(costs: list[Cost]) -> Cost:
    return min(costs, key=lambda cost: cost.wall)


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or not shutil.which("perf"):
        print(__doc__)
        return 2
    data = record(Path(arguments[1])) if arguments[0] == "--record" else Path(arguments[0])
    print(f"{data}: {data.stat().st_size / 1e6:,.0f} MB")
    commands = {
        "perf2x": [
            sys.executable,
            "-m",
            "perf2x",
            "convert",
            str(data),
            "--to",
            "collapsed",
            "--no-inline",
            "-o",
            "-",
            "-q",
        ],
        "perf script": ["perf", "script", "--no-inline", "-i", str(data)],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            costs[name].append(cost_of(command))
            print(f"{name:12} {costs[name][-1]}")
    ours, theirs = best(costs["perf2x"]), best(costs["perf script"])
    return int(ours.wall > theirs.wall or ours.memory >= MEMORY_LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
