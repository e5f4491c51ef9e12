"""Finds the jitdump files that a recording names, and adds mappings of their code before the recording is stitched.

Each function becomes a mapping of the dump file, at the file offset of its bytes, from its load time on. So code that
is replaced at the same address needs no special case. A *marker* is the executable mapping of the first page by which a
program announces its dump (tools/perf/util/jitdump.c jit_detect).
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
from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck
from perf2x.base.columnar import Frozen, as_int64, as_uint64, flatnonzero, rows_by, searchsorted, zeros
from perf2x.base.columnar.hashing import salted_key
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files.sysroot import is_file, paths_in_root
from perf2x.base.mapping_names import is_jitdump
from perf2x.model.recording import Mmaps, Session, Sideband, append_mappings
from perf2x.symbolizer.sources.elf_symbols import counting_unreadable
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.parse_jitdump import JitCode, JitDump
    from perf2x.symbolizer.sources.symbol_source import Context


def _dump_paths(filename: str, pid: int, options: SymbolOptions, finder: Finder) -> Iterator[Path]:
    if options.perf_map_dir is not None:
        yield options.perf_map_dir / filename.rpartition("/")[2]
    if options.symfs is None and finder.search_paths.proc is not None and pid > 0:
        yield from paths_in_root(finder.search_paths.proc / str(pid) / "root", filename)
    if filename.startswith("/"):
        yield from finder.search_paths.local_paths(filename)


class JitdumpFiles(Struct):
    """Opens jitdumps, each once."""

    _options: SymbolOptions
    _finder: Finder
    _diagnostics: Diagnostics
    _recorded: RecordedFileCheck
    _by_inode: dict[tuple[int, int], JitDump | None] = {}
    """Dumps by device and inode number; None for unreadable files."""

    @classmethod
    def of(cls, context: Context) -> JitdumpFiles:
        """Make an instance with a context's options and services."""
        return cls(context.options, context.finder, context.diagnostics, context.recorded)

    def open(self, filename: str, pid: int) -> JitDump | None:
        """Return the dump that process ``pid`` mapped as ``filename``; None if it was not found.

        Unreadable files are counted and skipped. If the recording was made elsewhere, a dump outside the user's
        directories must have the recorded process id.
        """
        for path in _dump_paths(filename, pid, self._options, self._finder):
            dump = self._read(path) if is_file(path) else None
            is_in_named_folder = self._options.symfs is not None or path.parent == self._options.perf_map_dir
            if dump is not None and (is_in_named_folder or not self._recorded.was_made_elsewhere or dump.pid == pid):
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
            with counting_unreadable(self._diagnostics):
                self._by_inode[key] = read_jitdump(path)
        return self._by_inode[key]


_PROT_READ_EXEC = 5
MAX_SHARED_CODE = 1 << 18
"""Maximum number of mappings to add in all, apart from those for the first process of each dump.

Forked workers share the dump of their parent, and each needs a mapping for each function.
"""
# Name of an ELF file that ``perf inject --jit`` wrote for one function; the group is the process id.
_INJECTED = re.compile(r"(?:^|/)jitted-(\d+)-\d+\.so$")


class _CodeMapping(Frozen):
    marker: int
    time: int
    code: JitCode


class AnnouncedDump(Frozen):
    """A dump, and the file name under which a process announced it."""

    name: str
    dump: JitDump


def with_jitdump_mappings(
    sideband: Sideband, session: Session, options: SymbolOptions, diagnostics: Diagnostics, finder: Finder
) -> tuple[Sideband, list[AnnouncedDump]]:
    """Add a mapping for each function in all dumps that can be found, before stitching.

    Skips processes whose dumps ``perf inject --jit`` has converted. Also returns the dumps in the order in which they
    were announced.
    """
    mmaps = sideband.mmaps
    markers = _markers(mmaps)
    if not markers:
        return sideband, []
    recorded = RecordedFileCheck(session, mmaps)
    added: list[_CodeMapping] = []
    dumps: list[AnnouncedDump] = []
    for marker, dump in _open_dumps(markers, mmaps, JitdumpFiles(options, finder, diagnostics, recorded), diagnostics):
        added += _code_mappings(dump, marker, mmaps, session, diagnostics)
        dumps.append(AnnouncedDump(mmaps.filename[marker], dump))
    if added:
        sideband = replace(sideband, mmaps=_append(_anonymous_at_marker(mmaps, added), added))
    return sideband, dumps


def _markers(mmaps: Mmaps) -> list[int]:
    names = mmaps.filename[mmaps.filename.which(_INJECTED.search)]
    converted_pids = {int(match.group(1)) for name in names if (match := _INJECTED.search(name))}
    first_rows: dict[tuple[int, str], int] = {}
    for row in flatnonzero(mmaps.filename.which(is_jitdump)).tolist():
        if int(mmaps.pid[row]) not in converted_pids:
            first_rows.setdefault((int(mmaps.pid[row]), mmaps.filename[row]), row)
    return list(first_rows.values())


