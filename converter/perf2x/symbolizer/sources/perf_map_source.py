"""Names of JIT-compiled code from /tmp/perf-PID.map, one line per function: ``START SIZE NAME``.

The file has no times: if code was replaced, the last entry for an address wins.

A process in a container names its file after its process id in the container, which is not recorded. If there is no
map under an expected name, the map whose entries cover the most sampled addresses is used. With --perf-map-dir, this is
done for every process.

Source of truth: tools/perf/Documentation/jit-interface.txt, tools/perf/util/symbol.c dso__load_perf_map and
dso__find_perf_map.
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
from perf2x.base.columnar.hashing import salted_key
from perf2x.base.files.read_file import read_object_file
from perf2x.base.files.sysroot import PERF_MAP_DIR, host_path, is_file, paths_in_root, resolve_in_root
from perf2x.base.files.temporary import shown_name
from perf2x.model.recording import Namespaces
from perf2x.symbolizer.sources.elf_symbols import counting_unreadable
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

# Indices of namespaces in PERF_RECORD_NAMESPACES: include/uapi/linux/perf_event.h PID_NS_INDEX, MNT_NS_INDEX.
_PID_NAMESPACE, _MOUNT_NAMESPACE = 3, 5
# Inode number of the initial PID namespace, on every machine: include/linux/proc_ns.h PROC_PID_INIT_INO.
INITIAL_PID_NAMESPACE = 0xEFFFFFFC
# Number of maps to try in a directory, newest first; /tmp may contain years of maps.
_MAX_MAPS_TRIED = 64


class ProcessNamespaces:
    """The last recorded namespaces of each process, identified by their inode numbers in nsfs."""

    def __init__(self, namespaces: Namespaces | None) -> None:
        self._inodes: dict[bytes, list[int]] = {}
        if namespaces is not None:
            # ``links`` has a device and an inode number for each kind of namespace
            pairs = zip(namespaces.pid.tolist(), namespaces.links.rows(), strict=True)
            self._inodes = {
                _pid_key(pid): links[1::2].tolist() for pid, links in pairs if len(links) > 2 * _MOUNT_NAMESPACE + 1
            }

    def is_container(self, pid: int) -> bool:
        """Return whether the process was in a PID namespace of its own."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes is not None and inodes[_PID_NAMESPACE] != INITIAL_PID_NAMESPACE

    def mount(self, pid: int) -> int:
        """Return the inode number of the process's mount namespace; 0 if unknown."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes[_MOUNT_NAMESPACE] if inodes is not None else 0


def _pid_key(pid: int) -> bytes:
    """Return a keyed hash of a process id, so that no file can make ids collide in a dictionary."""
    return salted_key(pid & 0xFFFFFFFF)


def _map_in_process_root(proc: Path | None, pid: int) -> Iterator[Path]:
    if proc is None:
        return
    try:
        status = (proc / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return
    # NSpid lists the process's ids, the one in the innermost namespace last
    match = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
    namespace_pid = match.group(1) if match else str(pid)
    yield from paths_in_root(proc / str(pid) / "root", f"/tmp/perf-{namespace_pid}.map")


def _maps_in_container(proc: Path | None, mount_inode: int) -> list[Path]:
    """Return the maps in a container's /tmp, which is found through a live process of its mount namespace."""
    if proc is None or not mount_inode:
        return []
    for folder in sorted(proc.glob("[0-9]*")):
        try:
            inode = (folder / "ns" / "mnt").stat().st_ino
        except OSError:
            continue
        if inode == mount_inode:
            directory = resolve_in_root(folder / "root", "/tmp")
            return _maps_in(directory) if directory is not None else []
    return []


def _maps_in(directory: Path) -> list[Path]:
    return sorted(filter(is_file, directory.glob("perf-*.map")), key=_newest_first)[:_MAX_MAPS_TRIED]


def _newest_first(path: Path) -> tuple[float, str]:
    try:
        return -path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name


_LINE = re.compile(rb"^(?:0x)?([0-9a-fA-F]{1,16})[ \t]+(?:0x)?([0-9a-fA-F]{1,16})[ \t]+(\S.*)$", re.MULTILINE)
_MAX_SIZE = 1 << 30  # of a map, in bytes


class PerfMap(Frozen):
    """All entries of a map, in file order; they may overlap."""

    start: U64
    size: U64
    names: list[str]

    def find(self, address: U64, is_first_wanted: bool = False) -> I64:
        """Find the entry that covers each address: the last one in the file or, with ``is_first_wanted``, the first.

        ``address`` (n,) is sorted; returns (n,) rows of this table, −1 for none.
        """
        # entry i covers address[first_index[i] : end_index[i]]; a size of 0 counts as 1
        first_index = searchsorted(address, self.start, "left")
        end = self.start + np.maximum(self.size, np.uint64(1))
        end = np.where(end < self.start, np.uint64(2**64 - 1), end)
        end_index = searchsorted(address, end, "left")
        covering = flatnonzero(first_index < end_index)[:: -1 if is_first_wanted else 1]
        return _last_cover(covering, first_index, end_index, len(address))


