"""Sample packets, and the interned tables that they refer to: stacks, frames, names, files, threads and CPUs.

Waits are slices on tracks below their thread's, each with the stack at its start.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I32,
    I64,
    ListArray,
    arange,
    as_int64,
    flatnonzero,
    row_slices,
    side_by_side,
    unique_inverse,
    unique_known,
)
from perf2x.emitters.encoding.protobuf import (
    Cells,
    Ids,
    beside,
    message,
    nested,
    number,
    number_field,
    numbers,
    numbers_but_0,
    packed,
    top_level,
)
from perf2x.emitters.perfetto.event_descriptions import event_names, stack_sample_defaults
from perf2x.emitters.perfetto.packets_and_clocks import (
    COMMON_SEQUENCE,
    GOES_ON,
    interned_packet,
    interned_string,
    interned_texts,
    packet_rows,
    sequence_start,
)
from perf2x.emitters.perfetto.samples.sample_sequences import Stream, streams_of
from perf2x.emitters.perfetto.samples.stack_numbers import (
    FrameTable,
    StackPaths,
    by_frequency,
    frame_table,
    stack_paths,
    used_frames,
)
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.trace_schema import (
    Callstack,
    ExecutionContext,
    Frame,
    InternedData,
    Mapping,
    Mode,
    StackSample,
    TaskContext,
    TracePacket,
)
from perf2x.emitters.perfetto.tracks.track_packets import TrackKind, thread_slices
from perf2x.model.printable_text import printable
from perf2x.model.profile import Profile, Wait, placed_waits, wait_ends

_ROWS_AT_ONCE = 1 << 16


def _interned_packets(profile: Profile, paths: StackPaths, leaves: I64, sequence: int) -> Iterator[bytes]:
    """Yield packets with the stacks of ``leaves``, numbered from 1, and everything that they refer to."""
    used, number_of = used_frames(paths, leaves)
    yield from (interned_packet(tables, sequence) for tables in _frame_tables(profile, paths.frames, used))
    ids = Ids(len(used), Callstack.FRAME_IDS)
    first = 1
    for rows in paths.of(leaves):
        numbers = arange(first, first + len(rows))
        frame_ids = ids.rows(ListArray(rows.offsets, number_of[rows.values] - 1))
        stacks = side_by_side([number_field(Callstack.IID, numbers), frame_ids])
        yield interned_packet(top_level(InternedData.CALLSTACKS, stacks), sequence)
        first += len(rows)


def _frame_tables(profile: Profile, frames: FrameTable, used: I64) -> Iterator[bytes]:
    """Yield names, source files, mappings and frames; each refers to the ones before."""
    names, name = unique_inverse(frames.name[used])
    yield interned_texts({InternedData.FUNCTION_NAMES: map(frames.names.__getitem__, names.tolist())})
    name = name.astype(np.int32)  # here and below: 32 bits, because these columns have a row per frame
    sources, source = unique_known(np.where(frames.source[used] > 0, frames.source[used], -1))
    source = source.astype(np.int32)
    yield interned_texts({InternedData.SOURCE_PATHS: (printable(profile.strings[row]) for row in sources.tolist())})
    mappings, mapping = unique_inverse(frames.mapping[used])
    mapping = mapping.astype(np.int32)
    yield _mappings(profile, mappings.tolist())
    for rows in row_slices(len(used), _ROWS_AT_ONCE):
        which = used[rows]
        fields = [
            numbers_but_0(Frame.IID, arange(rows.start, rows.stop) + 1),
            numbers_but_0(Frame.FUNCTION_NAME_ID, name[rows] + 1),
            numbers_but_0(Frame.MAPPING_ID, mapping[rows] + 1),
            numbers_but_0(Frame.REL_PC, frames.rel_pc[which]),
            numbers_but_0(Frame.SOURCE_PATH_IID, source[rows] + 1),
            numbers_but_0(Frame.LINE_NUMBER, frames.line[which]),
            numbers_but_0(Frame.KIND, frames.kind[which]),
        ]
        yield nested(InternedData.FRAMES, beside(fields)).tobytes()


def _mappings(profile: Profile, rows: Sequence[int]) -> bytes:
    """Encode files with their build ids; the last row stands for addresses outside all files.

    Address ranges are omitted: with them, readers would keep the frames of every process separate.
    """
    pieces = []
    for iid, row in enumerate(rows, 1):
        payload = number(Mapping.IID, iid)
        if row < len(profile.mappings):
            filename = printable(profile.strings[profile.mappings.filename[row]])
            build_id = bytes.fromhex(profile.strings[profile.mappings.build_id[row]])
            path = filename.removeprefix("/").encode()  # readers add the leading slash
            pieces.append(interned_string(InternedData.MAPPING_PATHS, iid, path))
            if build_id:
                pieces.append(interned_string(InternedData.BUILD_IDS, iid, build_id))
                payload += number(Mapping.BUILD_ID, iid)
            payload += number(Mapping.PATH_STRING_IDS, iid)
        pieces.append(message(InternedData.MAPPINGS, payload))
    return b"".join(pieces)


_MODES = as_int64([
    Mode.MODE_UNKNOWN, Mode.MODE_KERNEL, Mode.MODE_USER, Mode.MODE_HYPERVISOR, Mode.MODE_GUEST_KERNEL,
    Mode.MODE_GUEST_USER,
])  # fmt: skip
"""By CpuMode."""

_WIDTH = np.int32(len(CpuMode))
"""Number of modes, to combine CPU and mode into one number."""


def sample_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the samples of all events, the default event first, each after the stacks it needs."""
    paths, threads, names = stack_paths(profile.stacks, frame_table(profile)), thread_ids(profile), event_names(profile)
    for stream in streams_of(profile):
        sequence = COMMON_SEQUENCE + 1 + stream.events[0]
        leaves, callstack = by_frequency(profile.samples.stack[stream.rows])
        counters = stack_sample_defaults([(profile.events[row], names[row]) for row in stream.events])
        yield sequence_start(profile.meta, sequence, counters)
        yield from _interned_packets(profile, paths, leaves, sequence)
        yield from _stack_samples(profile, stream, paths, callstack, threads, sequence)
        yield from _wait_packets(profile, stream.rows, callstack, threads, sequence)


