"""Names of just-in-time compiled code from /tmp/perf-PID.map, one line a function: ``START SIZE NAME``.

Source of truth: tools/perf/Documentation/jit-interface.txt, tools/perf/util/symbol.c dso__load_perf_map and
dso__find_perf_map. The file says nothing of time: where code was replaced, the entry written last wins.
"""

import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from perf2x.model.arrays import I64, U64
from perf2x.model.diagnostics import Severity
from perf2x.model.errors import ObjectError
from perf2x.objects.paths import below, is_file
from perf2x.symbolize.jit_names import jit_function
from perf2x.symbolize.source import Context, Dso, DsoKind, Symbols, from_functions, nothing

_LINE = re.compile(rb"^(?:0x)?([0-9a-fA-F]{1,16})[ \t]+(?:0x)?([0-9a-fA-F]{1,16})[ \t]+(\S.*)$", re.MULTILINE)
LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class PerfMap:
    """All entries in the file's order."""

    start: U64
    size: U64
    names: list[str]

    def find(self, address: U64) -> I64:
        """(n,) the last entry that covers each address (sorted), −1 for none."""
        low = np.searchsorted(address, self.start, "left")
        end = self.start + np.maximum(self.size, np.uint64(1))
        end = np.where(end < self.start, np.uint64(2**64 - 1), end)
        high = np.searchsorted(address, end, "left")
        touching = np.flatnonzero(low < high)
        return last_cover(touching, low, high, len(address))


def last_cover(rows: I64, low: I64, high: I64, count: int) -> I64:
    """(count,) the last of ``rows`` whose range [low, high) holds each position, −1 for none.

    Rows are taken from the last to the first; ``following[i]`` jumps over positions that already have an answer, so
    each position is visited once however often ranges overlap.
    """
    result = np.full(count, -1, np.int64)
    following = list(range(count + 1))
    for row in rows[::-1].tolist():
        at, end = int(low[row]), int(high[row])
        while (at := _free(following, at)) < end:
            result[at] = row
            following[at] = at + 1
    return result


def _free(following: list[int], at: int) -> int:
    """The first position from ``at`` on without an answer; paths are halved on the way."""
    while following[at] != at:
        following[at] = following[following[at]]
        at = following[at]
    return at


def read_perf_map(path: Path) -> PerfMap:
    """Parse a map; lines that are none are passed over. ObjectError when the file cannot be read."""
    try:
        if path.stat().st_size > LARGEST:
            raise ObjectError(f"{path}: larger than {LARGEST} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise ObjectError(f"{path}: {error.strerror or error}") from None
    rows = _LINE.findall(data)
    start = np.array([int(row[0], 16) for row in rows], np.uint64)
    size = np.array([int(row[1], 16) for row in rows], np.uint64)
    return PerfMap(start, size, [row[2].rstrip().decode(errors="surrogateescape") for row in rows])


class PerfMapSource:
    """Names for memory without a file, by process."""

    order: ClassVar[int] = 40

    def __init__(self, context: Context) -> None:
        self._context = context

    def covers(self, dso: Dso) -> bool:
        """Anonymous memory of a known process."""
        return dso.kind is DsoKind.ANONYMOUS and dso.pid > 0

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Functions by address in the process."""
        path = next((path for path in self._candidates(dso.pid) if is_file(path)), None) or self._only_one(dso.pid)
        if path is None:
            return nothing(len(address), f"no perf-{dso.pid}.map (--perf-map-dir)")
        table = read_perf_map(path)
        row = table.find(address)
        used = np.unique(row[row >= 0])
        functions = [jit_function(table.names[int(index)]) for index in used]
        return from_functions(functions, np.where(row >= 0, np.searchsorted(used, row), -1), f"not in {path}")

    def _candidates(self, pid: int) -> Iterator[Path]:
        options = self._context.options
        if options.perf_map_dir is not None:
            yield options.perf_map_dir / f"perf-{pid}.map"
        if options.symfs is not None:
            yield from filter(None, [below(options.symfs, f"/tmp/perf-{pid}.map")])
        elif self._recorded_here():
            yield from self._on_this_machine(pid)

    def _recorded_here(self) -> bool:
        """Process ids mean nothing on another machine; a recording that names none may be of this one."""
        recorded = self._context.session.hostname
        return not recorded or recorded == platform.node()

    def _on_this_machine(self, pid: int) -> Iterator[Path]:
        yield from _in_container(self._context.finder.places.proc, pid)
        yield Path(f"/tmp/perf-{pid}.map")

    def _only_one(self, pid: int) -> Path | None:
        """A container's processes count from 1: when the directory named by the user has one map, it is meant."""
        directory = self._context.options.perf_map_dir
        found = sorted(directory.glob("perf-*.map")) if directory is not None else []
        if len(found) != 1:
            return None
        advice = "the only map in --perf-map-dir was used although it is named after another process id."
        self._context.diagnostics.add("perf_map_of_other_pid", Severity.GUESS, advice, where=f"{found[0]} for {pid}")
        return found[0]


def _in_container(proc: Path | None, pid: int) -> Iterator[Path]:
    """The map as the process itself wrote it, while it lives: in its root directory, under its own process id."""
    if proc is None:
        return
    try:
        status = (proc / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return
    match = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
    inner = match.group(1) if match else str(pid)
    yield from filter(None, [below(proc / str(pid) / "root", f"/tmp/perf-{inner}.map")])
