"""A recording that was opened and indexed, ready for any number of sample passes.

The fingerprint is the same for the finished file, for an earlier state of it, and for a copy that is cut off: it covers
the events, and the records up to the first sample.

::

    killed, or still running   |header|attrs|records …|SAMPLE|…
    cut                        |header|attrs|records …|SAMPLE|………
    complete                   |header|attrs|records …|SAMPLE|………………………|features|
                                   └── fingerprint ───┘
"""

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import RecordType, UserRecordType, is_decoded
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    Frozen,
    argsort,
    as_int32,
    as_int64,
    as_uint64,
    flatnonzero,
    rows_by,
    searchsorted,
    sum_of,
    take,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import SettingError
from perf2x.model.recording import (
    ALL_BLOCKS,
    Event,
    Recording,
    Samples,
    Session,
    Shard,
    Sideband,
    Want,
    join_batches,
    select_rows,
    take_rows,
)
from perf2x.reader.containers.input_file import InputFile, map_input
from perf2x.reader.index_pass import Progress, RecordingIndex, is_group_read, run_index_pass
from perf2x.reader.open_input import open_input
from perf2x.reader.record_block import Block, RecordStream
from perf2x.reader.records.bpf_off_cpu_samples import is_off_cpu, override_off_cpu
from perf2x.reader.records.clamp_values import clamp_samples
from perf2x.reader.records.perf_stat import samples_from_readings
from perf2x.reader.records.sample_decoder import SampleLayout, decode_samples, sample_layout
from perf2x.reader.records.variable_fields import DeliveredSamples


def open_recording(
    path: str,
    *,
    source: str = "",
    diagnostics: Diagnostics | None = None,
    progress: Progress | None = None,
    itrace: str = "",
    mapped_input: InputFile | None = None,
) -> Recording:
    """Open a recording and run the index pass; ``path`` "-" is standard input.

    ``source`` is the input's name in the session, if it is not the path. ``progress`` is called with the bytes read so
    far and the total. ``itrace`` selects the samples to make from Arm SPE trace, as in perf; "": all. Raises
    FormatError if the input cannot be read, SettingError for an ``itrace`` that selects nothing of its trace.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    if path == "-" and mapped_input is None:
        mapped_input = map_input(path, diagnostics)  # a pipe can only be read once
    counts_before = [replace(count) for count in diagnostics.counts.values()]  # for a second index pass
    index = run_index_pass(open_input(path, source, diagnostics, mapped_input), diagnostics, progress)
    if index.late_events is not None:  # some records came before the definition of their event
        diagnostics.counts.clear()
        diagnostics.absorb(counts_before)
        index = run_index_pass(
            open_input(path, source, diagnostics, mapped_input), diagnostics, progress, index.late_events
        )
    layouts = _SampleLayouts.of(index.session.events)
    recording = PerfRecording(index.session, index.sideband, index.sample_count, diagnostics, index, layouts)
    if index.traces and index.session.events and is_decoded(index.session.features):
        from perf2x.reader.spe.spe_recording import SpeRecording

        return SpeRecording(recording, index.traces, itrace)
    if itrace:
        raise SettingError("", "itrace", ": the recording has no Arm SPE trace; record with: perf record -e arm_spe//")
    return recording


class PerfRecording(Frozen, eq=False):
    """A Recording (model/recording/events.py) of one input."""

    session: Session
    sideband: Sideband
    sample_count: int
    """The number of samples that perf script prints."""
    diagnostics: Diagnostics
    _index: RecordingIndex
    _layouts: "_SampleLayouts"

    @property
    def fingerprint(self) -> bytes | None:
        """A digest that all states of the recording share; None without samples."""
        return _fingerprint(self.session.events, self._index.stream)

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield the batches of a shard in file order."""
        if self.session.is_perf_stat:  # a single batch, made from the side-band
            if Want.COUNTS in want and shard.holds(0, 1):
                yield samples_from_readings(self.sideband, self.session)
            return
        for number, block in self._index.stream.blocks(self._index.other_rows, shard):
            owners = as_int32(self._index.owners[number])
            if owners.min(initial=0) < 0:
                owned_rows = flatnonzero(owners >= 0)
                block, owners = block.only(owned_rows), owners[owned_rows]
            if not len(owners) or not self.session.events:
                continue
            batch = self._read_block(number, block, owners, want)
            if len(batch):
                yield batch

    def _read_block(self, number: int, block: Block, owners: I32, want: Want) -> Samples:
        damage = Diagnostics()
        batch = self._layouts.decode(block, owners, want, damage)
        if self._index.delivered is not None:
            batch = _deliver(batch, self._index.delivered[number], self._layouts.is_group_read)
        batch = clamp_samples(batch, damage)
        if not want & Want.REREAD:
            self.diagnostics.absorb(damage.counts.values())
        return batch


