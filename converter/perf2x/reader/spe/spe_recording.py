"""Reads a recording's Arm SPE trace as samples, which come after the recorded samples.

A record of trace that does not name its thread gets the thread that was last switched in on its CPU, else the thread
that the buffer belongs to.

The trace of an AUX buffer is in blocks of trace, at whose ends records may be cut. Here it is divided into chunks of
complete records, about 128 KiB each, so that a sample pass can read each chunk alone::

    blocks of one buffer    |rec|rec|re| … |c|rec|rec|rec|       blocks of other buffers lie between
    chunks                  |rec|rec|rec|  |rec|rec|rec|
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    KeyedValues,
    arange,
    as_int32,
    as_int64,
    as_uint64,
    flatnonzero,
    searchsorted,
    sum_of,
    take_rows_of,
    unique,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.frozen_struct import Frozen
from perf2x.model.recording import ALL_BLOCKS, Recording, Samples, Session, Shard, Sideband, Want
from perf2x.reader.first_walk import TraceBlock
from perf2x.reader.record_block import join_bytes
from perf2x.reader.records.clamp_values import clamp_samples
from perf2x.reader.spe.data_sources import data_sources
from perf2x.reader.spe.make_samples import RecordFacts, SampleKinds, kinds_of, make_samples, sample_kinds
from perf2x.reader.spe.packets import find_packets
from perf2x.reader.spe.records import TraceRecords, read_records

# bytes of trace after which a chunk ends: what decoding allocates stays in the CPU cache
CHUNK_SIZE = 1 << 17


class _TraceChunk(Frozen):
    """Complete records of one buffer, in contiguous parts of blocks."""

    parts: tuple[TraceBlock, ...]
    position: int
    """Offset of the chunk's first byte in all trace of the recording."""
    records_before: int
    """Number of complete records between the buffer's last gap and this chunk."""

    def records(self) -> tuple[TraceRecords, int, int]:
        """Return what `read_records` does: complete records, the number of incomplete ones, and the size of all."""
        data = join_bytes([part.section.data[part.start : part.stop] for part in self.parts])
        return read_records(find_packets(data, self.parts[0].buffer_offset))

    def forget(self) -> None:
        for part in self.parts:
            part.section.forget(part.start, part.stop)


def _cut_into_chunks(blocks: Iterable[TraceBlock]) -> Iterator[tuple[_TraceChunk, TraceRecords, int]]:
    """Yield the chunks of each buffer in turn, their complete records, and the number of incomplete ones."""
    # by buffer: runs of blocks that follow each other without a gap
    runs: dict[int, list[list[TraceBlock]]] = {}
    for block in blocks:
        buffer_runs = runs.setdefault(block.buffer, [])
        if not buffer_runs or _buffer_end(buffer_runs[-1][-1]) != block.buffer_offset:
            buffer_runs.append([])
        buffer_runs[-1].append(block)
    position = 0
    for run in (run for buffer_runs in runs.values() for run in buffer_runs):
        yield from _cut_run(run, position)
        position += _buffer_end(run[-1]) - run[0].buffer_offset


def _buffer_end(block: TraceBlock) -> int:
    return block.buffer_offset + block.stop - block.start


def _cut_run(run: Sequence[TraceBlock], position: int) -> Iterator[tuple[_TraceChunk, TraceRecords, int]]:
    # cut at any byte, also within records: the loop below joins what belongs to one record
    parts = [
        replace(
            block,
            start=start,
            stop=min(start + CHUNK_SIZE, block.stop),
            buffer_offset=block.buffer_offset + start - block.start,
        )
        for block in run
        for start in range(block.start, block.stop, CHUNK_SIZE)
    ]
    pending: list[TraceBlock] = []  # the rest of a record that the last chunk cut off, and parts after it
    records_before = 0
    for part in parts:
        pending.append(part)
        size = _buffer_end(part) - pending[0].buffer_offset
        if size < CHUNK_SIZE and part is not parts[-1]:
            continue
        chunk = _TraceChunk(tuple(pending), position, records_before)
        records, incomplete, used_size = chunk.records()
        # no record is as long as CHUNK_SIZE: bytes without an end of a record are damaged, and skipped
        pending = _without_beginning(pending, used_size or size)
        # bytes without an end of a record count as an incomplete record, also at the end of the run
        yield chunk, records, incomplete + bool(not used_size or (part is parts[-1] and pending))
        position += used_size or size
        records_before += len(records)