def _last_cover(rows: I64, first_index: I64, end_index: I64, count: int) -> I64:
    """Return (count,) the last of ``rows`` whose range [first_index, end_index) contains each position, −1 for none.

    Rows are processed from last to first, and each fills the positions that are still free. In ``next_free`` (a
    union-find structure), a filled position points to a later one, so overlapping ranges cost little.
    """
    result = minus_ones(count)
    next_free = list(range(count + 1))
    for row in rows[::-1].tolist():
        position, end = int(first_index[row]), int(end_index[row])
        while (position := _first_free(next_free, position)) < end:
            result[position] = row
            next_free[position] = position + 1
    return result


def _first_free(next_free: list[int], position: int) -> int:
    while next_free[position] != position:
        next_free[position] = next_free[next_free[position]]
        position = next_free[position]
    return position


def read_perf_map(path: Path) -> PerfMap:
    """Parse a map, skipping malformed lines. Raises ObjectError if the file cannot be read."""
    lines = _LINE.findall(read_object_file(path, _MAX_SIZE))
    start = as_uint64([int(fields[0], 16) for fields in lines])
    size = as_uint64([int(fields[1], 16) for fields in lines])
    return PerfMap(start, size, [fields[2].rstrip().decode(errors="surrogateescape") for fields in lines])


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
        """Return functions; ``address`` (n,) as recorded."""
        path, perf_map = self.file(dso.pid, address)
        if path is None or perf_map is None:
            return no_symbols(len(address), f"no perf-{dso.pid}.map (--perf-map-dir)")
        entry = perf_map.find(address)
        self._count_replaced(perf_map, entry, perf_map.find(address, is_first_wanted=True), shown_name(path))
        distinct, index = unique_known(entry)
        functions = [jit_function(perf_map.names[row]) for row in distinct.tolist()]
        return symbols_from_functions(functions, index, f"not in {shown_name(path)}")

    def _count_replaced(self, perf_map: PerfMap, last: I64, first: I64, map_name: str) -> None:
        entry_pairs = np.column_stack([last, first])[last != first].tolist()
        name_pairs = ([perf_map.names[row] for row in pair] for pair in entry_pairs)
        # entries with the same display name are one function
        count = sum(len({jit_function(name).name or name for name in pair}) > 1 for pair in name_pairs)
        advice = "a perf map has no times, so samples get the name of the last code at the address; use jitdumps."
        self._context.diagnostics.add("perf_map_replaced", advice, count, map_name)

    def file(self, pid: int, address: U64) -> tuple[Path | None, PerfMap | None]:
        """Return the path and contents of a process's map, found by its name or else by the addresses in it.

        ``address`` (n,) is sorted. Returns (None, None) without a map. Raises ObjectError if the map of that name
        cannot be read.
        """
        path = next((path for path in self._paths_by_pid(pid) if is_file(path)), None)
        return (path, read_perf_map(path)) if path is not None else self._map_by_addresses(pid, address)

    def _paths_by_pid(self, pid: int) -> Iterator[Path]:
        options = self._context.options
        if options.perf_map_dir is not None:
            yield options.perf_map_dir / f"perf-{pid}.map"
        if options.symfs is not None:
            yield from paths_in_root(options.symfs, f"{PERF_MAP_DIR}/perf-{pid}.map")
        elif not self._context.recorded.was_made_elsewhere:  # process ids of another machine are meaningless here
            yield from self._on_this_machine(pid)

    def _on_this_machine(self, pid: int) -> Iterator[Path]:
        yield from _map_in_process_root(self._context.finder.search_paths.proc, pid)
        yield host_path(f"{PERF_MAP_DIR}/perf-{pid}.map")

    def _map_by_addresses(self, pid: int, address: U64) -> tuple[Path | None, PerfMap | None]:
        """Return the map that covers the most addresses, among maps with any process id; no map on a tie.

        The map of a different process hardly ever covers any address.
        """
        best_map: tuple[Path | None, PerfMap | None] = None, None
        best_count = 0
        for path in self._maps_of_other_pids(pid):
            with counting_unreadable(self._context.diagnostics):
                perf_map = read_perf_map(path)
                count = sum_of(perf_map.find(address) >= 0)
                if count >= best_count:
                    best_map, best_count = ((path, perf_map) if count > best_count else (None, None)), count
        if best_map[0] is not None:
            advice = "a map with another process id in its name was used, because its addresses match the process."
            where = f"{shown_name(best_map[0])} for {pid}"
            self._context.diagnostics.add("perf_map_of_other_pid", advice, where=where)
        return best_map

    def _maps_of_other_pids(self, pid: int) -> list[Path]:
        options, proc = self._context.options, self._context.finder.search_paths.proc
        paths = _maps_in(options.perf_map_dir) if options.perf_map_dir is not None else []
        if self._namespaces.is_container(pid):
            if options.symfs is not None:
                paths += _maps_in(resolve_in_root(options.symfs, PERF_MAP_DIR) or options.symfs)
            elif not self._context.recorded.was_made_elsewhere:
                paths += _maps_in_container(proc, self._namespaces.mount(pid)) + _maps_in(host_path(PERF_MAP_DIR))
        return list(dict.fromkeys(paths))
