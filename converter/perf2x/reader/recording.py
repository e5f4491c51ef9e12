"""An opened recording: the index pass is done when it is made, sample passes can follow as often as wanted."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.abi.perffile import Feature
from perf2x.columnar.arrays import I32, I64, U64
from perf2x.columnar.unique import rows_by
from perf2x.reader.block import Block
from perf2x.reader.containers.open import open_path
from perf2x.reader.header.session_builder import Draft
from perf2x.reader.index import NAMES, Index, is_split
from perf2x.reader.lost_records import note_losses
from perf2x.reader.record_stream import Stream
from perf2x.reader.records.clamp import note, plausible_samples
from perf2x.reader.records.off_cpu_samples import is_off_cpu, override_off_cpu
from perf2x.reader.records.read_counters import Delivered
from perf2x.reader.records.samples import Layout, decode_samples, layout_of
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.events import ALL, Event, Samples, Session, Share, Sideband, Want
from perf2x.tables.sample_batches import join_batches, kept_rows, take_rows

Progress = Callable[[int, int], None]


def open_recording(
    path: str, *, diagnostics: Diagnostics | None = None, progress: Progress | None = None
) -> "PerfRecording":
    """Read a recording's header and side-band; ``path`` "-" is standard input.

    ``progress`` is called with bytes done and bytes in all. FormatError when it cannot be read.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    opened = open_path(path, diagnostics)
    return PerfRecording(opened.draft, opened.stream, diagnostics, progress)