def _without_beginning(parts: Sequence[TraceBlock], size: int) -> list[TraceBlock]:
    begin = parts[0].buffer_offset + size
    return [
        replace(
            part,
            start=part.stop - min(_buffer_end(part) - begin, part.stop - part.start),
            buffer_offset=max(begin, part.buffer_offset),
        )
        for part in parts
        if _buffer_end(part) > begin
    ]


class _TraceThreads:
    """The thread on each CPU, and the process of each thread, over time, by the side-band."""

    def __init__(self, sideband: Sideband) -> None:
        switches, tables = sideband.switches, (sideband.comms, sideband.forks, sideband.mmaps)
        switch_ins = flatnonzero(~switches.is_out)
        table_times = np.concatenate([table.time for table in tables])
        self._times = unique(np.concatenate([switches.time[switch_ins], table_times]))
        cpu, tid = as_int64(switches.cpu[switch_ins]), as_int64(switches.tid[switch_ins])
        self._thread_on_cpu = KeyedValues(cpu, self._rank(switches.time[switch_ins]), tid)
        tid = as_int64(np.concatenate([table.tid for table in tables]))
        pid = as_int64(np.concatenate([table.pid for table in tables]))
        self._process_of_thread = KeyedValues(tid, self._rank(table_times), pid)

    def of_records(self, context: I64, time: U64 | None, tid: int, cpu: int) -> tuple[I32, I32]:
        """Return process and thread (n,) of records; −1 if unknown.

        ``context`` (n,) is the record's own thread, −1 for none; ``tid`` and ``cpu`` are the buffer's, −1 for all.
        Without ``time`` (n,), the state at the end of the recording counts.
        """
        last_rank = np.full(len(context), len(self._times), np.int64)
        rank = last_rank if time is None else self._rank(time)
        on_cpu = self._thread_on_cpu.at(np.full(len(context), cpu, np.int64), rank)
        thread = np.where(context >= 0, context, np.where(on_cpu >= 0, on_cpu, tid))
        process = self._process_of_thread.at(thread, rank)
        # the idle thread, and threads whose process is recorded later
        unknown_rows = flatnonzero(process < 0)
        process[unknown_rows] = np.where(
            thread[unknown_rows] == 0, 0, self._process_of_thread.at(thread[unknown_rows], last_rank[unknown_rows])
        )
        return as_int32(process), as_int32(thread)

    def _rank(self, time: U64) -> I64:
        return searchsorted(self._times, time, "right")


_FINGERPRINT_BYTES = 4096


