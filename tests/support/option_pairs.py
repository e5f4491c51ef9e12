"""Every option of ``perf2x convert`` with every output format: honoured, refused by name, or harmless because.

``python -m tests.support.option_pairs`` prints the table. Each option has a case here: words, and a small recording on
which they must show in what a format writes. An option without a case is an error, so that a new one is decided.
"""

import gzip
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.registry import EMITTERS, load_emitter
from perf2x.model.format_features import CodeSettings
from tests.forge import Branch, Comm, Event, LostSamples, Mmap2, Record, Sample, Session, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.features import Features
from tests.support import rich_recording
from tests.support.command import perf2x
from tests.support.recordings import CORPUS, ROOT
from tests.support.rich_recording import MS
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.support.traced_program import FOLDER, NAMES, OFFSET, SIZE, START, samples, spe_recording, taken

FORMATS = (*entry_points_by_name(EMITTERS),)
CODE = tuple(
    name for name in entry_points_by_name(EMITTERS) if load_emitter(name)().needs.of(CodeSettings).code is not None
)
LISTED = ROOT / "tests" / "unit" / "features" / "annotate" / "data"


@dataclass(frozen=True)
class Case:
    """Words of an option, and the recording that they are tried on."""

    words: tuple[str, ...]
    on: str = "rich"
    base: tuple[str, ...] = ()
    """Words that the run without the option has, too."""
    nameless: bool = False
    """Without the recording's own --symfs and --kallsyms."""
    says: bool = False
    """The option is about messages and exit codes, not about what is written."""
    instead: dict[str, "Case"] = field(default_factory=dict, hash=False)
    """Other cases for some formats."""


def _at(second: float) -> str:
    """A time of day of the rich recording, in this machine's zone."""
    return datetime.fromtimestamp(1e9 + second).astimezone().strftime("%H:%M:%S.%f")


