"""Adds mappings for the code in jitdump files to the recording, before it is stitched.

Each function becomes a mapping of the dump file itself, at the file offset of its bytes, from its load time on. Code
that is replaced at the same address then needs no special case: a sample finds the mapping of its time, and the file
offset identifies the function. Programs announce a dump by mapping its first page executable (tools/perf/util/jitdump.c
jit_detect), which perf records.

Also finds and opens the jitdump files that a recording names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.abi import ClockId, CpuMode
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.untrusted_paths import RecordedFiles
from perf2x.base.columnar import Frozen, as_int64, as_uint64, flatnonzero, rows_by, searchsorted, zeros
from perf2x.base.columnar.hashing import secret_key
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files.sysroot import is_file, paths_in_root
from perf2x.base.mapping_names import is_jitdump
from perf2x.model.recording import Mmaps, Session, Sideband, further_mappings
from perf2x.symbolizer.sources.elf_symbols import counting_broken
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.parse_jitdump import JitCode, JitDump
    from perf2x.symbolizer.sources.symbol_source import Context


def _dump_paths(filename: str, pid: int, options: SymbolOptions, finder: Finder) -> Iterator[Path]:
    """Yield candidate paths of a dump, best first.

    They are in the directory that the user named, below the root of the process if it is alive, and the recorded path.
    """
    if options.perf_map_dir is not None:
        yield options.perf_map_dir / filename.rpartition("/")[2]
    if options.symfs is None and finder.search_paths.proc is not None and pid > 0:
        yield from paths_in_root(finder.search_paths.proc / str(pid) / "root", filename)
    if filename.startswith("/"):
        yield from finder.search_paths.on_disk(filename)


class JitdumpFiles(Struct):
    """Opens dumps and reads each file once, because several processes and names may refer to one file."""

    _options: SymbolOptions
    _finder: Finder
    _diagnostics: Diagnostics
    _recorded: RecordedFiles
    _by_inode: dict[tuple[int, int], JitDump | None] = {}

    @classmethod
    def of(cls, context: Context) -> JitdumpFiles:
        """Return the dumps for a context of symbol sources."""
        return cls(context.options, context.finder, context.diagnostics, context.recorded)

    def open(self, filename: str, pid: int) -> JitDump | None:
        """Return the dump recorded as ``filename``.

        Returns None if it is missing, unreadable (which is counted) or another machine's.

        If the recording was made elsewhere, a dump at the recorded path must name the recorded process.
        """
        for path in _dump_paths(filename, pid, self._options, self._finder):
            dump = self._read(path) if is_file(path) else None
            is_named = self._options.symfs is not None or path.parent == self._options.perf_map_dir
            if dump is not None and (is_named or not self._recorded.made_elsewhere or dump.pid == pid):
                return dump
        return None

    def _read(self, path: Path) -> JitDump | None:
        from perf2x.symbolizer.sources.parse_jitdump import read_jitdump

        try:
            status = path.stat()
        except OSError:
            return None
        key = status.st_dev, status.st_ino
        if key not in self._by_inode:
            self._by_inode[key] = None
            with counting_broken(self._diagnostics):
                self._by_inode[key] = read_jitdump(path)
        return self._by_inode[key]


_PROT_READ_EXEC = 5
MAX_SHARED_CODE = 1 << 18
"""Maximum number of functions to add for further processes that share a dump.

