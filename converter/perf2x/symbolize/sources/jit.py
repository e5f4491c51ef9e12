"""Compiled code that jitdump files tell of: mappings for the stitcher before it starts, names for them afterwards.

A load is turned into a mapping of the dump file itself, at the offset of the code's bytes, from the time of the load
on. So code that is replaced at the same address needs no special case: the mapping of that moment is found, and its
file offset names the function. Programs announce a dump by mapping its first page executable
(tools/perf/util/jitdump.c jit_detect), which perf records.
"""

from __future__ import annotations

import bisect
import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.abi.uapi import CpuMode, SampleType
from perf2x.columnar.arrays import I64, U64, Bools
from perf2x.columnar.secret_keys import secret_key
from perf2x.columnar.unique import rows_by
from perf2x.debugfiles.finder import Finder
from perf2x.files.rooted_paths import is_file, resolve_in_root
from perf2x.symbolize.make_finder import make_finder
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.sources.contract import Context, Dso, DsoKind, Function, Symbols, nothing
from perf2x.symbolize.sources.elf_symbols import count_broken
from perf2x.symbolize.sources.jit_names import is_jitdump, jit_function
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.errors import ObjectError
from perf2x.tables.events import Mmaps, Session, Sideband

if TYPE_CHECKING:
    from perf2x.symbolize.sources.jitdump import JitCode, JitDump

CLOCK_MONOTONIC = 1
PROT_READ_EXEC = 5
SHARED_AT_MOST = 1 << 18
"""Pieces of code that processes have beside the one that came first; workers that were forked have their parent's."""
_INJECTED = re.compile(r"(?:^|/)jitted-(\d+)-\d+\.so$")


def dump_paths(filename: str, pid: int, options: SymbolOptions, finder: Finder) -> Iterator[Path]:
    """Where a dump may lie: the directory the user named, the process's own root while it lives, the recorded path."""
    if options.perf_map_dir is not None:
        yield options.perf_map_dir / filename.rpartition("/")[2]
    if options.symfs is None and finder.search_paths.proc is not None and pid > 0:
        yield from filter(None, [resolve_in_root(finder.search_paths.proc / str(pid) / "root", filename)])
    if filename.startswith("/"):
        yield from finder.search_paths.on_disk(filename)


class JitdumpFiles:
    """Opens jitdump files, reading each file once: any number of processes and names may lead to one."""

    def __init__(self, options: SymbolOptions, finder: Finder, diagnostics: Diagnostics) -> None:
        self._options, self._finder, self._diagnostics = options, finder, diagnostics
        self._read: dict[tuple[int, int], JitDump | None] = {}

    def open(self, filename: str, pid: int) -> JitDump | None:
        """The dump recorded as ``filename``; None when it is not there or not readable (which is counted)."""
        for path in dump_paths(filename, pid, self._options, self._finder):
            dump = self._at(path) if is_file(path) else None
            if dump is not None:
                return dump
        return None

    def _at(self, path: Path) -> JitDump | None:
        from perf2x.symbolize.sources.jitdump import read_jitdump

        try:
            status = path.stat()
        except OSError:
            return None
        key = status.st_dev, status.st_ino
        if key not in self._read:
            self._read[key] = None
            try:
                self._read[key] = read_jitdump(path)
            except ObjectError as error:
                count_broken(self._diagnostics, error)
        return self._read[key]


class _CodeMapping(Struct, frozen=True):
    """One mapping to be added; ``marker`` is the row of the mapping that announced the dump."""

    marker: int
    time: int
    code: JitCode