CASES: dict[str, tuple[Case, ...]] = {
    "set_texts": (
        Case(("--set", "nothing=1")),
        Case(("--set", "inline=off"), on="listed"),
        Case(("--set", "max_samples=3")),
        Case(("--set", "min_duration=5000")),
        Case(("--set", "max_events=1"), says=True),
        Case(("--set", "per_cpu=yes")),
        Case(("--set", "counters=yes"), instead={"firefox": Case(("--set", "counters=no"))}),
        *(Case(("--set", f"{name}=yes")) for name in ("with_pid", "with_tid", "annotate_all")),
    ),
    "tags": (Case(("--tag", "service=web")),),
    "start_time": (Case(("--start-time", "2026-11-21T10:00:05Z"), on="deferred"),),
    "events": (
        Case(("--event", "page-faults"), instead=dict.fromkeys(CODE, Case(("--event", "instructions")))),
        Case(("--event", "all"), base=("--value", "samples"), instead={
            name: Case(("--event", "all")) for name in FORMATS if name != "collapsed"
        }),
    ),
    "itrace": (Case(("--itrace", "M"), on="spe"),),
    "pids": (Case(("--pid", "200")),),
    "tids": (Case(("--tid", "101")),),
    "comms": (Case(("--comm", "dbase")),),
    "cpus": (Case(("--cpu", "1")),),
    "dsos": (Case(("--dso", "libzorro.so")),),
    "symbols": (Case(("--symbol", "vfs_read")),),
    "times": (Case(("--time", "0.012,0.015")),),
    "wall_times": (Case(("--time-wall", f"{_at(0.012)},{_at(0.015)}")),),
    "parallelism": (Case(("--parallelism", "1")),),
    "ignore": (Case(("--ignore", "vfs_read")),),
    "focus": (Case(("--focus", "vfs_read")),),
    "skip_after": (Case(("--skip-after", "vfs_read")),),
    "hide": (Case(("--hide", "vfs_read")),),
    "keep": (Case(("--keep", "kernel")),),
    "collapse": (Case(("--collapse", "kernel")),),
    "rename": (Case(("--rename", "vfs_=fs_")),),
    "max_stack": (Case(("--max-stack", "1")),),
    "frames": (Case(("--frames", "user")), Case(("--frames", "kernel"))),
    "no_idle": (Case(("--no-idle",)),),
    "allow_empty": (Case(("--allow-empty",), on="empty", says=True),),
    "root": (Case(("--root", "thread")),),
    "merge_threads": (Case(("--merge-threads",)),),
    "fold_recursion": (Case(("--fold-recursion",)),),
    "off_cpu": (Case(("--off-cpu", "apart")),),
    "anonymize": (Case(("--anonymize", "s3cret")),),
    "value": tuple(Case(("--value", value)) for value in ("latency", "weight", "mispredicts", "samples")),
    "kernel_suffix": (Case(("--kernel-suffix",)),),
    "label": (Case(("--label", "pid")),),
    "sample_types": (Case(("--sample-types", "compat"), instead={
        "otlp": Case(("--sample-types", "identifiers")),
    }),),
    "reader": (Case(("--for", "go-pgo")),),
    "object": (Case(("--object", "hot-clang")),),
    "title": (Case(("--title", "mine")),),
    "columns": (Case(("--column", "all")),),
    "fields": (Case(("-F", "ip,sym")),),
    "ns": (Case(("--ns",)),),
    "hide_call_graph": (Case(("-G",)),),
    "branch_filter": (Case(("--branch-filter", "call"), base=("-F", "brstack")),),
    "per_event": (Case(("--per-event",)),),
    "as_recorded": (Case(("--source",), on="listed"),),
    "source_dirs": (Case(("--source-dir", str(LISTED)), on="listed"),),
    "assembly": (Case(("--assembly",), on="listed"),),
    "syntax": (Case(("--syntax", "intel")), Case(("--syntax", "intel"), on="listed", base=("--assembly",))),
    "around": (Case(("--around", "1")), Case(("--around", "1"), on="listed", base=("--source-dir", str(LISTED)))),
    "hottest": (Case(("--hottest", "1")), Case(("--hottest", "1"), on="listed", base=("--source",))),
    "deferred_missing": (Case(("--deferred-missing", "drop"), on="missing"),),
    "stitch_lbr": (Case(("--stitch-lbr",), on="lbr"),),
    "merge_callchains": (Case(("--no-merge-callchains",), on="deferred"),),
    "jobs": (Case(("--jobs", "2")),),
    "symfs": (Case(("--symfs", "symfs"), nameless=True, instead={
        **dict.fromkeys(CODE, Case(("--symfs", "code"), nameless=True)),
    }),),
    "kallsyms": (Case(("--kallsyms", "kallsyms"), nameless=True),),
    "vmlinux": (Case(("--vmlinux", "vmlinux"), nameless=True),),
    "debug_dirs": (Case(("--debug-dir", "debug"), nameless=True, instead=dict.fromkeys(
        CODE, Case(("--debug-dir", "code"), nameless=True)
    )),),
    "buildid_dir": (Case(("--buildid-dir", "buildid"), on="deferred", nameless=True),),
    "perf_map_dir": (Case(("--perf-map-dir", str(CORPUS / "perf_map")), on="perf_map", nameless=True),),
    "debuginfod_urls": (Case(("--debuginfod", "http://localhost:1"), nameless=True),),
    "archives": (Case(("--archive", "archive.tar.gz"), on="deferred", nameless=True),),
    "allow_mismatch": (Case(("--allow-build-id-mismatch",), instead=dict.fromkeys(
        CODE, Case(("--allow-build-id-mismatch",), base=("--object", "hot-old"))
    )),),
    "names": (Case(("--names", "full")),),
    "inline": (Case(("--no-inline",), on="listed"),),
    "no_symbols": (Case(("--no-symbols",)),),
    "max_unpacked": (Case(("--max-unpacked", "1K"), on="packed", says=True),),
    "fail_if": (
        Case(("--fail-if", "lost=0"), says=True),
        Case(("--fail-if", "unresolved=0"), says=True),
        Case(("--fail-if", "missing-user=0"), on="missing", says=True),
    ),
    "strict": (Case(("--strict",), says=True),),
    "stats": (Case(("--stats", "json"), says=True),),
    "profile_stages": (Case(("--profile-stages",), says=True),),
    "quiet": (Case(("--quiet",), says=True),),
    "verbose": (Case(("--verbose",), says=True),),
}  # fmt: skip
THREADS = "74f2b097e7caf2f4e9e70170b4809db381815f32"
"""Build id of the program in examples/deferred."""
NO_PAIRS = {
    "to": "it is the format",
    "output": "it names the file",
}
"""Options that are no pair with a format."""