def _stack_samples(
    profile: Profile, stream: Stream, paths: StackPaths, callstack: I32, threads: ThreadIds, sequence: int
) -> Iterator[bytes]:
    """Yield StackSample packets, each after its thread, CPU and mode; ``callstack`` are interning ids."""
    samples, rows_of = profile.samples, stream.rows
    tasks, task = by_frequency(threads.number[samples.thread[rows_of]])
    mode = np.append(np.where(profile.locations.synthetic, 0, profile.locations.mode), 0).astype(np.uint8)
    innermost = mode[paths.location[samples.stack[rows_of]]]  # synthetic frames have no mode
    contexts, context = by_frequency((samples.cpus[rows_of] + 1) * _WIDTH + innermost)
    yield _contexts(threads, tasks, contexts, sequence)

    def fields(rows: slice) -> list[Cells]:
        cells = [
            numbers(StackSample.TASK_CONTEXT_IID, task[rows]),
            numbers(StackSample.EXECUTION_CONTEXT_IID, context[rows]),
            numbers(StackSample.CALLSTACK_IID, callstack[rows]),
            numbers(StackSample.PRIMARY_WEIGHT, stream.weights[0][rows]),
        ]
        if len(stream.weights) > 1:
            cells.append(packed(StackSample.FOLLOWER_WEIGHTS, [weights[rows] for weights in stream.weights[1:]]))
        return cells

    yield from packet_rows(TracePacket.STACK_SAMPLE, samples.times[rows_of], fields, sequence, GOES_ON)


def _contexts(threads: ThreadIds, tasks: I64, contexts: I64, sequence: int) -> bytes:
    """Encode threads (numbers of ThreadIds) and pairs of CPU and mode, in order of their numbers."""
    count = arange(1, len(tasks) + 1)
    task = [
        numbers(TaskContext.IID, count),
        numbers(TaskContext.PID, threads.pid[tasks]),
        numbers(TaskContext.TID, threads.tid[tasks]),
    ]
    cpu, mode = contexts // _WIDTH - 1, contexts % _WIDTH
    modes = _MODES[mode]
    context = [
        numbers(ExecutionContext.IID, arange(1, len(contexts) + 1)),
        numbers(ExecutionContext.CPU, np.maximum(cpu, 0)).without(cpu < 0),
        numbers_but_0(ExecutionContext.MODE, modes),
    ]
    tables = nested(InternedData.STACK_SAMPLE_TASK_CONTEXTS, beside(task)).tobytes()
    tables += nested(InternedData.STACK_SAMPLE_EXECUTION_CONTEXTS, beside(context)).tobytes()
    return interned_packet(tables, sequence)


_NAMES = {Wait.BLOCKED: "blocked", Wait.PREEMPTED: "preempted", Wait.UNKNOWN: "waiting"}


def _wait_packets(profile: Profile, rows: I64, callstack: I32, ids: ThreadIds, sequence: int) -> Iterator[bytes]:
    """Yield the waits among ``rows`` of Profile.samples; ``callstack`` (rows,) are interning ids of this sequence."""
    samples = profile.samples
    kept = flatnonzero(placed_waits(samples)[rows])
    if samples.wait is None or not len(kept):
        return
    rows = rows[kept]
    thread, name = as_int64(ids.number[samples.thread[rows]]), as_int64(samples.wait[rows])
    texts, bounds = list(_NAMES.values()), np.stack([samples.times[rows], wait_ends(samples)[rows]], axis=1)
    yield from thread_slices(ids, thread, TrackKind.WAITS, "off-cpu", texts, bounds, name, sequence, callstack[kept])
