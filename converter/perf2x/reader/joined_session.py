"""Joins several files of one recording session (``perf record --switch-output``) into one recording.

Files are sorted by time, and the positions of records go on from one file to the next.

At the start of each file, perf synthesizes records of running processes, at time 0. In a later file, they must not
replace what was true before: if an earlier file has the process, they get the time at which the later file starts.
Otherwise the process may have run from the start of the session.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, cumsum, join_tables, unique
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import ALL_BLOCKS, TABLES, Recording, Samples, Session, Shard, Sideband, Want
from perf2x.reader.sideband_decoder import sorted_table

_SYNTHESIZED = ("mmaps", "comms", "forks", "exits")  # side-band tables with perf's synthesized records


class JoinedRecording:
    """A Recording that consists of several files of one session."""

    def __init__(self, parts: Sequence[Recording], diagnostics: Diagnostics) -> None:
        """Join ``parts``, which must be in the order of ``order_by_time``."""
        self._parts = parts
        ends = cumsum([0, *(part.sideband.stream_end for part in parts)])
        self._shifts = [int(shift) for shift in ends[:-1]]
        build_ids: dict[str, bytes] = {}
        for part in reversed(parts):
            build_ids |= part.session.build_ids
        self.session: Session = replace(parts[0].session, build_ids=build_ids)
        self.sideband = _join_sidebands(_with_times_of_synthesized(parts), self._shifts, int(ends[-1]))
        self.sample_count = sum(part.sample_count for part in parts)
        self.diagnostics = diagnostics

    @property
    def fingerprint(self) -> bytes | None:
        """A 16-byte digest of the fingerprints of all parts; None if a part has none."""
        fingerprints = [part.fingerprint for part in self._parts]
        return None if None in fingerprints else hashlib.blake2b(repr(fingerprints).encode(), digest_size=16).digest()

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield the batches of the same shard of each part, with positions in the session."""
        for part, shift in zip(self._parts, self._shifts, strict=True):
            for batch in part.samples(want, shard):
                yield replace(batch, position=batch.position + shift)


def session_key(session: Session) -> bytes:
    """Return a digest that is equal for files of one run of perf record: same machine, same events with the same ids.

    The kernel gives each counter an id of its own. simpleperf writes one file a run, so its name is part of the key.
    """
    simpleperf_file = session.source if session.recorded_files else ""
    machine = session.hostname, session.os_release, session.arch, session.byte_order, simpleperf_file
    events = [
        (event.name, event.type, event.config, event.sample_type, sorted(event.flags), event.sample_period, event.ids)
        for event in session.events
    ]
    key = repr((machine, events))
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def order_by_time(parts: Sequence[Recording]) -> list[Recording]:
    """Sort files by their first recorded time; if none have times, they keep their order.

    The first file always has synthesized records, so files without any come last.
    """
    return sorted(parts, key=lambda part: (not _has_synthesized(part.sideband), _first_time(part.sideband)))


def _has_synthesized(sideband: Sideband) -> bool:
    return any((getattr(sideband, name).time == 0).any() for name in _SYNTHESIZED)


def _first_time(sideband: Sideband) -> int:
    times = [table.time[table.time > 0] for table in (getattr(sideband, name) for name in TABLES)]
    return min((int(time.min()) for time in times if len(time)), default=0)


def _with_times_of_synthesized(parts: Sequence[Recording]) -> list[Sideband]:
    """Set the time of synthesized records of processes that an earlier part has."""
    earlier_pids: I32 = np.zeros(0, np.int32)
    sidebands = []
    for part in parts:
        sideband, start = part.sideband, np.uint64(_first_time(part.sideband))
        tables = {name: getattr(sideband, name) for name in _SYNTHESIZED}
        new_tables = {}
        for name, table in tables.items():
            is_repeated = (table.time == 0) & np.isin(table.pid, earlier_pids)
            new_tables[name] = replace(table, time=np.where(is_repeated, start, table.time))
        sidebands.append(replace(sideband, **new_tables))
        earlier_pids = unique(np.concatenate([earlier_pids, *(table.pid for table in tables.values())]))
    return sidebands


def _join_sidebands(parts: Sequence[Sideband], shifts: Sequence[int], end: int) -> Sideband:
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.record_counts)
    tables: dict[str, Any] = {}
    for name in TABLES:
        part_tables = [(getattr(part, name), shift) for part, shift in zip(parts, shifts, strict=True)]
        shifted = [replace(table, position=table.position + shift) for table, shift in part_tables]
        tables[name] = sorted_table(join_tables(shifted))
    return Sideband(**tables, record_counts=dict(counts), stream_end=end)