REFUSED = (
    "cannot take|has no option|there is no option|needs code to show|leaves out|is not in this recording"
    "|chooses recordings and samples of|is a dataset|has sums"
)
HARMLESS: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (FORMATS, ("--jobs",), "results are the same, however many processes make them"),
    (FORMATS, ("--debuginfod",), "another place of objects, as --debug-dir: tests/unit/base/binaries/find"),
    (CODE, ("--kallsyms", "--vmlinux", "--perf-map-dir"), "they count the code of a program's file"),
    (CODE, ("--no-idle",), "the idle task runs no code of programs"),
    (("bolt",), ("--no-symbols",), "it has addresses alone"),
    (("perf-script",), ("--no-inline",), "it prints no inlined frames, as perf script --no-inline"),
    (("callgrind",), ("--fold-recursion",), "calls of functions that are in the stack already are left out"),
)
"""(formats, words of options, why nothing changes)."""


class Place:
    """A folder with all recordings of the cases."""

    harmless = HARMLESS

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[tuple[str, ...], tuple[str, str, bytes]] = {}

    def inputs(self, on: str) -> tuple[str, ...]:
        """A case's recording, and the options of its names."""
        found: tuple[str, ...] = getattr(self, on)
        return found

    @cached_property
    def rich(self) -> tuple[str, ...]:
        rich_recording.write(self.folder)
        self._write_sources_of_names()
        return ("perf.data", "--symfs", "symfs", "--kallsyms", "kallsyms")

    def _write_sources_of_names(self) -> None:
        """Write ``vmlinux``, ``debug``, ``buildid`` and ``archive.tar.gz``."""
        symbols = symbol_sections([TinySymbol("vfs_read", rich_recording.KERNEL + 0x200, 0x100)], 2)
        text = TinySection(".text", bytes(0x1000), rich_recording.KERNEL, flags=6)
        (self.folder / "vmlinux").write_bytes(tiny_elf([text, *symbols]))
        shutil.copytree(self.folder / "symfs", self.folder / "debug")
        entry = self.folder / "buildid/.build-id" / THREADS[:2] / THREADS[2:]
        entry.mkdir(parents=True)
        shutil.copy(ROOT / "examples/deferred/symfs/t/threads", entry / "elf")
        with tarfile.open(self.folder / "archive.tar.gz", "w:gz") as packed:
            packed.add(entry, f"t/threads/{THREADS}")

    @cached_property
    def code(self) -> tuple[str, ...]:
        (self.folder / "code").mkdir()
        (self.folder / "code/perf.data").write_bytes(code_recording())
        for name in NAMES:
            (self.folder / "code/src").mkdir(exist_ok=True)
            shutil.copy(FOLDER / name, self.folder / "code/src" / name)
        shutil.copy(FOLDER / "hot-gcc", self.folder / "code/src/hot-old")
        return ("code/perf.data", "--symfs", "code")

    @cached_property
    def spe(self) -> tuple[str, ...]:
        (self.folder / "spe/src").mkdir(parents=True)
        (self.folder / "spe/perf.data").write_bytes(spe_recording("hot-gcc"))
        shutil.copy(FOLDER / "hot-gcc", self.folder / "spe/src/hot-gcc")
        return ("spe/perf.data", "--symfs", "spe")

    @cached_property
    def deferred(self) -> tuple[str, ...]:
        here, _ = ROOT / "examples/deferred", self.rich  # whose folder has the sources of names
        return (str(here / "perf.data"), "--symfs", str(here / "symfs"), "--kallsyms", str(here / "kallsyms.xz"))

    @cached_property
    def listed(self) -> tuple[str, ...]:
        return (str(LISTED / "inlines.data"), "--symfs", str(LISTED))

    @cached_property
    def missing(self) -> tuple[str, ...]:
        return _of_corpus("task_end")

    @cached_property
    def perf_map(self) -> tuple[str, ...]:
        return _of_corpus("perf_map")

    @cached_property
    def unwind(self) -> tuple[str, ...]:
        return _of_corpus("unwind")

    @cached_property
    def dataset(self) -> tuple[str, ...]:
        assert perf2x("fleet", "ingest", self.rich[0], "-o", "dataset", "--timeline").code == 0
        return ("dataset", *self.rich[1:])

    @cached_property
    def empty(self) -> tuple[str, ...]:
        (self.folder / "empty.data").write_bytes(write_file(Session((Event(),)), [Comm(pid=1, tid=1, comm="idle")]))
        return ("empty.data",)

    @cached_property
    def packed(self) -> tuple[str, ...]:
        (self.folder / "perf.data.gz").write_bytes(gzip.compress((self.folder / self.rich[0]).read_bytes(), mtime=0))
        return ("perf.data.gz", *self.rich[1:])

    @cached_property
    def lbr(self) -> tuple[str, ...]:
        code = b"\x90" * 0x400
        symbols = [TinySymbol(f"call_{row}", 0x1000 + 0x100 * row, 0x100) for row in range(4)]
        raw = tiny_elf([TinySection(".text", code, 0x1000, flags=6), *symbol_sections(symbols, 2)])
        (self.folder / "lbr/bin").mkdir(parents=True)
        (self.folder / "lbr/bin/low").write_bytes(raw)
        (self.folder / "lbr.data").write_bytes(lbr_recording(raw.index(code)))
        return ("lbr.data", "--symfs", "lbr")

    def result(self, name: str, words: tuple[str, ...]) -> tuple[str, str, bytes]:
        """Standard error in one line with the exit code, standard output, and the bytes of all files written."""
        if (name, *words) in self._known:
            return self._known[name, *words]
        with TemporaryDirectory(dir=self.folder) as out:
            ran = perf2x("convert", *words, "-t", name, "-o", os.path.relpath(f"{out}/x", self.folder))
            said = f"{ran.code} {ran.said}".replace(Path(out).name, "out")
            files = sorted(path for path in Path(out).rglob("*") if path.is_file())
            content = b"".join(str(path.relative_to(out)).encode() + path.read_bytes() for path in files)
        self._known[name, *words] = said, ran.out, content
        return self._known[name, *words]


