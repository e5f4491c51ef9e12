"""An opened recording: the index pass over everything, and sample passes as often as wanted."""

from collections.abc import Callable, Iterator

import numpy as np

from perf2x.abi.perffile import UserRecordType
from perf2x.abi.uapi import RecordType
from perf2x.model.arrays import I32, I64, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.events import Samples, Session, Sideband, Want
from perf2x.read.batches import join_batches, kept_rows
from perf2x.read.block import Block
from perf2x.read.columns import Cursor
from perf2x.read.container import open_container
from perf2x.read.draft import Draft
from perf2x.read.event_table import trailer_length
from perf2x.read.records import DECODERS
from perf2x.read.samples import Layout, decode_samples, layout_of
from perf2x.read.source import load
from perf2x.read.stream import Stream, Stretch
from perf2x.read.tables import TABLES, TableBuilder, build_sideband
from perf2x.read.trailer import read_trailer

Progress = Callable[[int, int], None]

_SESSION_RECORDS = frozenset(
    {
        UserRecordType.HEADER_ATTR,
        UserRecordType.HEADER_EVENT_TYPE,
        UserRecordType.HEADER_BUILD_ID,
        UserRecordType.EVENT_UPDATE,
        UserRecordType.HEADER_FEATURE,
    }
)
_NAMES = {int(kind): kind.name for family in (RecordType, UserRecordType) for kind in family}


