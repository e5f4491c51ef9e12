"""Records a mode, and asks perf and perf2x what they see in it."""

import os
import re
import signal
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.recordings import ROOT

FIELDS = ["-F", "+pid,+ip,+sym,+symoff,+dso"]
TASK = re.compile(r"PERF_RECORD_(COMM|FORK|EXIT)(?: exec)?(?::|\()")
COMM = re.compile(r"PERF_RECORD_COMM(?: exec)?: (?P<comm>.*):-?\d+/(?P<tid>-?\d+)$")
FORK = re.compile(r"PERF_RECORD_FORK\((?P<pid>-?\d+):(?P<tid>-?\d+)\):\((?P<ppid>-?\d+):(?P<parent>-?\d+)\)")
SHELL = "shell"
"""The file beside a recording that has the process id of the shell which ran its mode."""
HEADER = struct.Struct("<8s12Q")
"""struct perf_file_header (tools/perf/util/header.h): fields 5 and 6 are where the data begin and their size."""
LIMIT = 120
"""Seconds that a command may take."""


class Unable(Exception):  # noqa: N818
    """A mode cannot be recorded, or perf cannot read what it recorded; the text is the last thing that was said."""


@dataclass
class Tasks:
    """The names that each thread ever had, and each process's parent."""

    names: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    parents: dict[int, int] = field(default_factory=dict)

    def is_stranger(self, pid: int, shell: int) -> bool:
        """Whether a process does not come from a shell, in a recording of the whole machine: one that has process 1."""
        seen = set[int]()
        while pid != shell and pid in self.parents and pid not in seen:
            seen.add(pid)
            pid = self.parents[pid]
        return 1 in self.parents and pid != shell

    def take(self, line: str) -> None:
        """Take what a line of ``--show-task-events`` tells."""
        if comm := COMM.search(line):
            self.names[int(comm["tid"])].add(comm["comm"])
        elif fork := FORK.search(line):
            self.names[int(fork["tid"])] |= self.names[int(fork["parent"])]
            if fork["pid"] != fork["ppid"]:
                self.parents[int(fork["pid"])] = int(fork["ppid"])


@dataclass(frozen=True)
class Commands:
    """Words that begin the commands of both programs, and the folder of the programs to record."""

    perf: Sequence[str]
    perf2x: Sequence[str]
    programs: Path

    def environment(self, folder: Path) -> dict[str, str]:
        """Variables with an empty home."""
        path = f"{self.programs}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(folder / "home"), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}

    def run(self, words: Sequence[str], folder: Path) -> tuple[int, str, str]:
        """Run words in a folder: exit code, output and errors; whatever it started ends with it."""
        process = subprocess.Popen(
            words, cwd=folder, env=self.environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, text=True, errors="surrogateescape",
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return 1, "", f"still running after {LIMIT} seconds"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, out, err

    def record(self, script: str, event: str, folder: Path) -> list[Path]:
        """Run a mode's line of shell; return the recordings in order of time."""
        (folder / "home").mkdir()
        words = ["env", f"PERF={' '.join(self.perf)}", f"EVENT={event}", f"PYTHON={sys.executable}", "sh", "-c"]
        words.append(f"echo $$ >{SHELL}; {script}")
        _, _, err = self.run(words, folder)
        found = sorted(path for path in folder.glob("perf.data*") if path.is_dir() or path.stat().st_size)
        if not found:
            raise Unable(_last(err))
        return found

    def samples_by_perf(self, path: Path) -> tuple[list[str], Tasks]:
        """Lines of ``perf script``, and what it says of threads and processes."""
        words = [*self.perf, "script", "--ns", "--no-inline", "--show-task-events", *FIELDS, "-i", _finished(path).name]
        code, out, err = self.run(words, path.parent)
        if code:
            raise Unable(_last(err))
        lines, tasks = [], Tasks()
        for line in out.split("\n"):
            if TASK.search(line):
                tasks.take(line)
            else:
                lines.append(line)
        return lines, tasks

    def shell(self, path: Path) -> int:
        """Return the process id of the shell that ran a recording's mode."""
        return int((path.parent / SHELL).read_text())

    def losses_by_perf(self, path: Path) -> int:
        """Return the total of ``perf report``."""
        words = [*self.perf, "report", "--stdio", "-g", "none", "--percent-limit", "100", "-i", _finished(path).name]
        _, out, _ = self.run(words, path.parent)
        found = re.search(r"^# Total Lost Samples: (\d+)", out, re.MULTILINE)
        return int(found[1]) if found else 0

    def ask(self, folder: Path, *words: str) -> str:
        """Return what a command of perf2x prints; its failure is a difference."""
        code, out, err = self.run([*self.perf2x, *words, "-q"], folder)
        if code:
            raise AssertionError(f"perf2x {' '.join(words)}: exit {code}: {_last(err)}")
        return out

    def folds(self, folder: Path, names: Sequence[str]) -> Counter[str]:
        """Counts of collapsed stacks, of all events."""
        words = ["convert", *names, "--to", "collapsed", "-e", "all", "--value", "samples"]
        lines = self.ask(folder, *words, "--no-inline", "--names", "full", "-o", "-").splitlines()
        return Counter({stack: int(count) for stack, _, count in (line.rpartition(" ") for line in lines)})


def has_event(perf: Sequence[str], event: str) -> bool:
    """Whether perf can count an event here."""
    ran = subprocess.run([*perf, "stat", "-x,", "-e", event, "true"], capture_output=True, text=True, check=False)
    return ran.returncode == 0 and "<not" not in ran.stderr


def product(words: Sequence[str]) -> Sequence[str]:
    """Return the words of the perf2x that is tried, by default the one of this Python."""
    return words or [sys.executable, "-m", "perf2x"]


def _finished(path: Path) -> Path:
    """Return a recording that perf reads: where its writer was killed, a copy that says how long its data are."""
    with path.open("rb") if path.is_file() else Path(os.devnull).open("rb") as file:
        header = file.read(HEADER.size)
    if len(header) < HEADER.size or not header.startswith(b"PERFILE2") or (fields := HEADER.unpack(header))[6]:
        return path
    copy = path.with_name(f"finished-{path.name}")
    copy.write_bytes(
        HEADER.pack(*fields[:6], path.stat().st_size - fields[5], *fields[7:]) + path.read_bytes()[HEADER.size :]
    )
    return copy


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "nothing was said")
