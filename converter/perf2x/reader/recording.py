"""An opened recording: indexed, ready for any number of sample passes.

The fingerprint covers what all earlier or truncated states of a recording have in common: events, and records up to
the first sample.

::

    killed, or still running   |header|attrs|records …|SAMPLE|…
    cut                        |header|attrs|records …|SAMPLE|………
    whole                      |header|attrs|records …|SAMPLE|………………………|features|
                                       └── fingerprint ───┘
"""

from collections.abc import Iterator, Sequence

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
from perf2x.reader.records.perf_stat import delivered_readings
from perf2x.reader.records.sample_decoder import SampleLayout, decode_samples, sample_layout
from perf2x.reader.records.variable_fields import DeliveredSamples


def open_recording(
    path: str,
    *,
    source: str = "",
    diagnostics: Diagnostics | None = None,
    progress: Progress | None = None,
    itrace: str = "",
    mapped: InputFile | None = None,
) -> Recording:
    """Open a recording and run the index pass; ``path`` "-" is standard input.

    ``source`` is the input's name in the session, if it is not the path. ``progress`` is called with the bytes done and
    the total. ``itrace`` selects the samples to make from Arm SPE trace, as in perf; "": all. ``mapped`` is the input,
    if already mapped. Raises FormatError if the input cannot be read, SettingError for an ``itrace`` that selects
    nothing of its trace.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    if path == "-" and mapped is None:
        mapped = map_input(path, diagnostics)  # a pipe can only be read once
    counts_before = [replace(count) for count in diagnostics.counts.values()]
    index = run_index_pass(open_input(path, source, diagnostics, mapped), diagnostics, progress)
    if index.late_events is not None:
        diagnostics.counts.clear()
        diagnostics.absorb(counts_before)
        index = run_index_pass(open_input(path, source, diagnostics, mapped), diagnostics, progress, index.late_events)
    groups = _DecodingGroups.of(index.session.events)
    recording = PerfRecording(index.session, index.sideband, index.sample_count, diagnostics, index, groups)
    if index.traces and index.session.events and is_decoded(index.session.features):
        from perf2x.reader.spe.spe_recording import SpeRecording

        return SpeRecording(recording, index.traces, itrace)
    if itrace:
        raise SettingError("", "itrace", ": the recording has no Arm SPE trace; record with: perf record -e arm_spe//")
    return recording


class PerfRecording(Frozen, eq=False):
    """Implements Recording of model/recording/events.py: an index, and the stream from which samples are decoded."""

    session: Session
    sideband: Sideband
    sample_count: int
    """The number of samples that perf script prints."""
    diagnostics: Diagnostics
    _index: RecordingIndex
    _groups: "_DecodingGroups"

    @property
    def fingerprint(self) -> bytes | None:
        """Digest shared by the finished recording and all earlier states of it."""
        return _fingerprint(self.session.events, self._index.stream)

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield the batches of a shard in file order."""
        if self.session.counts:
            if Want.COUNTS in want and shard.holds(0, 1):
                yield delivered_readings(self.sideband, self.session)
            return
        for number, block in self._index.stream.blocks(self._index.others, shard):
            owners = as_int32(self._index.owners[number])
            if owners.min(initial=0) < 0:
                has_owner = flatnonzero(owners >= 0)
                block, owners = block.only(has_owner), owners[has_owner]
            if not len(owners) or not self.session.events:
                continue
            batch = self._read_block(number, block, owners, want)
            if len(batch):
                yield batch

    def _read_block(self, number: int, block: Block, owners: I32, want: Want) -> Samples:
        """Decode the samples of one block, and count its damage."""
        damage = Diagnostics()
        batch = self._groups.decode(block, owners, want, damage)
        if self._index.delivered is not None:
            batch = _deliver(batch, self._index.delivered[number], self._groups.is_group_read)
        batch = clamp_samples(batch, damage)
        if not want & Want.REREAD:
            self.diagnostics.absorb(damage.counts.values())
        return batch


