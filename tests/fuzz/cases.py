"""Pairs a damaged input with a command line that reads it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.fuzz import datasets
from tests.fuzz.mutations import mutated
from tests.fuzz.seeds import Seed
from tests.support.recordings import CORPUS

OUTPUT = "out"
FORMATS = ("pprof", "chrome", "collapsed", "html", "svg", "speedscope", "firefox", "perfetto", "otlp",
           "bolt", "autofdo", "gcov", "callgrind")  # fmt: skip
ONE_INPUT = (
    ("convert", "--to", "chrome", "--set", "per_cpu=yes", "--set", "counters=yes", "-o", "{dir}/out/x"),
    ("convert", "--to", "pprof", "--label", "pid,tid,comm,thread,cpu,mode,time", "-o", "{dir}/out/x"),
    ("convert", "--to", "pprof", "--root", "cgroup", "--merge-threads", "--fold-recursion", "-o", "{dir}/out/x"),
    ("convert", "--to", "html", "--off-cpu", "merged", "-o", "{dir}/out/x"),
    ("convert", "--to", "collapsed", "--time", "10%-50%", "--max-stack", "3", "-o", "{dir}/out/x"),
    ("convert", "--to", "collapsed", "--jobs", "2", "-o", "{dir}/out/x"),
    ("convert", "--to", "collapsed", "--anonymize", "secret", "-o", "-"),
    ("top",),
    ("top", "--json"),
    ("top", "--format", "markdown"),
    ("top", "--format", "csv", "--max-unpacked", "1M"),
    ("report",),
    ("report", "--format", "json"),
    ("annotate", "--source"),
    ("annotate", "--assembly", "--json"),
    ("convert", "--to", "html", "--source", "--assembly", "-o", "{dir}/out/x"),
    ("script", "-F", "+srcline,+dsoff,+brstack"),
    ("info",),
    ("info", "--json"),
    ("info", "--format", "markdown", "--symbols"),
    ("info", "--format", "csv"),
    ("convert", "--to", "collapsed", "--max-unpacked", "1M", "-o", "{dir}/out/x"),
)
DIFFS = (("diff",), ("diff", "--format", "markdown"), ("diff", "--format", "csv"), ("diff", "--json"))
DUMP = ("dump", "-n", "300")
BUNDLE = ("bundle", "-o", "{dir}/out/x.tar.gz")
VIEW = ("view",)
EXPLAIN = ("explain", "--json")
INGEST = ("ingest_one",)
"""The work of a worker of ``fleet ingest`` on a recording, without the processes."""


@dataclass(frozen=True)
class Case:
    """One run: the files to lay out and the command line."""

    seed: Seed
    data: bytes
    """The damaged bytes, before ``seed.wrap``."""
    command: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The command line, with ``{dir}`` for the folder."""
        name, *rest = self.command
        if self.is_dataset:
            second = ["{dir}/" + datasets.FOLDER] if name == "diff" else []
            own = () if name.startswith("fleet") else ("--symfs", "{dir}")
            return (*name.split(), "{dir}/" + datasets.FOLDER, *second, *rest, *own)
        if self.command == INGEST:
            return (*INGEST, "{dir}/" + self.seed.file, "{dir}/out/x")
        recorded = "perf.data" in self.seed.beside and self.command != EXPLAIN
        source = "perf.data" if recorded else self.seed.file
        inputs = ["{dir}/" + source, *([str(CORPUS / "calls" / "perf.data")] if name == "diff" else [])]
        functions = ["*"] if name == "annotate" else []
        return (name, *functions, *inputs, *rest, *self._options())

    @property
    def is_dataset(self) -> bool:
        """Whether the input is a dataset."""
        return self.seed.file.startswith(datasets.FOLDER)

    def _options(self) -> tuple[str, ...]:
        """Return the seed's options that the command accepts; no object of this machine is ever read."""
        if self.command == DUMP:
            return ()
        if self.command == EXPLAIN:
            return ("--symfs", "{dir}")
        own = self.seed.words
        if self.command[0] in ("convert", "view", "bundle"):
            own = (*own, "--allow-empty")  # what is empty goes through the emitters, too
        if self.command == BUNDLE or self.command[0] == "annotate":
            own = tuple(word for word in own if word != "--no-symbols")
        is_settled = self.seed.kind == "text" or {"--symfs", "--no-symbols"} & set(own)  # texts refuse sources of names
        return own if is_settled else (*own, "--symfs", "{dir}")

    def lay_out(self, folder: Path) -> None:
        """Write all files below an empty folder."""
        for name in (OUTPUT, "home", "scratch"):
            (folder / name).mkdir()
        for name, data in (*self.seed.beside.items(), (self.seed.file, self.seed.wrap(self.data))):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@cache
def commands() -> tuple[tuple[str, ...], ...]:
    """Return command lines for every command and emitter."""
    formats = tuple(("convert", "--to", name, "-o", "{dir}/out/x") for name in FORMATS)
    return (*formats, *ONE_INPUT, *DIFFS, DUMP, BUNDLE, VIEW, EXPLAIN, INGEST)


def commands_of(seed: Seed) -> tuple[tuple[str, ...], ...]:
    """Return those that take this input: a dataset has its own."""
    return datasets.COMMANDS if seed.file.startswith(datasets.FOLDER) else commands()


def case(seeds: list[Seed], run: int, number: int) -> Case:
    """Return case ``number`` of run ``run``, always the same one."""
    chance = Random(f"{run}/{number}")
    kinds = sorted({seed.kind for seed in seeds})
    kind = kinds[number % len(kinds)]
    seed = chance.choice([seed for seed in seeds if seed.kind == kind])
    return Case(seed, mutated(seed.data, seed.mutations, chance), chance.choice(commands_of(seed)))