class PerfRecording:
    """The Recording of tables/events.py."""

    session: Session
    sideband: Sideband
    sample_count: int
    diagnostics: Diagnostics

    def __init__(
        self, draft: Draft, stream: Stream, diagnostics: Diagnostics, progress: Progress | None = None
    ) -> None:
        self.diagnostics = diagnostics
        self._stream = stream
        self._noted_until = 0
        index = Index(draft, diagnostics)
        stream.before_noting = index.settle
        for block, done in stream.index():
            index.add(block)
            if progress is not None:
                progress(done, stream.total)
        for blob in stream.blobs:
            draft.add_feature(Feature.TRACING_DATA, blob.data.tobytes())
        self._owners, self._others = index.owners, index.others
        self._delivered = index.delivered()
        counts = dict(index.counts)
        for kind, number in stream.outer_counts.items():
            counts[kind] = counts.get(kind, 0) + number
        self.session = draft.session()
        self.sideband = index.sideband(counts, stream.end)
        self.sample_count = self._count_samples()
        self._note_unknown(counts)
        note_losses(self.session, self.sideband, diagnostics)

    def _note_unknown(self, counts: dict[int, int]) -> None:
        unknown = sum(number for kind, number in counts.items() if kind not in NAMES)
        self.diagnostics.add(
            "records_of_unknown_type", Severity.INFO, "Written by a newer perf; skipped by their size.", count=unknown
        )
        strangers = sum(int((owners < 0).sum()) for owners in self._owners)
        self.diagnostics.add(
            "samples_of_unknown_event", Severity.LOSS,
            "Samples carry an id that no event of the file has; they cannot be decoded.", count=strangers,
        )  # fmt: skip

    def _count_samples(self) -> int:
        """Samples as perf script counts them: split by group member, unknown events left out."""
        split = [event.index for event in self.session.events if is_split(event)]
        plain = sum(int(((owners >= 0) & ~np.isin(owners, split)).sum()) for owners in self._owners)
        return plain + sum(len(delivered.event) for delivered in self._delivered or [])

    def samples(self, want: Want, share: Share = ALL) -> Iterator[Samples]:
        """Batches in file order, those of a share."""
        kinds = _Kinds.of(self.session.events)
        for number, block in self._stream.blocks(self._others, share):
            owners = self._owners[number].astype(np.int32)
            if owners.min(initial=0) < 0:
                known = np.flatnonzero(owners >= 0)
                block, owners = block.only(known), owners[known]
            if not len(owners) or not self.session.events:
                continue
            batch = self._decode(block, owners, kinds, want)
            if self._delivered is not None:
                batch = self._split(batch, self._delivered[number])
            batch = self._plausible(block, batch)
            self._noted_until = max(self._noted_until, int(block.positions[-1]) + 1)
            if len(batch):
                yield batch

    def _decode(self, block: Block, owners: I32, kinds: "_Kinds", want: Want) -> Samples:
        """Decode by layout, and put the layouts together again."""
        if len(kinds.kinds) == 1:
            return self._decode_kind(block, owners, kinds, 0, want)
        kind_of_sample = kinds.of_event.take(owners)
        parts = []
        for kind, mine in rows_by(kind_of_sample):
            parts.append(self._decode_kind(block.only(mine), owners[mine], kinds, kind, want))
        return join_batches(parts)

    def _decode_kind(self, block: Block, owners: I32, kinds: "_Kinds", kind: int, want: Want) -> Samples:
        layout, off_cpu = kinds.kinds[kind]
        asked = want | Want.RAW if off_cpu else want
        samples, whole, unreadable = decode_samples(block, owners, layout, kinds.periods, asked)
        if off_cpu:
            samples, whole = override_off_cpu(samples, whole, want, block.order)
        self._note_malformed(block, len(whole) - int(whole.sum()))
        if unreadable is not None:
            self._note_unreadable(block, int(unreadable.sum()))
        return kept_rows(samples, whole)

    def _split(self, batch: Samples, delivered: Delivered) -> Samples:
        """Replace samples with counter values by what is delivered for them."""
        split = np.array([is_split(event) for event in self.session.events])[batch.event]
        if not split.any():
            return batch
        plain = np.flatnonzero(~split)
        sources = np.searchsorted(batch.position, delivered.position)
        whole = batch.position.take(sources, mode="clip") == delivered.position  # the others are malformed
        sources = sources[whole]
        rows = np.concatenate([plain, sources])
        order = np.argsort(rows, kind="stable")
        joined = take_rows(batch, rows[order])
        return replace(
            joined,
            event=np.concatenate([batch.event[plain], delivered.event[whole]])[order],
            period=np.concatenate([batch.period[plain], delivered.period[whole]])[order],
        )

    def _plausible(self, block: Block, batch: Samples) -> Samples:
        batch, counts = plausible_samples(batch)
        if counts and not self._is_noted(block):
            note(self.diagnostics, counts)
        return batch

    def _is_noted(self, block: Block) -> bool:
        """Whether the trouble in a block was counted already; samples may be read more than once."""
        return int(block.positions[-1]) < self._noted_until

    def _note_malformed(self, block: Block, number: int) -> None:
        """Count once, however often the samples are read."""
        if self._is_first_time(block):
            self.diagnostics.add(
                "samples_malformed", Severity.LOSS, "Samples whose fields do not fit in them were left out.", number
            )

    def _note_unreadable(self, block: Block, number: int) -> None:
        """Count once, however often the samples are read."""
        if self._is_first_time(block):
            self.diagnostics.add(
                "registers_of_unknown_layout", Severity.LOSS,
                "Samples hold registers in a layout of a newer kernel; they have no copied stack here.", number,
            )  # fmt: skip

    def _is_first_time(self, block: Block) -> bool:
        return int(block.positions[-1]) >= self._noted_until


class _Kinds(Struct, frozen=True):
    """What samples are decoded together: those of one layout that are read in one way."""

    kinds: list[tuple[Layout, bool]]
    """Layout, and whether what a BPF program measured overrides the fields."""
    of_event: I64
    """(events,) row of ``kinds``."""
    periods: U64
    """(events,) what a sample stands for when it does not say."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> "_Kinds":
        keys = [(layout_of(event), is_off_cpu(event)) for event in events]
        kinds: dict[tuple[Layout, bool], int] = {}
        of_event = [kinds.setdefault(key, len(kinds)) for key in keys]
        periods = [_default_period(event) for event in events]
        return cls(list(kinds), np.array(of_event, np.int64), np.array(periods, np.uint64))


def _default_period(event: Event) -> int:
    return event.sample_period if event.sample_period and "freq" not in event.flags else 1
