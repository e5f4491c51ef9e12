"""Samples as packets, each behind the stacks, threads and CPUs that it refers to by number.

Waits and times between tracepoints are slices on tracks below their thread's, each with the stack where it begins.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, I64, U8, U64, arange, flatnonzero
from perf2x.emitters.encoding.protobuf_cells import Cells, beside, nested, numbers, packed
from perf2x.emitters.encoding.protobuf_fields import message
from perf2x.emitters.perfetto.clocks import sequence_start
from perf2x.emitters.perfetto.event_descriptions import event_names, stack_sample_defaults
from perf2x.emitters.perfetto.message import COMMON_SEQUENCE, GOES_ON, packet, packet_rows
from perf2x.emitters.perfetto.samples.frame_rows import frame_table
from perf2x.emitters.perfetto.samples.interned_tables import interned_packets
from perf2x.emitters.perfetto.samples.sample_sequences import Stream, streams_of
from perf2x.emitters.perfetto.samples.stack_numbers import StackPaths, by_frequency, stack_paths
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.trace_schema import (
    ExecutionContext,
    InternedData,
    Mode,
    StackSample,
    TaskContext,
    TracePacket,
)
from perf2x.emitters.perfetto.tracks.slice_packets import thread_slices
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind
from perf2x.model.profile.profile import Profile, ProfileSamples, Wait, placed_waits, wait_ends

_MODES = {
    CpuMode.KERNEL: Mode.MODE_KERNEL,
    CpuMode.USER: Mode.MODE_USER,
    CpuMode.HYPERVISOR: Mode.MODE_HYPERVISOR,
    CpuMode.GUEST_KERNEL: Mode.MODE_GUEST_KERNEL,
    CpuMode.GUEST_USER: Mode.MODE_GUEST_USER,
}

_WIDTH = np.int32(len(CpuMode))
"""Modes below one CPU, in a number that stands for both."""


class _EventSamples(Struct, frozen=True):
    """The samples of one sequence, (n,) columns in order of time."""

    sequence: int
    time: U64
    thread: I32
    """Row of Profile.threads."""
    cpu: I32
    """−1 where unknown."""
    mode: U8
    """CpuMode of the innermost frame; what perf2x made up has none."""
    callstack: I32
    """Number of the stack, from 1 on."""
    weights: tuple[I64, ...]
    """Of the event that was sampled, and of its followers."""


def sample_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the samples of all events, the one to see first before the others, each behind the stacks it needs."""
    paths, threads, names = stack_paths(profile.stacks, frame_table(profile)), thread_ids(profile), event_names(profile)
    for stream in streams_of(profile):
        leaves, samples = _samples_of(profile, stream, paths)
        counters = stack_sample_defaults([(profile.events[row], names[row]) for row in stream.events])
        yield sequence_start(profile.meta, samples.sequence, counters)
        yield from interned_packets(profile, paths, leaves, samples.sequence)
        yield from _stack_samples(samples, threads)
        yield from _wait_packets(profile, stream.rows, samples.callstack, threads, samples.sequence)


def _samples_of(profile: Profile, stream: Stream, paths: StackPaths) -> tuple[I64, _EventSamples]:
    """Return the stacks of a sequence's samples, as leaves in the order of their numbers, and the samples."""
    samples, rows = profile.samples, stream.rows
    leaves, callstack = by_frequency(samples.stack[rows])
    mode = np.append(np.where(profile.locations.synthetic, 0, profile.locations.mode), 0).astype(np.uint8)
    return leaves, _EventSamples(
        sequence=COMMON_SEQUENCE + 1 + stream.events[0],
        time=samples.times[rows],
        thread=samples.thread[rows],
        cpu=samples.cpus[rows],
        mode=np.append(np.uint8(0), mode[paths.location[leaves]])[callstack],
        callstack=callstack,
        weights=stream.weights,
    )


def _stack_samples(samples: _EventSamples, threads: ThreadIds) -> Iterator[bytes]:
    """Yield StackSample packets, behind the threads, CPUs and modes that they refer to."""
    tasks, task = by_frequency(threads.number[samples.thread])
    contexts, context = by_frequency((samples.cpu + 1) * _WIDTH + samples.mode)
    yield _contexts(threads, tasks, contexts, samples.sequence)

    def fields(rows: slice) -> list[Cells]:
        cells = [
            numbers(StackSample.TASK_CONTEXT_IID, task[rows]),
            numbers(StackSample.EXECUTION_CONTEXT_IID, context[rows]),
            numbers(StackSample.CALLSTACK_IID, samples.callstack[rows]),
            numbers(StackSample.PRIMARY_WEIGHT, samples.weights[0][rows]),
        ]
        if len(samples.weights) > 1:
            cells.append(packed(StackSample.FOLLOWER_WEIGHTS, [weights[rows] for weights in samples.weights[1:]]))
        return cells

    yield from packet_rows(TracePacket.STACK_SAMPLE, samples.time, fields, samples.sequence, GOES_ON)


def _contexts(threads: ThreadIds, tasks: I64, contexts: I64, sequence: int) -> bytes:
    """Encode threads (numbers of ThreadIds) and pairs of CPU and mode, in the order of their numbers."""
    count = arange(1, len(tasks) + 1)
    task = [
        numbers(TaskContext.IID, count),
        numbers(TaskContext.PID, threads.pid[tasks]),
        numbers(TaskContext.TID, threads.tid[tasks]),
    ]
    cpu, mode = contexts // _WIDTH - 1, contexts % _WIDTH
    modes = np.array([_MODES.get(CpuMode(row), 0) for row in CpuMode], np.int64)[mode]
    context = [
        numbers(ExecutionContext.IID, arange(1, len(contexts) + 1)),
        numbers(ExecutionContext.CPU, np.maximum(cpu, 0), left_out=cpu < 0),
        numbers(ExecutionContext.MODE, modes, left_out=modes == 0),
    ]
    tables = nested(InternedData.STACK_SAMPLE_TASK_CONTEXTS, beside(task)).tobytes()
    tables += nested(InternedData.STACK_SAMPLE_EXECUTION_CONTEXTS, beside(context)).tobytes()
    return packet(message(TracePacket.INTERNED_DATA, tables), sequence, GOES_ON)


_NAMES = {Wait.BLOCKED: "blocked", Wait.PREEMPTED: "preempted", Wait.UNTOLD: "waiting"}


def _wait_packets(profile: Profile, rows: I64, callstack: I32, ids: ThreadIds, sequence: int) -> Iterator[bytes]:
    """Yield the waits among ``rows`` of Profile.samples; ``callstack`` (rows,) are numbers on this sequence."""
    samples = profile.samples
    if samples.wait is None or samples.time is None:
        return
    held = flatnonzero(placed_waits(samples)[rows])
    if not len(held):
        return
    rows, stacks = rows[held], callstack[held]
    thread, name = ids.number[samples.thread[rows]].astype(np.int64), samples.wait[rows].astype(np.int64)
    texts, bounds = list(_NAMES.values()), _bounds(samples, samples.time, rows)
    yield from thread_slices(ids, thread, TrackKind.WAITS, "off-cpu", texts, bounds, name, sequence, stacks)


def _bounds(samples: ProfileSamples, time: U64, rows: I64) -> U64:
    bounds: U64 = np.stack([time[rows], wait_ends(samples)[rows]], axis=1)
    return bounds