Forked workers share the dump of their parent.
"""
_INJECTED = re.compile(r"(?:^|/)jitted-(\d+)-\d+\.so$")


class _CodeMapping(Frozen):
    """A mapping to be added; ``marker`` is the row of the mapping that announced the dump."""

    marker: int
    time: int
    code: JitCode


class AnnouncedDump(Frozen):
    """A dump under the name by which a process announced it."""

    name: str
    dump: JitDump


def with_jitdump_mappings(
    sideband: Sideband, session: Session, options: SymbolOptions, diagnostics: Diagnostics, finder: Finder
) -> tuple[Sideband, list[AnnouncedDump]]:
    """Add a mapping for each piece of code in each dump that can be found; call this before stitching.

    Processes that went through ``perf inject --jit`` already have their mappings. Without dumps, ``sideband`` itself is
    returned. Also returns the dumps, in the order in which they were announced.
    """
    mmaps = sideband.mmaps
    markers = _markers(mmaps)
    if not markers:
        return sideband, []
    recorded = RecordedFiles(session, mmaps)
    added: list[_CodeMapping] = []
    dumps: list[AnnouncedDump] = []
    for row, dump in _open_dumps(markers, mmaps, JitdumpFiles(options, finder, diagnostics, recorded), diagnostics):
        added += _code_mappings(dump, row, mmaps, session, diagnostics)
        dumps.append(AnnouncedDump(mmaps.filename[row], dump))
    if added:
        sideband = replace(sideband, mmaps=_append(_anonymous_first(mmaps, added), added))
    return sideband, dumps


def _markers(mmaps: Mmaps) -> list[int]:
    """Return rows of the first mapping of each (process, dump)."""
    names = mmaps.filename[mmaps.filename.which(_INJECTED.search)]
    injected = {int(match.group(1)) for name in names if (match := _INJECTED.search(name))}
    found: dict[tuple[int, str], int] = {}
    for row in flatnonzero(mmaps.filename.which(is_jitdump)).tolist():
        if int(mmaps.pid[row]) not in injected:
            found.setdefault((int(mmaps.pid[row]), mmaps.filename[row]), row)
    return list(found.values())


def _open_dumps(
    markers: Sequence[int], mmaps: Mmaps, files: JitdumpFiles, diagnostics: Diagnostics
) -> Iterator[tuple[int, JitDump]]:
    """Yield (marker, dump) for each dump found.

    Dumps shared by too many processes are skipped, and counted.
    """
    opened: set[str] = set()
    shared = 0
    for row in markers:
        filename = mmaps.filename[row]
        dump = files.open(filename, int(mmaps.pid[row]))
        if dump is None:
            advice = (
                "JIT-compiled code has no names and cannot be unwound, because its jit-PID.dump was not found. Point "
                "to it with --perf-map-dir DIR, or run perf inject --jit on the recording machine."
            )
            diagnostics.add("jitdump_missing", advice, where=filename)
            continue
        if dump.name in opened:
            shared += len(dump.codes)
            if shared > MAX_SHARED_CODE:
                advice = "many processes share one dump of compiled code; in some of them its functions have no names."
                diagnostics.add("jitdump_shared", advice, where=filename)
                continue
        if dump.name not in opened:
            advice = (
                "programs that fork may write records twice, or in part; code that only these describe has no name."
            )
            diagnostics.add("jitdump_damaged", advice, dump.damaged, filename)
            advice = "lines of compiled code outside that code were left out; other lines appear in their place."
            diagnostics.add("jitdump_lines_outside", advice, dump.outside, filename)
        opened.add(dump.name)
        yield row, dump


def _code_mappings(
    dump: JitDump, marker: int, mmaps: Mmaps, session: Session, diagnostics: Diagnostics
) -> list[_CodeMapping]:
    """Return a mapping for each function, from its load on, or from the marker on if clocks are not comparable."""
    start = int(mmaps.time[marker])
    comparable = session.clock_id == ClockId.MONOTONIC and not dump.arch_timestamps
    if not comparable:
        advice = (
            "samples have the name of the last code at their address: the recording's clock is not that of the dump"
        )
        advice += "; the runtime counts ticks of the processor." if dump.arch_timestamps else "; record with -k mono."
        diagnostics.add("jitdump_replaced", advice, _replaced(dump.codes), mmaps.filename[marker])
    return [_CodeMapping(marker, max(code.time, start) if comparable else start, code) for code in dump.codes]


def _replaced(codes: Sequence[JitCode]) -> int:
    """Return the number of functions whose bytes overlap those of a function with another name."""
    count, widest = 0, None
    for code in sorted(codes, key=lambda code: (code.address, -code.size)):
        if widest is not None and code.address < widest.address + widest.size:
            count += code.name != widest.name
        if widest is None or code.address + code.size > widest.address + widest.size:
            widest = code
    return count


def _anonymous_first(mmaps: Mmaps, added: Sequence[_CodeMapping]) -> Mmaps:
    """Move the ``//anon`` mappings that contain code back to the time at which their dump was announced.

    A compiler may map memory after writing the code's record; that mapping must not hide the code. perf inject drops
    these mappings.
    """
    time, position = mmaps.time.copy(), mmaps.position.copy()
    anonymous = flatnonzero(mmaps.filename.which(lambda name: name.startswith("//anon")))
    by_process = {secret_key(pid & 0xFFFFFFFF): anonymous[rows] for pid, rows in rows_by(mmaps.pid[anonymous])}
    address = as_uint64([mapping.code.address for mapping in added])
    for marker, of_marker in rows_by(as_int64([mapping.marker for mapping in added])):
        rows = by_process.get(secret_key(int(mmaps.pid[marker]) & 0xFFFFFFFF), zeros(0))
        later = (mmaps.time[rows] > mmaps.time[marker]) | (mmaps.position[rows] > mmaps.position[marker])
        rows, code = rows[later], np.sort(address[of_marker])
        start, end = mmaps.start[rows], mmaps.start[rows] + mmaps.length[rows]
        rows = rows[searchsorted(code, start) < searchsorted(code, end)]
        time[rows], position[rows] = mmaps.time[marker], mmaps.position[marker]
    return replace(mmaps, time=time, position=position)


def _append(mmaps: Mmaps, added: Sequence[_CodeMapping]) -> Mmaps:
    """Return the table with an additional row for each function."""
    marker = as_int64([mapping.marker for mapping in added])
    facts = [(one.time, one.code.address, one.code.size, one.code.offset) for one in added]
    time, start, length, pgoff = as_uint64(facts).T.copy()
    return further_mappings(
        mmaps, prot=_PROT_READ_EXEC, mode=CpuMode.USER, time=time, position=mmaps.position[marker],
        pid=mmaps.pid[marker], tid=mmaps.tid[marker], start=start, length=length, pgoff=pgoff,
        filename=mmaps.filename[marker],
    )  # fmt: skip
