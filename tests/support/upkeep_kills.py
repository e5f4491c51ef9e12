"""kill -9 of all commands that change a dataset, at random moments, and files that are damaged meanwhile.

    python -m tests.support.upkeep_kills                     # 50 kills
    python -m tests.support.upkeep_kills --kills 10 --seed 3

Commands follow each other at random on one dataset: ingest, watch, compact (with and without timelines), tag,
add-symbols, symbolize, rm, gc, repair. Each is killed, with its workers, at a random moment of about the time that it
takes. After each kill the dataset answers a query, and ``fleet check`` finds nothing or ``fleet repair`` mends it. Now
and then a file is cut, removed, changed or replaced by another: ``fleet check`` must tell, ``fleet repair`` mend it.
In the end one undisturbed ingest must bring back every recording, with the sums of a dataset without kills.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from perf2x.storage.dataset.dataset_schema import PARTITIONED
from perf2x.storage.dataset.table_log import read_log
from tests.support.fleets import recording_of

PERF2X = (sys.executable, "-m", "perf2x")
KEPT = ("--timeline", "--start-time", "file")
SUMS = """SELECT parse_filename(source) AS file, event, sum(value), sum(count)
FROM samples JOIN recordings USING (recording) GROUP BY ALL ORDER BY ALL"""


class Upkeep:
    """A dataset, what is done to it, and what was found."""

    def __init__(self, place: Path, recordings: int, random: Random) -> None:
        self.place, self.random, self.told = place, random, Counter[str]()
        self.inputs, self.data = place / "inputs", place / "profiles"
        self.inputs.mkdir()
        self.took: dict[str, float] = {}
        for number in range(recordings):
            file = self.inputs / f"{number:03}.data"
            file.write_bytes(recording_of(number))
            os.utime(file, (time.time() - 7 * 86_400 * (1 + number % 2),) * 2)  # recordings of two days

    def commands(self) -> dict[str, Sequence[str]]:
        """Words of each command, with random choices."""
        one = f"{self.random.randrange(len(list(self.inputs.iterdir()))):03}.data"
        data, inputs = str(self.data), str(self.inputs / "*.data")
        return {
            "ingest": ("ingest", inputs, "-o", data, "--workers", "2", *KEPT),
            "watch": ("watch", str(self.inputs), "-o", data, "--once", "--settled", "0s", *KEPT),
            "compact": ("compact", data),
            "compact --older-than": ("compact", data, "--older-than", "1d"),
            "tag": ("tag", data, f"round={self.random.randrange(99)}"),
            "add-symbols": ("add-symbols", data, "/bin/ls"),
            "symbolize": ("symbolize", data),
            "rm": ("rm", data, str(self.inputs / one)),
            "gc": ("gc", data, "--older-than", "3650d"),
            "repair": ("repair", data),
        }

    def killed(self, name: str, words: Sequence[str]) -> bool:
        """Run a command, and kill it with all it started; whether it was still running."""
        limit = self.random.uniform(0.3, 1.1) * self.took.get(name, 4.0)
        begin = time.monotonic()
        with subprocess.Popen(
            [*PERF2X, "fleet", *words, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        ) as running:
            try:
                _, said = running.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                running.communicate()
                return True
        self.took[name] = time.monotonic() - begin
        refused = (b"is there", b"not a dataset", b"meanwhile", b"no recording", b"names of it")
        assert running.returncode == 0 or any(text in said for text in refused), (name, said)
        return False

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run([*PERF2X, "fleet", *words], capture_output=True, text=True, check=False)

    def check_sound(self, name: str) -> None:
        """The dataset answers, and is clean or mended."""
        asked = self.run("query", str(self.data), "SELECT count(*), sum(value) FROM samples")
        assert asked.returncode == 0, (name, asked.stderr)
        checked = self.run("check", str(self.data))
        if checked.returncode:
            self.told[f"repaired after {name}"] += 1
            assert self.run("repair", str(self.data)).returncode == 0
            again = self.run("check", str(self.data))
            assert again.returncode == 0, (name, checked.stdout, checked.stderr, again.stderr)

    def damage(self) -> None:
        """Damage a file; check must tell, repair mend, and ingest bring back what was lost."""
        files = [
            self.data / table / name for table in PARTITIONED for name in read_log(self.data / table).files
        ]  # fmt: skip
        if len(files) < 2:
            return
        file, other = self.random.sample(files, 2)
        kind = self.random.choice(("cut", "missing", "flipped", "doubled"))
        if kind == "cut":
            file.write_bytes(file.read_bytes()[: self.random.randrange(file.stat().st_size)])
        elif kind == "missing":
            file.unlink()
        elif kind == "flipped":
            raw = bytearray(file.read_bytes())
            raw[self.random.randrange(4, len(raw))] ^= 0xFF
            file.write_bytes(raw)
        else:
            shutil.copy(other, file)
        found = self.run("check", str(self.data))
        assert found.returncode == 1 or kind == "flipped", (kind, file, found.stderr)
        self.told[f"{kind} file" if found.returncode else "flipped byte that holds nothing"] += 1
        mended = self.run("repair", str(self.data))
        assert mended.returncode == 0, mended.stderr
        again = self.run("check", str(self.data))
        assert again.returncode == 0, (kind, file, again.stdout, again.stderr)
        self.check_sound(kind)

    def sums(self, data: Path) -> str:
        """Sums of all recordings by their file."""
        asked = self.run("query", str(data), SUMS, "--format", "csv")
        assert asked.returncode == 0, asked.stderr
        return asked.stdout


def rounds(place: Path, recordings: int, kills: int, seed: int) -> Counter[str]:
    """Kill so often; returns what was done. AssertionError where the dataset does not answer or cannot be mended."""
    one, done = Upkeep(place, recordings, Random(seed)), 0
    assert one.run("ingest", str(one.inputs / "0[01]*.data"), "-o", str(one.data), *KEPT).returncode == 0
    while done < kills:
        commands = one.commands()
        name = one.random.choice(sorted(commands))
        if one.killed(name, commands[name]):
            done += 1
            one.told[f"kill of {name}"] += 1
            print(f"{done} of {kills}: {name}", flush=True)
        one.check_sound(name)
        if one.random.random() < 0.2:
            one.damage()
    whole = one.run(*one.commands()["ingest"])
    assert whole.returncode == 0, whole.stderr
    alone = one.run("ingest", str(one.inputs / "*.data"), "-o", str(place / "alone"), "--workers", "2", *KEPT)
    assert alone.returncode == 0, alone.stderr
    assert one.sums(one.data) == one.sums(place / "alone")
    assert one.run("check", str(one.data)).returncode == 0
    return one.told


def main() -> None:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.support.upkeep_kills", description=about)
    parser.add_argument("--recordings", type=int, default=40)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        told = rounds(Path(place), options.recordings, options.kills, options.seed)
    print(", ".join(f"{count} × {name}" for name, count in sorted(told.items())))
    print("all sums are those of a dataset in which nothing was killed")


if __name__ == "__main__":
    main()