class SpeRecording:
    """A Recording (model/recording/events.py) with the samples and events of Arm SPE after the recorded ones."""

    def __init__(self, recording: Recording, blocks: Sequence[TraceBlock], itrace: str) -> None:
        """Read all blocks once. Raises SettingError for an ``itrace`` that Arm SPE does not support."""
        self._recording, self._blocks = recording, blocks
        session, sideband = recording.session, recording.sideband
        trace_info: Any = session.features["hardware_trace"]
        self._kinds = sample_kinds(itrace)
        self._cpus = _cpus(trace_info, session, blocks)
        pmu_types = {trace_info.get("pmu_type"), *(cpu.get("pmu_type") for cpu in trace_info.get("cpus", ()))}
        trace_event = next((event for event in session.events if event.type in pmu_types), session.events[0])
        added = self._kinds.events(session.events, trace_event)
        has_times = bool(added[0].sample_type & SampleType.TIME)
        clock: Mapping[str, int] = trace_info.get("clock", {})
        self._clock = clock if has_times and clock.get("mult") else None  # from TIME_CONV
        self.session: Session = replace(session, events=session.events + added)
        self.diagnostics: Diagnostics = recording.diagnostics
        self._threads = _TraceThreads(sideband)
        self._position = sideband.stream_end
        self.sideband = replace(sideband, stream_end=self._position + sum(block.stop - block.start for block in blocks))
        self._chunks: list[_TraceChunk] = []
        self.sample_count = recording.sample_count + self._cut_and_count(has_times)

    def _cut_and_count(self, has_times: bool) -> int:
        count = incomplete_count = 0
        for chunk, records, incomplete in _cut_into_chunks(self._blocks):
            incomplete_count += incomplete
            if len(records):
                self._chunks.append(chunk)
                count += sum_of(kinds_of(_every_nth(records, chunk, self._kinds), self._kinds))
            chunk.forget()
        note = self.diagnostics.add
        note("spe_records_damaged", "Their packets are impossible or missing.", incomplete_count)
        lacks_clock = has_times and not self._clock and count > 0
        note("spe_clock_missing", "Its samples have no time without a record TIME_CONV.", lacks_clock)
        return count

    @property
    def fingerprint(self) -> bytes | None:
        """A 16-byte digest of the recording's fingerprint and the first bytes of trace; None if both are missing."""
        first = self._blocks[0]
        trace = first.section.data[first.start : first.stop]
        content = (self._recording.fingerprint or b"") + trace[:_FINGERPRINT_BYTES].tobytes()
        return hashlib.blake2b(content, digest_size=16).digest() if content else None

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield the batches of a shard: recorded ones in file order, then those of the trace, buffer by buffer."""
        yield from self._recording.samples(want, shard)
        for number, chunk in enumerate(self._chunks):
            if shard.holds(number, len(self._chunks)):
                batch = self._batch(chunk, want)
                if len(batch):
                    yield batch
                chunk.forget()

    def _batch(self, chunk: _TraceChunk, want: Want) -> Samples:
        records = _every_nth(chunk.records()[0], chunk, self._kinds)
        first_block = chunk.parts[0]
        time = None if self._clock is None else self._times(records, first_block, self._clock)
        pid, tid = self._threads.of_records(records.context.view(np.int64), time, first_block.tid, first_block.cpu)
        position = records.begin + (self._position + chunk.position)
        sources = data_sources(records, *self._cpus.get(first_block.cpu, (0, 0)))
        facts = RecordFacts(position, time, pid, tid, first_block.cpu, sources)
        first = len(self.session.events) - len(self._kinds.names)
        return clamp_samples(make_samples(records, facts, self._kinds, first, want), Diagnostics())

    def _times(self, records: TraceRecords, first_block: TraceBlock, clock: Mapping[str, int]) -> U64:
        """Return the times (n,) of records in nanoseconds.

        If the trace has no timestamps (ts_enable=0), these are the times at which the kernel delivered it
        (PERF_RECORD_AUX).
        """
        auxes = take_rows_of(self.sideband.auxes, self.sideband.auxes.cpu == first_block.cpu)
        if records.ticks.any() or not len(auxes):
            return _nanoseconds(records.ticks, clock)
        rows = searchsorted(auxes.offset, as_uint64(records.begin) + np.uint64(first_block.buffer_offset), "right")
        return auxes.time[np.maximum(rows - 1, 0)]


def _every_nth(records: TraceRecords, chunk: _TraceChunk, kinds: SampleKinds) -> TraceRecords:
    """Select every Nth record since the buffer's last gap."""
    if kinds.period == 1:
        return records
    return take_rows_of(records, slice(-(chunk.records_before + 1) % kinds.period, None, kinds.period))


def _nanoseconds(ticks: U64, clock: Mapping[str, int]) -> U64:
    """Convert ``ticks`` to nanoseconds of the recording's clock (tsc_to_perf_time in tools/perf/util/tsc.c).

    A record without ticks (0) gets those of the last record of the chunk before it that has some, else of the first one
    after it.
    """
    timed_rows = flatnonzero(ticks)
    if 0 < len(timed_rows) < len(ticks):
        previous = searchsorted(timed_rows, arange(len(ticks)), "right") - 1
        ticks = ticks[timed_rows[np.maximum(previous, 0)]]
    shift, mult, zero = np.uint64(clock["shift"] & 63), np.uint64(clock["mult"]), np.uint64(clock["zero"])
    if clock.get("short"):  # fewer than 64 bits; may have wrapped since ``cycles``
        cycles = np.uint64(clock["cycles"])
        ticks = cycles + (ticks - cycles & np.uint64(clock["mask"]))
    # in two parts so that the product does not overflow
    remainder = ticks & (np.uint64(1) << shift) - np.uint64(1)
    return zero + (ticks >> shift) * mult + (remainder * mult >> shift)


def _cpus(trace_info: Mapping[str, Any], session: Session, blocks: Sequence[TraceBlock]) -> dict[int, tuple[int, int]]:
    """Return MIDR_EL1 and event filter of each buffer's CPU; 0 if unknown. ``trace_info``: see `hardware_trace`.

    CPU −1 is a thread's buffer on all CPUs; it is missing if these are of different kinds.
    """
    if "cpus" not in trace_info:  # older versions of perf recorded the identity of one CPU alone
        match = re.match(r"(?:0x)?([0-9a-fA-F]{1,16})", str(session.features.get("cpuid", "")))
        return dict.fromkeys((block.cpu for block in blocks), (int(match[1], 16) if match else 0, 0))
    cpus = {cpu["cpu"]: (cpu.get("midr", 0), cpu.get("event_filter", 0)) for cpu in trace_info["cpus"]}
    if len({midr for midr, _ in cpus.values()}) == 1:
        cpus[-1] = next(iter(cpus.values()))
    return cpus