def _of_corpus(name: str) -> tuple[str, ...]:
    common = CORPUS / "common"
    return (
        str(CORPUS / name / "perf.data"),
        "--symfs",
        str(common / "symfs"),
        "--kallsyms",
        str(common / "kallsyms.xz"),
    )


def code_recording() -> bytes:
    """Branches of two programs that ran in two processes, one with two threads, at the times of the rich recording."""
    kind = k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CPU | k.PERIOD | k.BRANCH_STACK
    clocked = {"clockid": 1, "flags": frozenset({"sample_id_all", "use_clockid"})}
    events = tuple(
        Event(name, 0, row, 1, kind, branch_sample_type=9, ids=(row + 1,), **clocked)  # type: ignore[arg-type]
        for row, name in enumerate(("cycles", "instructions"))
    )
    records: list[Record] = [LostSamples(lost=3, stamp=Stamp(time=2))]
    for pid, name in ((100, "hot-gcc"), (200, "hot-clang"), (300, "hot-old")):
        records.append(Comm(pid=pid, tid=pid, comm="hot" if pid == 100 else "dbase", stamp=Stamp(time=1)))
        build_id = {"build_id": bytes(range(20))} if pid == 300 else {}
        records.append(
            Mmap2(pid=pid, tid=pid, addr=START, len=SIZE, pgoff=OFFSET, filename=f"/src/{name}", misc=2, **build_id)
        )
    for pid, name, ever in ((100, "hot-gcc", 1), (200, "hot-clang", 2), (300, "hot-gcc", 20)):
        for row, one in enumerate(samples(taken(name))[::ever]):
            assert isinstance(one, Sample)
            where = {"pid": pid, "tid": pid + row % 2, "cpu": row % 3, "time": (10 + row % 12) * MS + row}
            records.append(replace(one, event=row % 2, id=row % 2 + 1, **where))  # type: ignore[arg-type]
    features = Features(arch="x86_64", os_release="6.18.0", version="7.2", clock=(1, 10**18, 0))
    return write_file(Session(events=events, features=features), records)