def with_jitdumps(
    sideband: Sideband, session: Session, options: SymbolOptions, diagnostics: Diagnostics, finder: Finder | None = None
) -> Sideband:
    """The side-band with a mapping for every piece of code in every dump that can be found; as it is without any.

    To be called before stitching. Processes that went through ``perf inject --jit`` have their mappings already.
    """
    mmaps = sideband.mmaps
    markers = _markers(mmaps)
    if not markers:
        return sideband
    finder = finder or make_finder(options, diagnostics)
    opened = JitdumpFiles(options, finder, diagnostics)
    loads: list[_CodeMapping] = []
    shown: set[str] = set()
    shared = 0
    dumps: list[tuple[str, JitDump]] = []
    for row in markers:
        dump = opened.open(mmaps.filename[row], int(mmaps.pid[row]))
        if dump is None:
            advice = "code of a just-in-time compiler has no names: its jit-PID.dump is gone (--perf-map-dir)."
            diagnostics.add("jitdump_missing", Severity.LOSS, advice, where=mmaps.filename[row])
            continue
        if dump.name in shown:
            shared += len(dump.codes)
            if shared > SHARED_AT_MOST:
                advice = "many processes name one dump of compiled code; in some of them its functions have no names."
                diagnostics.add("jitdump_shared", Severity.LOSS, advice, where=mmaps.filename[row])
                continue
        shown.add(dump.name)
        loads += _loads(dump, row, mmaps, session, diagnostics)
        dumps.append((mmaps.filename[row], dump))
    _provide_images(dumps, session, finder)
    return replace(sideband, mmaps=_with_code_mappings(_anonymous_first(mmaps, loads), loads)) if loads else sideband


def _provide_images(dumps: Sequence[tuple[str, JitDump]], session: Session, finder: Finder) -> None:
    """Let the unwinder find what runtimes say of their code; not where two processes have dumps of one name."""
    if not any(event.sample_type & SampleType.STACK_USER for event in session.events):
        return
    from perf2x.symbolize.sources.jit_image import unwinding_image

    times = Counter(name for name, _ in dumps)
    for name, dump in dumps:
        if times[name] == 1 and any(code.unwinding for code in dump.codes):
            with contextlib.suppress(OSError):
                image = unwinding_image(Path(dump.name).read_bytes(), dump.machine, dump.codes, dump.name)
                if image is not None:
                    finder.provide(name, image)


def _markers(mmaps: Mmaps) -> list[int]:
    """The first mapping of each (process, dump)."""
    injected = {int(match.group(1)) for name in mmaps.filename if (match := _INJECTED.search(name))}
    found: dict[tuple[int, str], int] = {}
    for row, name in enumerate(mmaps.filename):
        if is_jitdump(name) and int(mmaps.pid[row]) not in injected:
            found.setdefault((int(mmaps.pid[row]), name), row)
    return list(found.values())


def _loads(dump: JitDump, row: int, mmaps: Mmaps, session: Session, diagnostics: Diagnostics) -> list[_CodeMapping]:
    start = int(mmaps.time[row])
    comparable = session.clock_id == CLOCK_MONOTONIC and not dump.arch_timestamps
    if not comparable and dump.codes:
        advice = (
            "times of compiled code cannot be compared with the recording's; record with -k mono (perf record -k 1)."
        )
        diagnostics.add("jitdump_other_clock", Severity.GUESS, advice, where=mmaps.filename[row])
    return [_CodeMapping(row, max(code.time, start) if comparable else start, code) for code in dump.codes]


def _anonymous_first(mmaps: Mmaps, loads: Sequence[_CodeMapping]) -> Mmaps:
    """Memory that a compiler maps must not hide code whose load was told a moment earlier: such ``//anon`` mappings
    take effect when the dump was announced (perf inject leaves them out altogether).
    """
    time, position = mmaps.time.copy(), mmaps.position.copy()
    named = np.flatnonzero(np.array([name.startswith("//anon") for name in mmaps.filename], np.bool_))
    named_of = {secret_key(pid & 0xFFFFFFFF): named[rows] for pid, rows in rows_by(mmaps.pid[named])}
    address = np.array([load.code.address for load in loads], np.uint64)
    for marker, of_marker in rows_by(np.array([load.marker for load in loads], np.int64)):
        rows = named_of.get(secret_key(int(mmaps.pid[marker]) & 0xFFFFFFFF), np.zeros(0, np.int64))
        later = (mmaps.time[rows] > mmaps.time[marker]) | (mmaps.position[rows] > mmaps.position[marker])
        rows = rows[later]
        rows = rows[_holds_any(np.sort(address[of_marker]), mmaps.start[rows], mmaps.length[rows])]
        time[rows], position[rows] = mmaps.time[marker], mmaps.position[marker]
    return replace(mmaps, time=time, position=position)