def _deliver(batch: Samples, delivered: DeliveredSamples, is_group_read: Bools) -> Samples:
    """Replace group reads by the samples delivered from them: copies with another event and period."""
    is_replaced = is_group_read[batch.event]
    if not is_replaced.any():
        return batch
    remaining = flatnonzero(~is_replaced)
    group_read = searchsorted(batch.position, delivered.position)
    # malformed group reads are not in the batch
    has_group_read = take(batch.position, group_read, mode="clip") == delivered.position
    rows = np.concatenate([remaining, group_read[has_group_read]])
    order = argsort(rows)
    copies = take_rows(batch, rows[order])
    return replace(
        copies,
        event=np.concatenate([batch.event[remaining], delivered.event[has_group_read]])[order],
        period=np.concatenate([batch.period[remaining], delivered.period[has_group_read]])[order],
    )


class _SampleLayouts(Frozen):
    layouts: list[tuple[SampleLayout, bool]]
    """Distinct layouts, and whether the samples are off-CPU samples, whose fields are overridden by those in RAW."""
    layout_of_event: I64
    """(events,) the layout of each event, as an index in ``layouts``."""
    default_periods: U64
    """(events,) the period of samples that do not have a field for it: that of the event, or 1."""
    is_group_read: Bools
    """(events,) whether the event's samples are group reads, from which others are delivered."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> "_SampleLayouts":
        layouts: dict[tuple[SampleLayout, bool], int] = {}
        layout_of_event = [
            layouts.setdefault((sample_layout(event), is_off_cpu(event)), len(layouts)) for event in events
        ]
        default_periods = [1 if "freq" in event.flags else event.sample_period or 1 for event in events]
        group_reads = [is_group_read(event) for event in events]
        return cls(
            list(layouts), as_int64(layout_of_event), as_uint64(default_periods), np.array(group_reads, np.bool_)
        )

    def decode(self, block: Block, owners: I32, want: Want, damage: Diagnostics) -> Samples:
        if len(self.layouts) == 1:
            return self._decode_layout(block, owners, 0, want, damage)
        parts = []
        for number, rows in rows_by(take(self.layout_of_event, owners)):
            parts.append(self._decode_layout(block.only(rows), owners[rows], number, want, damage))
        return join_batches(parts)

    def _decode_layout(self, block: Block, owners: I32, number: int, want: Want, damage: Diagnostics) -> Samples:
        """Incomplete samples are left out, and counted as damage."""
        layout, has_off_cpu = self.layouts[number]
        needed = want | Want.RAW if has_off_cpu else want
        samples, is_complete, is_unreadable = decode_samples(block, owners, layout, self.default_periods, needed)
        if has_off_cpu:
            samples, is_complete = override_off_cpu(samples, is_complete, want, block.byte_order)
        damage.add(
            "samples_malformed", "Samples that are too short for their fields were left out.",
            len(is_complete) - sum_of(is_complete),
        )  # fmt: skip
        damage.add(
            "registers_of_unknown_layout",
            "Samples have registers in a layout of a newer kernel; their user stack dumps were skipped.",
            0 if is_unreadable is None else sum_of(is_unreadable),
        )  # fmt: skip
        return select_rows(samples, is_complete)


_DIGEST_SIZE = 16
_LAST_TYPES = (int(RecordType.SAMPLE), int(UserRecordType.FINISHED_INIT))


def _fingerprint(events: Sequence[Event], stream: RecordStream) -> bytes | None:
    """A 16-byte digest; None without samples.

    Of a directory, only the file with the header counts, up to the first sample or perf's FINISHED_INIT: perf writes
    the other files at the same time, so that they may grow at any moment.
    """
    from hashlib import blake2b  # only datasets need it; OpenSSL takes milliseconds to load

    digest = blake2b(digest_size=_DIGEST_SIZE)
    digest.update(repr([(event.type, event.config, event.sample_type, event.ids) for event in events]).encode())
    last_types = _LAST_TYPES[: len(stream.sections)]  # FINISHED_INIT only if there are further sections
    excluded = [np.zeros(0, np.int32)] * sum(map(len, stream.plans))  # exclude no records
    in_main_file = [section.file is stream.sections[0].file for section in stream.sections]
    main_blocks = sum(map(len, compress(stream.plans, in_main_file)))
    for number, block in stream.blocks(excluded):
        if number >= main_blocks:
            break
        last_rows = flatnonzero(np.isin(block.types, last_types))
        stop = int(block.starts[last_rows[0]] * 8 + block.sizes[last_rows[0]]) if len(last_rows) else len(block.data)
        digest.update(block.data[:stop].tobytes())
        if len(last_rows):
            return digest.digest()
    return None
