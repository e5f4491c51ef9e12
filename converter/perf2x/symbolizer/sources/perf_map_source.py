"""Names of JIT-compiled code from /tmp/perf-PID.map, one line per function: ``START SIZE NAME``.

Source of truth: tools/perf/Documentation/jit-interface.txt, tools/perf/util/symbol.c dso__load_perf_map and
dso__find_perf_map. The file has no times: if code was replaced, the last entry wins.

Files of processes in containers are named after the process id in the container: tools/perf/util/map.c map__new and
tools/perf/util/symbol.c dso__find_perf_map read that id from /proc, which fails once the process is gone. A recording
does not contain the id, but it lists the processes in PID namespaces of their own (PERF_RECORD_NAMESPACES), and the
addresses in a map show which process it belongs to.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from perf2x.base.columnar import (
    I64,
    U64,
    Frozen,
    as_uint64,
    flatnonzero,
    minus_ones,
    searchsorted,
    sum_of,
    unique_known,
)
from perf2x.base.columnar.hashing import secret_key
from perf2x.base.files.read_file import read_object_file
from perf2x.base.files.sysroot import PERF_MAP_DIR, host_path, is_file, paths_in_root, resolve_in_root
from perf2x.base.files.temporary import shown_name
from perf2x.model.recording import Namespaces
from perf2x.symbolizer.sources.elf_symbols import counting_broken
from perf2x.symbolizer.sources.jit_functions import jit_function
from perf2x.symbolizer.sources.symbol_source import (
    BuiltInSource,
    Context,
    Dso,
    DsoKind,
    Symbols,
    no_symbols,
    symbols_from_functions,
)

_PID_LINK, _MOUNT_LINK = 3, 5
"""Indices in PERF_RECORD_NAMESPACES: include/uapi/linux/perf_event.h PID_NS_INDEX, MNT_NS_INDEX."""
FIRST_PID_NAMESPACE = 0xEFFFFFFC
"""Inode number of the initial PID namespace, on every machine: include/linux/proc_ns.h PROC_PID_INIT_INO."""
_MAX_MAPS = 64
"""Number of maps to try in a directory, newest first; /tmp may contain years of maps."""


class ProcessNamespaces:
    """The last recorded namespaces of each process, by their inode numbers in nsfs."""

    def __init__(self, namespaces: Namespaces | None) -> None:
        self._inodes: dict[bytes, list[int]] = {}
        if namespaces is not None:
            pairs = zip(namespaces.pid.tolist(), namespaces.links.rows(), strict=True)
            self._inodes = {
                _pid_key(pid): links[1::2].tolist() for pid, links in pairs if len(links) > 2 * _MOUNT_LINK + 1
            }

    def is_container(self, pid: int) -> bool:
        """Return True if the process is certainly in a PID namespace of its own."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes is not None and inodes[_PID_LINK] != FIRST_PID_NAMESPACE

    def mount(self, pid: int) -> int:
        """Return the process's mount namespace; 0 if it was not recorded."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes[_MOUNT_LINK] if inodes is not None else 0


def _pid_key(pid: int) -> bytes:
    """Return a keyed form of a process id, because ids in a crafted file could be chosen to collide in a dictionary."""
    return secret_key(pid & 0xFFFFFFFF)


def _map_in_process_root(proc: Path | None, pid: int) -> Iterator[Path]:
    """Yield the map that a live process wrote: below its root directory, under its id in its own namespace."""
    if proc is None:
        return
    try:
        status = (proc / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return
    match = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
    inner = match.group(1) if match else str(pid)
    yield from paths_in_root(proc / str(pid) / "root", f"/tmp/perf-{inner}.map")


def _maps_in_container(proc: Path | None, mount: int) -> list[Path]:
    """Return maps in a container that still has live processes, even if the recorded process is gone."""
    if proc is None or not mount:
        return []
    for folder in sorted(proc.glob("[0-9]*")):
        try:
            inode = (folder / "ns" / "mnt").stat().st_ino
        except OSError:
            continue
        if inode == mount:
            directory = resolve_in_root(folder / "root", "/tmp")
            return _maps_in(directory) if directory is not None else []
    return []


def _maps_in(directory: Path) -> list[Path]:
    """Return the newest maps of a directory, newest first."""
    return sorted(filter(is_file, directory.glob("perf-*.map")), key=_age)[:_MAX_MAPS]


def _age(path: Path) -> tuple[float, str]:
    try:
        return -path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name


_LINE = re.compile(rb"^(?:0x)?([0-9a-fA-F]{1,16})[ \t]+(?:0x)?([0-9a-fA-F]{1,16})[ \t]+(\S.*)$", re.MULTILINE)
_MAX_SIZE = 1 << 30


class PerfMap(Frozen):
    """All entries of a map, in file order."""

    start: U64
    size: U64
    names: list[str]

    def find(self, address: U64, first: bool = False) -> I64:
        """Find the entry that covers each address: the last one in the file or, with ``first``, the first one.

        Shapes: ``address`` (n,), sorted; returns (n,) rows, −1 for none.
        """
        low = searchsorted(address, self.start, "left")
        end = self.start + np.maximum(self.size, np.uint64(1))
        end = np.where(end < self.start, np.uint64(2**64 - 1), end)
        high = searchsorted(address, end, "left")
        touching = flatnonzero(low < high)[:: -1 if first else 1]
        return _last_cover(touching, low, high, len(address))


def _last_cover(rows: I64, low: I64, high: I64, count: int) -> I64:
    """Return (count,) the last of ``rows`` whose range [low, high) contains each position, −1 for none.

    Rows are processed from last to first. ``following[i]`` skips positions that already have a row, so that each
    position is visited once however many ranges overlap.
    """
    result = minus_ones(count)
    following = list(range(count + 1))
    for row in rows[::-1].tolist():
        at, end = int(low[row]), int(high[row])
        while (at := _free(following, at)) < end:
            result[at] = row
            following[at] = at + 1
    return result


def _free(following: list[int], at: int) -> int:
    """Return the first position from ``at`` on without a row; halves the path on the way, as union-find does."""
    while following[at] != at:
        following[at] = following[following[at]]
        at = following[at]
    return at


def read_perf_map(path: Path) -> PerfMap:
    """Parse a map, skipping malformed lines. Raises ObjectError if the file cannot be read."""
    rows = _LINE.findall(read_object_file(path, _MAX_SIZE))
    start = as_uint64([int(row[0], 16) for row in rows])
    size = as_uint64([int(row[1], 16) for row in rows])
    return PerfMap(start, size, [row[2].rstrip().decode(errors="surrogateescape") for row in rows])


class PerfMapSource(BuiltInSource):
    """Names code in the anonymous memory of a process, from its perf map."""

    order = 40

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._namespaces = ProcessNamespaces(context.namespaces)

    def covers(self, dso: Dso) -> bool:
        """Return True for anonymous memory of a known process."""
        return dso.kind is DsoKind.ANONYMOUS and dso.pid > 0

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions by address in the process."""
        path, table = self.file(dso.pid, address)
        if path is None or table is None:
            return no_symbols(len(address), f"no perf-{dso.pid}.map (--perf-map-dir)")
        row = table.find(address)
        self._count_replaced(table, row, table.find(address, first=True), shown_name(path))
        used, function = unique_known(row)
        functions = [jit_function(table.names[one]) for one in used.tolist()]
        return symbols_from_functions(functions, function, f"not in {shown_name(path)}")

    def _count_replaced(self, table: PerfMap, last: I64, first: I64, where: str) -> None:
        """Count sampled addresses at which several functions were, one after the other."""
        pairs = np.column_stack([last, first])[last != first].tolist()
        names = ([table.names[row] for row in pair] for pair in pairs)
        count = sum(len({jit_function(name).name or name for name in pair}) > 1 for pair in names)
        advice = "a perf map has no times, so samples get the name of the last code at the address; use jitdumps."
        self._context.diagnostics.add("perf_map_replaced", advice, count, where)

    def file(self, pid: int, address: U64) -> tuple[Path | None, PerfMap | None]:
        """Return the map of a process, found by name or else by contents. Raises ObjectError if it cannot be read."""
        path = next((path for path in self._candidates(pid) if is_file(path)), None)
        return (path, read_perf_map(path)) if path is not None else self._by_contents(pid, address)

    def _candidates(self, pid: int) -> Iterator[Path]:
        options = self._context.options
        if options.perf_map_dir is not None:
            yield options.perf_map_dir / f"perf-{pid}.map"
        if options.symfs is not None:
            yield from paths_in_root(options.symfs, f"{PERF_MAP_DIR}/perf-{pid}.map")
        elif not self._context.recorded.made_elsewhere:  # process ids of another machine are meaningless here
            yield from self._on_this_machine(pid)

    def _on_this_machine(self, pid: int) -> Iterator[Path]:
        yield from _map_in_process_root(self._context.finder.search_paths.proc, pid)
        yield host_path(f"{PERF_MAP_DIR}/perf-{pid}.map")

    def _by_contents(self, pid: int, address: U64) -> tuple[Path | None, PerfMap | None]:
        """Return, of the maps named after other process ids, the one that covers the most sampled addresses.

        Returns no map if two cover equally many. JIT-compiled code has different addresses in each process, so the map
        of a different process hardly ever covers any.
        """
        best: tuple[Path | None, PerfMap | None] = None, None
        most = 0
        for path in self._of_other_ids(pid):
            with counting_broken(self._context.diagnostics):
                table = read_perf_map(path)
                named = sum_of(table.find(address) >= 0)
                if named >= most:
                    best, most = ((path, table) if named > most else (None, None)), named
        if best[0] is not None:
            advice = "a map with another process id in its name was used, because its addresses match the process."
            where = f"{shown_name(best[0])} for {pid}"
            self._context.diagnostics.add("perf_map_of_other_pid", advice, where=where)
        return best

    def _of_other_ids(self, pid: int) -> list[Path]:
        """Return maps in the user's directory, and elsewhere if the process was certainly in a container."""
        options, proc = self._context.options, self._context.finder.search_paths.proc
        found = _maps_in(options.perf_map_dir) if options.perf_map_dir is not None else []
        if self._namespaces.is_container(pid):
            if options.symfs is not None:
                found += _maps_in(resolve_in_root(options.symfs, PERF_MAP_DIR) or options.symfs)
            elif not self._context.recorded.made_elsewhere:
                found += _maps_in_container(proc, self._namespaces.mount(pid)) + _maps_in(host_path(PERF_MAP_DIR))
        return list(dict.fromkeys(found))
