"""Several files of one recording session (``perf record --switch-output``) as one recording.

The files are put in order of time and their positions follow one another, so that everything behind the reader sees one
long recording: a stack whose deferred record is in the next file is completed like any other. Records that perf made up
when it opened a later file (its picture of the running processes, at time 0) hold from the start of that file on where
an earlier file already knows the process; otherwise they hold from the start.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.columnar.arrays import I32, I64, U64
from perf2x.columnar.ragged import Ragged, SharedRows, concatenate
from perf2x.columnar.unique import unique
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.events import ALL, Recording, Samples, Session, Share, Want
from perf2x.tables.sideband import DeferredChains, Sideband

_SYNTHESIZED = ("mmaps", "comms", "forks", "exits")


class JoinedRecording:
    """A Recording over parts that ``same_session`` holds for; order them with ``in_order`` first."""

    def __init__(self, parts: Sequence[Recording], diagnostics: Diagnostics) -> None:
        self._parts = parts
        ends = np.cumsum([0, *(part.sideband.stream_end for part in parts)])
        self._shift = [int(shift) for shift in ends[:-1]]
        self.session: Session = replace(parts[0].session, build_ids=_build_ids(parts))
        self.sideband = _sideband(_settled(parts), self._shift, int(ends[-1]))
        self.sample_count = sum(part.sample_count for part in parts)
        self.diagnostics = diagnostics

    def samples(self, want: Want, share: Share = ALL) -> Iterator[Samples]:
        """The batches of each part in turn, at their places in the whole; a share has its share of each."""
        for part, shift in zip(self._parts, self._shift, strict=True):
            for batch in part.samples(want, share):
                yield replace(batch, position=batch.position + shift)


def same_session(one: Session, other: Session) -> bool:
    """Whether two files come from one run of perf record: same machine, same events with the same kernel ids."""
    machine = ("hostname", "os_release", "arch", "byte_order")
    if any(getattr(one, name) != getattr(other, name) for name in machine):
        return False
    return [_fingerprint(event) for event in one.events] == [_fingerprint(event) for event in other.events]


def in_order(parts: Sequence[Recording]) -> list[Recording]:
    """By the time of the first timed record; files without times stay as they were given.

    A file that does not begin with perf's picture of what was running (perf writes one into each file that it opens)
    continues another, and comes after those that do.
    """
    return sorted(parts, key=lambda part: (not _has_picture(part.sideband), _first_time(part.sideband)))


def _has_picture(sideband: Sideband) -> bool:
    tables = _tables(sideband)
    return any(bool((tables[name].time == 0).any()) for name in _SYNTHESIZED)


def _fingerprint(event: Any) -> tuple[Any, ...]:
    return event.name, event.type, event.config, event.sample_type, event.flags, event.sample_period, event.ids


def _first_time(sideband: Sideband) -> int:
    times = [table.time[table.time > 0] for table in _tables(sideband).values() if len(table.time)]
    return min((int(time.min()) for time in times if len(time)), default=0)


def _tables(sideband: Sideband) -> dict[str, Any]:
    named = {field: getattr(sideband, field) for field in sideband.__struct_fields__}
    return {name: table for name, table in named.items() if hasattr(table, "position")}


def _settled(parts: Sequence[Recording]) -> list[Sideband]:
    """The side-bands, with made-up records of known processes moved from time 0 to the start of their file."""
    known: I32 = np.zeros(0, np.int32)
    settled = []
    for part in parts:
        sideband, start = part.sideband, np.uint64(_first_time(part.sideband))
        tables = {name: _tables(sideband)[name] for name in _SYNTHESIZED}
        moved = {name: replace(table, time=_moved(table, known, start)) for name, table in tables.items()}
        settled.append(replace(sideband, **moved))
        known = unique(np.concatenate([known, *(table.pid for table in tables.values())]))
    return settled


def _moved(table: Any, known: I32, start: np.uint64) -> U64:
    return np.where((table.time == 0) & np.isin(table.pid, known), start, table.time)


def _sideband(parts: Sequence[Sideband], shifts: Sequence[int], end: int) -> Sideband:
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.record_counts)
    tables = {name: _joined([_tables(part)[name] for part in parts], shifts) for name in _tables(parts[0])}
    return Sideband(**tables, record_counts=dict(counts), stream_end=end)


def _joined(tables: Sequence[Any], shifts: Sequence[int]) -> Any:
    placed = [replace(table, position=table.position + shift) for table, shift in zip(tables, shifts, strict=True)]
    columns = {field: _column([getattr(table, field) for table in placed]) for field in placed[0].__struct_fields__}
    joined = type(placed[0])(**columns)
    return _sorted(joined) if isinstance(joined, DeferredChains) else joined


def _sorted(deferred: DeferredChains) -> DeferredChains:
    order: I64 = np.lexsort((deferred.position, deferred.time, deferred.tid, deferred.cookie))
    taken: dict[str, Any] = {}
    for field in deferred.__struct_fields__:
        column = getattr(deferred, field)
        taken[field] = column.take(order) if isinstance(column, SharedRows) else column[order]
    return DeferredChains(**taken)


def _column(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], list):
        return [value for part in parts for value in part]
    if isinstance(parts[0], Ragged):
        return concatenate(parts, parts[0].values.dtype)
    if isinstance(parts[0], SharedRows):
        begins = np.cumsum([0, *(len(part.table) for part in parts)])[:-1]
        numbers = [part.number + begin for part, begin in zip(parts, begins, strict=True)]
        return SharedRows(np.concatenate(numbers).astype(np.int32), concatenate([part.table for part in parts]))
    return np.concatenate(parts)


def _build_ids(parts: Sequence[Recording]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in reversed(parts):
        found.update(part.session.build_ids)
    return found