def lbr_recording(offset: int) -> bytes:
    """Two call stacks of branch records, of which the second one is cut at its outer end."""
    kind = k.IP | k.TID | k.TIME | k.CPU | k.PERIOD | k.CALLCHAIN | k.BRANCH_STACK
    event = Event(name="cycles", type=0, sample_type=kind, branch_sample_type=1 << 11 | 1 << 0 | k.BRANCH_HW_INDEX)
    calls = [Branch(0x55, 0x100), Branch(0x105, 0x200), Branch(0x205, 0x300)]
    chains = ((0x210, 10, (calls[1], calls[0]), 1), (0x310, 20, (calls[2], calls[1]), 0))
    rows = [
        Sample(ip=ip, time=time, chain=(k.CONTEXT_USER, ip), branches=taken, hw_index=index)
        for ip, time, taken, index in chains
    ]
    low = Mmap2(pid=1, tid=1, addr=0, len=0x400, pgoff=offset, filename="/bin/low", stamp=Stamp(pid=1, tid=1, time=1))
    caps = (1).to_bytes(4, "little") + b"".join(
        len(one).to_bytes(4, "little") + one for one in (b"branches\0".ljust(64, b"\0"), b"2\0".ljust(64, b"\0"))
    )
    return write_file(Session(events=(event,), features=Features(extra={28: caps})), [low, *rows])


def is_named(case: Case, said: str) -> bool:
    """Whether a text names one of the options of a case."""
    return any(re.search(rf"(?<!\w){re.escape(word)}(?![\w-])", said) for word in (*case.words, *case.base[:1]))


def verdict(place: Place, name: str, case: Case) -> str:
    """Return the outcome of a case with a format: honoured, refused, harmless because …, or DROPPED."""
    case = case.instead.get(name, case)
    on = "code" if case.on == "rich" and name in CODE else case.on
    source, *names = place.inputs(on)
    base = (source, *(() if case.nameless else names), *case.base)
    said, out, content = place.result(name, (*base, *case.words))
    if is_named(case, said) and re.fullmatch(rf"2 perf2x: .*({REFUSED}).*", said):
        return "refused: " + said.removeprefix("2 perf2x: ")
    before = place.result(name, base)
    if (content and content != before[2]) or (case.says and (said, out) != before[:2]):
        return "honoured"
    why = (why for formats, words, why in place.harmless if name in formats and case.words[0] in words)
    return next((f"harmless: {one}" for one in why), f"DROPPED: {said}")


def pairs(place: Place, formats: tuple[str, ...] = FORMATS) -> Iterator[tuple[str, str, str]]:
    """Yield (format, words, verdict) of all pairs."""
    for name in formats:
        for cases in CASES.values():
            for case in cases:
                yield name, " ".join((*case.base, *case.words)), verdict(place, name, case)


def print_table(rows_in: Callable[[Path], Iterable[tuple[str, str, str]]]) -> None:
    """Print rows of (name, words, verdict), worked out in an empty folder."""
    with TemporaryDirectory() as folder, chdir(folder):
        for name, words, found in rows_in(Path(folder)):
            print(f"{name:<11}{words.replace(str(ROOT), '.'):<50}{found}", flush=True)


if __name__ == "__main__":
    print_table(lambda folder: pairs(Place(folder), tuple(sys.argv[1:]) or FORMATS))
