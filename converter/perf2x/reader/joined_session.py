"""Several files of one recording session (``perf record --switch-output``) as one recording.

Files are sorted by time and their positions are concatenated, so that everything after the reader sees one long
recording: a stack whose deferred record is in the next file is completed like any other. perf synthesizes records of
the running processes, at time 0, whenever it opens a file. Those of a later file apply from the start of that file if
an earlier file already has the process; otherwise from the start of the session.
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
from perf2x.reader.sideband_decoder import in_order

_SYNTHESIZED = ("mmaps", "comms", "forks", "exits")


class JoinedRecording:
    """A Recording that consists of several files of one session; order them with ``order_by_time`` first."""

    def __init__(self, parts: Sequence[Recording], diagnostics: Diagnostics) -> None:
        self._parts = parts
        ends = cumsum([0, *(part.sideband.stream_end for part in parts)])
        self._shift = [int(shift) for shift in ends[:-1]]
        build_ids: dict[str, bytes] = {}
        for part in reversed(parts):
            build_ids |= part.session.build_ids
        self.session: Session = replace(parts[0].session, build_ids=build_ids)
        self.sideband = _join_sidebands(_align_synthesized(parts), self._shift, int(ends[-1]))
        self.sample_count = sum(part.sample_count for part in parts)
        self.diagnostics = diagnostics

    @property
    def fingerprint(self) -> bytes | None:
        """Digest of the fingerprints of all parts; None if one has no sample."""
        found = [part.fingerprint for part in self._parts]
        return None if None in found else hashlib.blake2b(repr(found).encode(), digest_size=16).digest()

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield the batches of each part in turn, at their positions in the session.

        A shard is a share of every part.
        """
        for part, shift in zip(self._parts, self._shift, strict=True):
            for batch in part.samples(want, shard):
                yield replace(batch, position=batch.position + shift)


def session_key(session: Session) -> bytes:
    """Return a digest that is equal for files of one run of perf record: one machine, and the same kernel event ids.

    simpleperf writes one file per run, with only the names that the file needs.
    """
    own = session.source if session.recorded_files else ""
    machine = session.hostname, session.os_release, session.arch, session.byte_order, own
    events = [
        (event.name, event.type, event.config, event.sample_type, sorted(event.flags), event.sample_period, event.ids)
        for event in session.events
    ]
    facts = repr((machine, events))
    return hashlib.sha256(facts.encode("utf-8", "surrogateescape")).digest()


def order_by_time(parts: Sequence[Recording]) -> list[Recording]:
    """Sort files by their first recorded time; files without times keep their order.

    perf starts each file with synthesized records. A file without them is a continuation, and is sorted after those
    that have them.
    """
    return sorted(parts, key=lambda part: (not _has_synthesized(part.sideband), _first_time(part.sideband)))


def _has_synthesized(sideband: Sideband) -> bool:
    return any((getattr(sideband, name).time == 0).any() for name in _SYNTHESIZED)


def _first_time(sideband: Sideband) -> int:
    times = [table.time[table.time > 0] for table in (getattr(sideband, name) for name in TABLES)]
    return min((int(time.min()) for time in times if len(time)), default=0)


def _align_synthesized(parts: Sequence[Recording]) -> list[Sideband]:
    """Move synthesized records of already known processes from time 0 to the start of their file."""
    known: I32 = np.zeros(0, np.int32)
    settled = []
    for part in parts:
        sideband, start = part.sideband, np.uint64(_first_time(part.sideband))
        tables = {name: getattr(sideband, name) for name in _SYNTHESIZED}
        moved = {}
        for name, table in tables.items():
            is_known = (table.time == 0) & np.isin(table.pid, known)
            moved[name] = replace(table, time=np.where(is_known, start, table.time))
        settled.append(replace(sideband, **moved))
        known = unique(np.concatenate([known, *(table.pid for table in tables.values())]))
    return settled


def _join_sidebands(parts: Sequence[Sideband], shifts: Sequence[int], end: int) -> Sideband:
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.record_counts)
    tables: dict[str, Any] = {}
    for name in TABLES:
        own = [(getattr(part, name), shift) for part, shift in zip(parts, shifts, strict=True)]
        shifted = [replace(table, position=table.position + shift) for table, shift in own]
        tables[name] = in_order(join_tables(shifted))
    return Sideband(**tables, record_counts=dict(counts), stream_end=end)