def _open_dumps(
    markers: Sequence[int], mmaps: Mmaps, files: JitdumpFiles, diagnostics: Diagnostics
) -> Iterator[tuple[int, JitDump]]:
    """Yield (marker, dump); report missing dumps, and those beyond ``MAX_SHARED_CODE``."""
    opened: set[str] = set()
    shared_count = 0
    for marker in markers:
        filename = mmaps.filename[marker]
        dump = files.open(filename, int(mmaps.pid[marker]))
        if dump is None:
            advice = (
                "JIT-compiled code has no names and cannot be unwound, because its jit-PID.dump was not found. Point "
                "to it with --perf-map-dir DIR, or run perf inject --jit on the recording machine."
            )
            diagnostics.add("jitdump_missing", advice, where=filename)
            continue
        if dump.name in opened:
            shared_count += len(dump.codes)
            if shared_count > MAX_SHARED_CODE:
                advice = "many processes share one dump of compiled code; in some of them its functions have no names."
                diagnostics.add("jitdump_shared", advice, where=filename)
                continue
        if dump.name not in opened:
            advice = (
                "programs that fork may write records twice, or in part; code that only these describe has no name."
            )
            diagnostics.add("jitdump_damaged", advice, dump.damaged_runs, filename)
            advice = "lines of compiled code outside that code were left out; other lines appear in their place."
            diagnostics.add("jitdump_lines_outside", advice, dump.lines_outside, filename)
        opened.add(dump.name)
        yield marker, dump


def _code_mappings(
    dump: JitDump, marker: int, mmaps: Mmaps, session: Session, diagnostics: Diagnostics
) -> list[_CodeMapping]:
    """Return a mapping for each function of a dump, from the function's load time on.

    If perf and the runtime used different clocks, all mappings begin with the marker.
    """
    marker_time = int(mmaps.time[marker])
    is_same_clock = session.clock_id == ClockId.MONOTONIC and not dump.arch_timestamps
    if not is_same_clock:
        advice = (
            "samples have the name of the last code at their address: the recording's clock is not that of the dump"
        )
        advice += "; the runtime counts ticks of the processor." if dump.arch_timestamps else "; record with -k mono."
        diagnostics.add("jitdump_replaced", advice, _replaced_count(dump.codes), mmaps.filename[marker])
    return [
        _CodeMapping(marker, max(code.time, marker_time) if is_same_clock else marker_time, code) for code in dump.codes
    ]


def _replaced_count(codes: Sequence[JitCode]) -> int:
    """Return the number of functions that overlap the farthest-reaching one before them, if the names differ."""
    count, reaching_farthest = 0, None
    for code in sorted(codes, key=lambda code: (code.address, -code.size)):
        if reaching_farthest is not None and code.address < reaching_farthest.address + reaching_farthest.size:
            count += code.name != reaching_farthest.name
        if reaching_farthest is None or code.address + code.size > reaching_farthest.address + reaching_farthest.size:
            reaching_farthest = code
    return count


def _anonymous_at_marker(mmaps: Mmaps, added: Sequence[_CodeMapping]) -> Mmaps:
    """Move ``//anon`` mappings that would hide code to the time and position of their dump's marker.

    A compiler may map memory after it has written the record of the code in it.
    """
    time, position = mmaps.time.copy(), mmaps.position.copy()
    anonymous = flatnonzero(mmaps.filename.which(lambda name: name.startswith("//anon")))
    # salted, so that no file can make keys collide
    anonymous_by_pid = {salted_key(pid & 0xFFFFFFFF): anonymous[rows] for pid, rows in rows_by(mmaps.pid[anonymous])}
    address = as_uint64([mapping.code.address for mapping in added])
    for marker, added_rows in rows_by(as_int64([mapping.marker for mapping in added])):
        rows = anonymous_by_pid.get(salted_key(int(mmaps.pid[marker]) & 0xFFFFFFFF), zeros(0))
        is_later = (mmaps.time[rows] > mmaps.time[marker]) | (mmaps.position[rows] > mmaps.position[marker])
        rows, code_start = rows[is_later], np.sort(address[added_rows])
        start, end = mmaps.start[rows], mmaps.start[rows] + mmaps.length[rows]
        rows = rows[searchsorted(code_start, start) < searchsorted(code_start, end)]
        time[rows], position[rows] = mmaps.time[marker], mmaps.position[marker]
    return replace(mmaps, time=time, position=position)


def _append(mmaps: Mmaps, added: Sequence[_CodeMapping]) -> Mmaps:
    marker = as_int64([mapping.marker for mapping in added])
    rows = [(mapping.time, mapping.code.address, mapping.code.size, mapping.code.offset) for mapping in added]
    time, start, length, pgoff = as_uint64(rows).T.copy()
    return append_mappings(
        mmaps, prot=_PROT_READ_EXEC, mode=CpuMode.USER, time=time, position=mmaps.position[marker],
        pid=mmaps.pid[marker], tid=mmaps.tid[marker], start=start, length=length, pgoff=pgoff,
        filename=mmaps.filename[marker],
    )  # fmt: skip