def _holds_any(points: U64, start: U64, length: U64) -> Bools:
    held: Bools = np.searchsorted(points, start, "left") < np.searchsorted(points, start + length, "left")
    return held


def _with_code_mappings(mmaps: Mmaps, loads: Sequence[_CodeMapping]) -> Mmaps:
    """The table with one more row for every load, behind all others."""
    marker = np.array([load.marker for load in loads], np.int64)
    added: dict[str, Any] = {
        "time": np.array([load.time for load in loads], np.uint64),
        "position": mmaps.position[marker],
        "pid": mmaps.pid[marker],
        "tid": mmaps.tid[marker],
        "start": np.array([load.code.address for load in loads], np.uint64),
        "length": np.array([load.code.size for load in loads], np.uint64),
        "pgoff": np.array([load.code.offset for load in loads], np.uint64),
        "prot": np.full(len(loads), PROT_READ_EXEC, np.int32),
        "flags": np.zeros(len(loads), np.int32),
        "cpumode": np.full(len(loads), CpuMode.USER, np.uint8),
        "filename": [mmaps.filename[row] for row in marker.tolist()],
        "build_id": [b""] * len(loads),
        "is_data": np.zeros(len(loads), np.bool_),
        "file": np.zeros(len(loads), np.uint64),
    }
    columns = {column: getattr(mmaps, column) for column in mmaps.__struct_fields__}
    return Mmaps(**{name: _behind(value, added[name]) for name, value in columns.items()})


def _behind(column: Any, more: Any) -> Any:
    return [*column, *more] if isinstance(column, list) else np.concatenate([column, more])


class JitdumpSource:
    """Names and lines of code in dumps, by file offset."""

    order: ClassVar[int] = 30

    def __init__(self, context: Context) -> None:
        self._context = context
        self._dumps = JitdumpFiles(context.options, context.finder, context.diagnostics)
        self._pieces: dict[str, _CodeByOffset] = {}

    def covers(self, dso: Dso) -> bool:
        """Mappings of a dump, made by ``with_jitdumps``."""
        return dso.kind is DsoKind.FILE and is_jitdump(dso.name)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Functions by offset into the dump."""
        dump = self._dumps.open(dso.name, dso.pid)
        if dump is None:
            return nothing(len(address), "the dump is not there")
        pieces = self._pieces.get(dump.name) or self._pieces.setdefault(dump.name, _CodeByOffset(dump))
        return _answer(pieces.codes, pieces.find(address), address, self._context)


class _CodeByOffset:
    """Code of a dump by file offset."""

    def __init__(self, dump: JitDump) -> None:
        by_offset = {code.offset: code for code in reversed(dump.codes)}
        self.codes = sorted(by_offset.values(), key=lambda code: code.offset)
        self._start = np.array([code.offset for code in self.codes], np.uint64)
        self._size = np.array([code.size for code in self.codes] or [0], np.uint64)

    def find(self, address: U64) -> I64:
        """(n,) which piece holds each address, −1 for none."""
        row = np.searchsorted(self._start, address, "right").astype(np.int64) - 1
        start = self._start[np.maximum(row, 0)] if len(self._start) else address
        inside = (row >= 0) & (address - start < self._size[row])
        return np.where(inside, row, -1)


def _answer(codes: Sequence[JitCode], row: Any, address: U64, context: Context) -> Symbols:
    functions: dict[Function, int] = {}
    index, line = [], []
    known = row >= 0
    for at, offset in zip(row[known].tolist(), address[known].tolist(), strict=True):
        function, number = _function_and_line(codes[at], offset)
        index.append(functions.setdefault(function, len(functions)))
        line.append(number)
    offsets = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    return Symbols(offsets, np.array(index, np.int32), np.array(line, np.int32), tuple(functions))


def _function_and_line(code: JitCode, offset: int) -> tuple[Function, int]:
    """The function, and the line that the offset belongs to."""
    function = jit_function(code.name)
    if not code.lines:
        return function, 0
    target = code.first + offset - code.offset
    at = max(bisect.bisect_right(code.lines, target, key=lambda line: line.address) - 1, 0)
    filename = function.filename or code.lines[0].filename
    return replace(function, filename=filename), min(code.lines[at].line, 2**31 - 1)
