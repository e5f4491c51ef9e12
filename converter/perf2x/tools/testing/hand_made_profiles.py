"""Profiles made by hand, so that an emitter can be tested without a recording."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import cumsum, falses, minus_ones
from perf2x.model.profile import (
    Functions,
    Locations,
    Mappings,
    Meta,
    ProfileEvent,
    ProfileSamples,
    Stacks,
    Threads,
    ThreadSwitches,
    View,
    Wait,
)

# Function name, source file ("" if unknown), line number (0 if unknown).
Line = tuple[str, str, int]


class ProfileBuilder:
    """Builds a Profile row by row.

    Methods that add a row return its number, except ``sample`` and ``switch``. Equal rows are added once, except
    events, samples and switches.
    """

    def __init__(self) -> None:
        # The keys of these dictionaries are strings or rows of a table; the values are their numbers.
        self._strings: dict[str, int] = {"": 0}
        self._tables: dict[str, dict[Any, int]] = {
            name: {} for name in ("threads", "mappings", "functions", "locations", "stacks")
        }
        self._location_by_function: dict[tuple[str, int], int] = {}  # by (name, mode)
        self._events: list[ProfileEvent] = []
        self._samples: list[tuple[int, ...]] = []  # (event, thread, stack, value, count, time, cpu, wait)
        # (time, thread, is_out, cpu, is_preempted)
        self._switches: list[tuple[int, int, bool, int, bool]] = []

    def event(
        self,
        name: str = "cpu-clock",
        unit: str = "nanoseconds",
        period: int = 0,
        frequency: int = 1000,
        is_wait: bool = False,
        leader: int = -1,
    ) -> int:
        """Add an event. ``is_wait``: its samples are waits. ``leader``: row of its group's leader, or −1."""
        self._events.append(ProfileEvent(name, unit, period, frequency, is_wait, leader))
        return len(self._events) - 1

    def thread(self, comm: str = "prog", pid: int = 100, tid: int | None = None, process: str | None = None) -> int:
        """Add a thread; ``tid`` defaults to ``pid``, ``process`` (the name of the process) to ``comm``."""
        row = (pid, pid if tid is None else tid, self._string(comm), self._string(comm if process is None else process))
        return self._row("threads", row)

    def mapping(
        self,
        filename: str,
        start: int = 0x400000,
        size: int = 0x10000,
        build_id: str = "",
        kernel: bool = False,
        offset: int = 0,
        pid: int = 100,
    ) -> int:
        """Add a mapped file. ``kernel``: the kernel or a module, which belongs to no process (pid −1)."""
        names = self._string(filename), self._string(build_id)
        return self._row("mappings", (start, start + size, offset, *names, -1 if kernel else pid, kernel))

    def location(
        self,
        address: int,
        mapping: int = -1,
        lines: Sequence[str | Line] = (),
        mode: int = CpuMode.USER,
        is_caller: bool = False,
        synthetic: bool = False,
    ) -> int:
        """Add a location.

        - ``lines``: innermost function first; a str is the name of a function without source.
        - ``is_caller``: ``address`` is a return address, which is looked up one byte earlier.
        - ``synthetic``: a frame without an address, such as ``[truncated stack]``.
        """
        rows = tuple(self._line((line, "", 0) if isinstance(line, str) else line) for line in lines)
        return self._row("locations", (address, address - is_caller, mapping, int(mode), synthetic, rows))

    def function(self, name: str, mode: int = CpuMode.USER) -> int:
        """Add a function outside all mappings, with an address of its own; return its location."""
        location = self._location_by_function.get((name, mode))
        if location is None:
            location = self.location(0x1000 + 16 * len(self._tables["locations"]), lines=[name], mode=mode)
            self._location_by_function[name, mode] = location
        return location

    def stack(self, locations: Sequence[int]) -> int:
        """Add a stack, outermost location first; an empty one is row −1."""
        row = -1
        for location in locations:
            row = self._row("stacks", (row, location))
        return row

    def sample(
        self,
        locations: Sequence[int],
        thread: int = 0,
        event: int = 0,
        value: int = 1_000_000,
        count: int = 1,
        time: int = 0,
        cpu: int = 0,
        wait: Wait = Wait.RAN,
    ) -> None:
        """Add ``count`` samples with the same stack, outermost first; a wait lasts ``value`` ns from ``time`` on."""
        self._samples.append((event, thread, self.stack(locations), value, count, time, cpu, wait))

    def switch(
        self, time: int, thread: int = 0, is_out: bool = True, cpu: int = -1, is_preempted: bool = False
    ) -> None:
        """Add a context switch: at ``time`` (ns), a thread left (``is_out``) or entered a CPU (−1: unknown which)."""
        self._switches.append((time, thread, is_out, cpu, is_preempted))

    def build(self, timeline: bool = False, meta: Meta | None = None) -> View:
        """Return the profile, after checking its tables.

        ``timeline`` keeps every sample, sorted by time. Otherwise samples with equal event, thread and stack are
        summed.
        """
        rows = sorted(self._samples, key=lambda row: row[5]) if timeline else _summed(self._samples)  # 5: time
        # locations are (address, lookup, mapping, mode, synthetic, lines)
        named_mappings = {row[2] for row in self._tables["locations"] if row[5]}
        profile = View(
            strings=list(self._strings),
            events=tuple(self._events),
            threads=Threads(*_columns(self._tables["threads"], *[np.int32] * 4)),
            mappings=self._mappings(named_mappings),
            functions=Functions(*_columns(self._tables["functions"], *[np.int32] * 4)),
            locations=self._locations(),
            stacks=Stacks(*_columns(self._tables["stacks"], np.int32, np.int32)),
            samples=_samples(rows, timeline),
            meta=meta or Meta(),
            switches=self._thread_switches() if timeline else None,
        )
        profile.check()
        return profile

    def _string(self, string: str) -> int:
        return self._strings.setdefault(string, len(self._strings))

    def _row(self, table: str, row: tuple[Any, ...]) -> int:
        rows = self._tables[table]
        return rows.setdefault(row, len(rows))

    def _line(self, line: Line) -> tuple[int, int]:
        name, filename, number = line
        return self._row("functions", (self._string(name), self._string(name), self._string(filename), 0)), number

    def _mappings(self, named_rows: set[int]) -> Mappings:
        rows = self._tables["mappings"]
        columns = _columns(rows, *[np.uint64] * 3, *[np.int32] * 3, np.bool_)
        has_functions, unset = np.array([row in named_rows for row in range(len(rows))], np.bool_), falses(len(rows))
        return Mappings(*[*columns, has_functions, unset, unset, unset])

    def _locations(self) -> Locations:
        rows = self._tables["locations"]
        columns = _columns(rows, np.uint64, np.uint64, np.int32, np.uint8, np.bool_)
        offsets = cumsum([0] + [len(row[5]) for row in rows])
        lines = _columns([line for row in rows for line in row[5]], np.int32, np.int32)
        return Locations(*[*columns, offsets, *lines])

    def _thread_switches(self) -> ThreadSwitches | None:
        if not self._switches:
            return None
        columns = _columns(sorted(self._switches), np.uint64, np.int32, np.bool_, np.int32, np.bool_)
        return ThreadSwitches(*[*columns, minus_ones(len(self._switches))])


def _columns(rows: Collection[tuple[Any, ...]], *dtypes: Any) -> Any:
    return [np.array([row[index] for row in rows], dtype) for index, dtype in enumerate(dtypes)]


def _summed(rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    totals: dict[tuple[int, int, int], tuple[int, int]] = {}
    for event, thread, stack, value, count, *_ in rows:
        total_before = totals.get((event, thread, stack), (0, 0))
        totals[event, thread, stack] = (total_before[0] + value, total_before[1] + count)
    return [(*key, *total, 0, 0, 0) for key, total in totals.items()]


def _samples(rows: Sequence[tuple[int, ...]], timeline: bool) -> ProfileSamples:
    *columns, time, cpu, wait = _columns(rows, *[np.int32] * 3, *[np.int64] * 2, np.uint64, np.int32, np.uint8)
    samples = ProfileSamples(*columns)
    return replace(samples, time=time, cpu=cpu, wait=wait if wait.any() else None) if timeline else samples