def open_recording(
    path: str, *, diagnostics: Diagnostics | None = None, progress: Progress | None = None
) -> "PerfRecording":
    """Read a recording's header and side-band; ``path`` "-" is standard input.

    ``progress`` is called with bytes done and bytes in all. FormatError when it cannot be read.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    name = "standard input" if path == "-" else path
    container = open_container(name, load(path), diagnostics)
    draft = Draft(name, container.order, container.is_pipe, diagnostics)
    draft.add_container(container)
    section = container.records
    limit = draft.features.get("compressed", {}).get("mmap_len", 0)
    stretch = Stretch(container.data[section.offset : section.end], section.offset, name, limit)
    stream = Stream([stretch], container.order, diagnostics)
    return PerfRecording(draft, stream, diagnostics, progress)


class PerfRecording:
    """The Recording of model/events.py."""

    session: Session
    sideband: Sideband
    sample_count: int
    diagnostics: Diagnostics

    def __init__(
        self, draft: Draft, stream: Stream, diagnostics: Diagnostics, progress: Progress | None = None
    ) -> None:
        self.diagnostics = diagnostics
        self._draft = draft
        self._stream = stream
        self._builders: dict[str, TableBuilder] = {}
        self._counts: dict[int, int] = {}
        self._events_of_samples: list[I32] = []
        total = stream.total
        for block, done in stream.index():
            self._index(block)
            if progress is not None:
                progress(done, total)
        self._finish()

    def _index(self, block: Block) -> None:
        kinds, numbers = np.unique(block.types, return_counts=True)
        for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
            self._counts[kind] = self._counts.get(kind, 0) + number
        present = frozenset(kinds.tolist())
        if present & _SESSION_RECORDS:
            self._read_session_records(block)
        for kind in sorted(present & DECODERS.keys()):
            self._decode(block, kind)
        rows = np.flatnonzero(block.types == RecordType.SAMPLE)
        self._events_of_samples.append(self._draft.events.of_samples(block, rows).astype(np.int16))

    def _read_session_records(self, block: Block) -> None:
        rows = np.flatnonzero(np.isin(block.types, list(_SESSION_RECORDS)))
        for row in rows.tolist():
            start = int(block.starts[row]) * 8
            payload = block.data[start + 8 : start + int(block.sizes[row])].tobytes()
            self._draft.add_record(int(block.types[row]), int(block.misc[row]), payload)

    def _decode(self, block: Block, kind: int) -> None:
        """Side-band records of one type; by event where trailers differ between events."""
        rows = np.flatnonzero(block.types == kind)
        owners = self._draft.events.of_others(block, rows)
        for owner in np.unique(owners).tolist():
            self._decode_of_event(block, kind, rows[owners == owner], owner)

    def _decode_of_event(self, block: Block, kind: int, rows: I64, owner: int) -> None:
        events = self._draft.events.events
        event = events[owner if 0 <= owner < len(events) else 0] if events else None
        at = Cursor(block, rows, trailer_length(event) if event else 0)
        decoder = DECODERS[kind]
        columns = {"position": block.positions.take(rows), "event": np.full(len(rows), owner, np.int32)}
        trailer = read_trailer(at, event)
        columns |= {"time": trailer.time, "pid": trailer.pid, "tid": trailer.tid, "cpu": trailer.cpu}
        columns |= decoder.decode(at, block.misc.take(rows))
        self._count_malformed(int(at.bad.sum()), kind)
        builder = self._builders.setdefault(decoder.table, TableBuilder(TABLES[decoder.table]))
        builder.append(columns, ~at.bad)

    def _count_malformed(self, number: int, kind: int) -> None:
        self.diagnostics.add(
            "records_malformed", Severity.LOSS, "A record is cut short or damaged.", count=number, where=_NAMES[kind]
        )

    def _finish(self) -> None:
        counts = dict(self._counts)
        for kind, number in self._stream.outer_counts.items():
            counts[kind] = counts.get(kind, 0) + number
        unknown = sum(number for kind, number in counts.items() if kind not in _NAMES)
        self.diagnostics.add(
            "records_of_unknown_type", Severity.INFO, "Written by a newer perf; skipped by their size.", count=unknown
        )
        named = {_NAMES.get(kind, f"UNKNOWN_{kind}"): counts[kind] for kind in sorted(counts)}
        self.session = self._draft.session()
        self.sideband = build_sideband(self._builders, named, self._stream.end)
        strangers = sum(int((owners < 0).sum()) for owners in self._events_of_samples)
        self.sample_count = counts.get(RecordType.SAMPLE, 0) - strangers
        self.diagnostics.add(
            "samples_of_unknown_event", Severity.LOSS,
            "Samples carry an id that no event of the file has; they cannot be decoded.", count=strangers,
        )  # fmt: skip

    def samples(self, want: Want) -> Iterator[Samples]:
        """Batches in file order."""
        layouts = [layout_of(event) for event in self.session.events]
        periods = np.array(
            [_default_period(event.sample_period, event.flags) for event in self.session.events], np.uint64
        )
        for block, owners in zip(self._stream.blocks(), self._events_of_samples, strict=True):
            rows = np.flatnonzero(block.types == RecordType.SAMPLE)
            known = owners >= 0
            if not known.all():
                rows, owners = rows[known], owners[known]
            if len(rows) and layouts:
                yield self._decode_samples(block, rows, owners.astype(np.int32), layouts, periods, want)

    def _decode_samples(
        self, block: Block, rows: I64, owners: I32, layouts: list[Layout], periods: U64, want: Want
    ) -> Samples:
        kinds = list(dict.fromkeys(layouts))
        kind_of_event = np.array([kinds.index(layout) for layout in layouts])
        kind_of_sample = kind_of_event.take(owners)
        parts = []
        for kind, layout in enumerate(kinds):
            mine = np.flatnonzero(kind_of_sample == kind) if len(kinds) > 1 else None
            chosen = (rows, owners) if mine is None else (rows[mine], owners[mine])
            if len(chosen[0]):
                samples, whole = decode_samples(block, *chosen, layout, periods, want)
                self._note_malformed_samples(len(whole) - int(whole.sum()))
                parts.append(kept_rows(samples, whole))
        return join_batches(parts)

    def _note_malformed_samples(self, number: int) -> None:
        self.diagnostics.add(
            "samples_malformed", Severity.LOSS, "Samples whose fields do not fit in them were left out.", count=number
        )


def _default_period(sample_period: int, flags: frozenset[str]) -> int:
    return sample_period if sample_period and "freq" not in flags else 1
