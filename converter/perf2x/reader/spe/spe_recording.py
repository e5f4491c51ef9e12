"""A recording whose Arm SPE trace is read as samples: recorded samples first, then those of the trace.

A record without a thread gets the one that was last switched in. Trace is cut into chunks of complete records, a few
hundred kB each, so that each can be read alone.

::

    blocks of one buffer    |rec|rec|re| … |c|rec|rec|rec| … |rec|       blocks of other buffers lie between
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

SPAN = 1 << 17
"""Approximate bytes of a chunk, so that the data of its decoding stays in the CPU cache."""


class _TraceChunk(Frozen):
    """Contiguous parts of one buffer."""

    pieces: tuple[TraceBlock, ...]
    position: int
    """Offset of its first byte within all trace of the recording."""
    first: int
    """Number of complete records before it, since the buffer's last gap."""

    def records(self) -> tuple[TraceRecords, int, int]:
        """Return the complete records, the number of damaged ones, and the offset after the last record's padding."""
        data = join_bytes([piece.section.data[piece.start : piece.stop] for piece in self.pieces])
        return read_records(find_packets(data, self.pieces[0].offset))

    def forget(self) -> None:
        """Advise the system that the bytes are not needed for now."""
        for piece in self.pieces:
            piece.section.forget(piece.start, piece.stop)


def _cut_trace(blocks: Iterable[TraceBlock]) -> Iterator[tuple[_TraceChunk, TraceRecords, int]]:
    """Yield the chunks of each buffer in turn, with complete records and the number of damaged or truncated ones."""
    runs: dict[int, list[list[TraceBlock]]] = {}
    for block in blocks:
        of_buffer = runs.setdefault(block.queue, [])
        if not of_buffer or _end(of_buffer[-1][-1]) != block.offset:
            of_buffer.append([])
        of_buffer[-1].append(block)
    position = 0
    for run in (run for of_buffer in runs.values() for run in of_buffer):
        yield from _cut_run(run, position)
        position += _end(run[-1]) - run[0].offset


def _end(block: TraceBlock) -> int:
    return block.offset + block.stop - block.start


def _cut_run(run: Sequence[TraceBlock], position: int) -> Iterator[tuple[_TraceChunk, TraceRecords, int]]:
    pieces = [
        replace(block, start=at, stop=min(at + SPAN, block.stop), offset=block.offset + at - block.start)
        for block in run
        for at in range(block.start, block.stop, SPAN)
    ]
    waiting: list[TraceBlock] = []
    first = 0
    for piece in pieces:
        waiting.append(piece)
        size = _end(piece) - waiting[0].offset
        if size < SPAN and piece is not pieces[-1]:
            continue
        chunk = _TraceChunk(tuple(waiting), position, first)
        records, damaged, used = chunk.records()
        waiting = _after(waiting, used or size)  # no record is that long
        yield chunk, records, damaged + (not used or (piece is pieces[-1] and len(waiting) > 0))
        position += used or size
        first += len(records)


def _after(pieces: Sequence[TraceBlock], used: int) -> list[TraceBlock]:
    """Return the parts without their first bytes."""
    at = pieces[0].offset + used
    return [
        replace(piece, start=piece.stop - min(_end(piece) - at, piece.stop - piece.start), offset=max(at, piece.offset))
        for piece in pieces
        if _end(piece) > at
    ]


class _TraceThreads:
    """Threads on CPUs, and processes of threads, over time."""

    def __init__(self, sideband: Sideband) -> None:
        switches, tables = sideband.switches, (sideband.comms, sideband.forks, sideband.mmaps)
        entered = flatnonzero(~switches.is_out)
        table_times = np.concatenate([table.time for table in tables])
        self._times = unique(np.concatenate([switches.time[entered], table_times]))
        cpu, tid = as_int64(switches.cpu[entered]), as_int64(switches.tid[entered])
        self._entered = KeyedValues(cpu, self._sequence(switches.time[entered]), tid)
        tid = as_int64(np.concatenate([table.tid for table in tables]))
        pid = as_int64(np.concatenate([table.pid for table in tables]))
        self._process = KeyedValues(tid, self._sequence(table_times), pid)

    def of(self, context: I64, time: U64 | None, tid: int, cpu: int) -> tuple[I32, I32]:
        """Return (n,) process and thread of records; −1: unknown.

        ``context`` (n,) is the record's own thread, −1 for none; ``tid`` and ``cpu`` are the buffer's.
        """
        last = np.full(len(context), len(self._times), np.int64)
        sequence = last if time is None else self._sequence(time)
        entered = self._entered.at(np.full(len(context), cpu, np.int64), sequence)
        thread = np.where(context >= 0, context, np.where(entered >= 0, entered, tid))
        process = self._process.at(thread, sequence)
        later = flatnonzero(process < 0)
        process[later] = np.where(thread[later] == 0, 0, self._process.at(thread[later], last[later]))
        return as_int32(process), as_int32(thread)

    def _sequence(self, time: U64) -> I64:
        return searchsorted(self._times, time, "right")


_BEGINNING = 4096
"""Bytes of trace that the fingerprint covers."""