def _deliver(batch: Samples, delivered: DeliveredSamples, is_group_read: Bools) -> Samples:
    """Replace group reads by the samples delivered from them."""
    split = is_group_read[batch.event]
    if not split.any():
        return batch
    plain = flatnonzero(~split)
    sources = searchsorted(batch.position, delivered.position)
    whole = take(batch.position, sources, mode="clip") == delivered.position  # the other group reads are malformed
    sources = sources[whole]
    rows = np.concatenate([plain, sources])
    order = argsort(rows)
    joined = take_rows(batch, rows[order])
    return replace(
        joined,
        event=np.concatenate([batch.event[plain], delivered.event[whole]])[order],
        period=np.concatenate([batch.period[plain], delivered.period[whole]])[order],
    )


class _DecodingGroups(Frozen):
    """Groups of samples that are decoded together, because they have the same layout."""

    groups: list[tuple[SampleLayout, bool]]
    """Each layout, and whether a BPF program's measurement overrides the fields."""
    of_event: I64
    """(events,) index in ``groups``."""
    periods: U64
    """(events,) period of samples that do not have one."""
    is_group_read: Bools
    """(events,) whether samples are delivered from group reads, as increments of counters."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> "_DecodingGroups":
        groups: dict[tuple[SampleLayout, bool], int] = {}
        of_event = [groups.setdefault((sample_layout(event), is_off_cpu(event)), len(groups)) for event in events]
        periods = [1 if "freq" in event.flags else event.sample_period or 1 for event in events]
        reads = [is_group_read(event) for event in events]
        return cls(list(groups), as_int64(of_event), as_uint64(periods), np.array(reads, np.bool_))

    def decode(self, block: Block, owners: I32, want: Want, damage: Diagnostics) -> Samples:
        """Decode samples group by group, and merge the groups in file order; ``owners`` are their events."""
        if len(self.groups) == 1:
            return self._decode_group(block, owners, 0, want, damage)
        parts = []
        for group, rows in rows_by(take(self.of_event, owners)):
            parts.append(self._decode_group(block.only(rows), owners[rows], group, want, damage))
        return join_batches(parts)

    def _decode_group(self, block: Block, owners: I32, group: int, want: Want, damage: Diagnostics) -> Samples:
        layout, off_cpu = self.groups[group]
        needed = want | Want.RAW if off_cpu else want
        samples, whole, unreadable = decode_samples(block, owners, layout, self.periods, needed)
        if off_cpu:
            samples, whole = override_off_cpu(samples, whole, want, block.order)
        damage.add(
            "samples_malformed", "Samples that are too short for their fields were left out.",
            len(whole) - sum_of(whole),
        )  # fmt: skip
        damage.add(
            "registers_of_unknown_layout",
            "Samples have registers in a layout of a newer kernel; their user stack dumps were skipped.",
            0 if unreadable is None else sum_of(unreadable),
        )  # fmt: skip
        return select_rows(samples, whole)


_WIDTH = 16
_LAST = (int(RecordType.SAMPLE), int(UserRecordType.FINISHED_INIT))


def _fingerprint(events: Sequence[Event], stream: RecordStream) -> bytes | None:
    """Return a 16-byte digest of the events and of all records up to the first sample; None without samples.

    The first sample's time, thread and address distinguish recordings. The files of a directory are written in
    parallel, so only the first one counts, up to perf's FINISHED_INIT.
    """
    from hashlib import blake2b  # only datasets need it, and OpenSSL takes milliseconds to load

    digest = blake2b(digest_size=_WIDTH)
    digest.update(repr([(event.type, event.config, event.sample_type, event.ids) for event in events]).encode())
    last = _LAST[: len(stream.sections)]
    none = [np.zeros(0, np.int32)] * sum(map(len, stream.plans))
    for number, block in stream.blocks(none):
        if number >= len(stream.plans[0]):
            break
        ends = flatnonzero(np.isin(block.types, last))
        stop = int(block.starts[ends[0]] * 8 + block.sizes[ends[0]]) if len(ends) else len(block.data)
        digest.update(block.data[:stop].tobytes())
        if len(ends):
            return digest.digest()
    return None