class SpeRecording:
    """Implements Recording of model/recording/events.py, with Arm SPE's samples and events after the recorded ones."""

    def __init__(self, recording: Recording, blocks: Sequence[TraceBlock], itrace: str) -> None:
        """Read all blocks once, to cut and to count.

        Raises SettingError for an ``itrace`` that Arm SPE does not support.
        """
        self._recording, self._blocks = recording, blocks
        session, sideband = recording.session, recording.sideband
        known: Any = session.features["hardware_trace"]
        self._kinds = sample_kinds(itrace)
        self._cpus = _cpus(known, session, blocks)
        types = {known.get("pmu_type"), *(cpu.get("pmu_type") for cpu in known.get("cpus", ()))}
        trace = next((event for event in session.events if event.type in types), session.events[0])
        added = self._kinds.events(session.events, trace)
        timed = bool(added[0].sample_type & SampleType.TIME)
        self._ticks: Mapping[str, int] | None = known.get("clock", {}).get("mult") and known["clock"] if timed else None
        self.session: Session = replace(session, events=session.events + added)
        self.diagnostics: Diagnostics = recording.diagnostics
        self._threads = _TraceThreads(sideband)
        self._position = sideband.stream_end
        self.sideband = replace(sideband, stream_end=self._position + sum(one.stop - one.start for one in blocks))
        self._chunks: list[_TraceChunk] = []
        self.sample_count = recording.sample_count + self._count(timed)

    def _count(self, timed: bool) -> int:
        """Cut the trace and count its samples; report damage."""
        count = bad = 0
        for chunk, records, damaged in _cut_trace(self._blocks):
            bad += damaged
            if len(records):
                self._chunks.append(chunk)
                count += sum_of(kinds_of(_of_period(records, chunk, self._kinds), self._kinds))
            chunk.forget()
        note = self.diagnostics.add
        note("spe_records_damaged", "Their packets are impossible or missing.", bad)
        missing = int(timed and self._ticks is None and count > 0)
        note("spe_clock_missing", "Its samples have no time without a record TIME_CONV.", missing)
        return count

    @property
    def fingerprint(self) -> bytes | None:
        """A 16-byte digest of the first samples and the first bytes of trace; None without either."""
        first = self._blocks[0]
        data = first.section.data[first.start : first.stop][:_BEGINNING].tobytes()
        seen = (self._recording.fingerprint or b"") + data
        return hashlib.blake2b(seen, digest_size=16).digest() if seen else None

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield the batches of a shard: recorded ones, then those of the trace, each in file order."""
        yield from self._recording.samples(want, shard)
        for number, chunk in enumerate(self._chunks):
            if shard.holds(number, len(self._chunks)):
                batch = self._batch(chunk, want)
                if len(batch):
                    yield batch
                chunk.forget()

    def _batch(self, chunk: _TraceChunk, want: Want) -> Samples:
        records = _of_period(chunk.records()[0], chunk, self._kinds)
        buffer = chunk.pieces[0]
        time = None if self._ticks is None else self._times(records, buffer, self._ticks)
        pid, tid = self._threads.of(records.context.view(np.int64), time, buffer.tid, buffer.cpu)
        position = records.begin + (self._position + chunk.position)
        sources = data_sources(records, *self._cpus.get(buffer.cpu, (0, 0)))
        facts = RecordFacts(position, time, pid, tid, buffer.cpu, sources)
        first = len(self.session.events) - len(self._kinds.names)
        return clamp_samples(make_samples(records, facts, self._kinds, first, want), Diagnostics())

    def _times(self, records: TraceRecords, buffer: TraceBlock, clock: Mapping[str, int]) -> U64:
        """Return (n,) times; without any tick (ts_enable=0), the times at which the kernel delivered the trace."""
        auxes = take_rows_of(self.sideband.auxes, self.sideband.auxes.cpu == buffer.cpu)
        if records.ticks.any() or not len(auxes):
            return _times(records.ticks, clock)
        places = searchsorted(auxes.offset, as_uint64(records.begin) + np.uint64(buffer.offset), "right")
        return auxes.time[np.maximum(places - 1, 0)]


def _of_period(records: TraceRecords, chunk: _TraceChunk, kinds: SampleKinds) -> TraceRecords:
    """Return every Nth record of a buffer."""
    if kinds.period == 1:
        return records
    return take_rows_of(records, slice(-(chunk.first + 1) % kinds.period, None, kinds.period))


def _times(ticks: U64, clock: Mapping[str, int]) -> U64:
    """Return (n,) nanoseconds of the recording's clock (tsc_to_perf_time in tools/perf/util/tsc.c).

    Records without a time get the previous one's.
    """
    known = flatnonzero(ticks)
    if 0 < len(known) < len(ticks):
        before = searchsorted(known, arange(len(ticks)), "right") - 1
        ticks = ticks[known[np.maximum(before, 0)]]
    shift, mult, zero = np.uint64(clock["shift"] & 63), np.uint64(clock["mult"]), np.uint64(clock["zero"])
    if clock.get("short"):
        cycles = np.uint64(clock["cycles"])
        ticks = cycles + (ticks - cycles & np.uint64(clock["mask"]))
    part = ticks & (np.uint64(1) << shift) - np.uint64(1)
    return zero + (ticks >> shift) * mult + (part * mult >> shift)


def _cpus(known: Mapping[str, Any], session: Session, blocks: Sequence[TraceBlock]) -> dict[int, tuple[int, int]]:
    """Return the identity (MIDR) and event filters of each buffer's CPU.

    CPU −1 stands for a buffer of all CPUs; it is missing if they differ.
    """
    if "cpus" not in known:
        found = re.match(r"(?:0x)?([0-9a-fA-F]{1,16})", str(session.features.get("cpuid", "")))
        return dict.fromkeys((block.cpu for block in blocks), (int(found[1], 16) if found else 0, 0))
    cpus = {cpu["cpu"]: (cpu.get("midr", 0), cpu.get("event_filter", 0)) for cpu in known["cpus"]}
    if len({midr for midr, _ in cpus.values()}) == 1:
        cpus[-1] = next(iter(cpus.values()))
    return cpus
