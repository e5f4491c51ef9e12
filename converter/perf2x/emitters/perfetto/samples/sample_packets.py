"""Sample packets, and the interned tables that they refer to: stacks, frames, names, files, threads and CPUs.

Waits are slices on tracks below those of their threads, each with the stack at its start.
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
    EncodedIds,
    join_fields,
    message,
    message_cells,
    nonzero_cells,
    number,
    number_cells,
    number_field,
    packed_cells,
    top_level,
)
from perf2x.emitters.perfetto.event_descriptions import event_names, stack_sample_defaults
from perf2x.emitters.perfetto.packets_and_clocks import (
    COMMON_SEQUENCE,
    CONTINUES_SEQUENCE,
    interned_packet,
    interned_string,
    interned_strings,
    packets_of_columns,
    sequence_start,
)
from perf2x.emitters.perfetto.samples.sample_sequences import SampleSequence, sample_sequences
from perf2x.emitters.perfetto.samples.stack_ids import (
    FrameTable,
    StackTree,
    frame_table,
    intern_by_frequency,
    stack_tree,
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
from perf2x.model.profile import Profile, Wait, are_placed_waits, wait_ends

_ROWS_AT_ONCE = 1 << 16


def _stack_packets(profile: Profile, tree: StackTree, leaves: I64, sequence: int) -> Iterator[bytes]:
    used_rows, frame_iids = used_frames(tree, leaves)
    yield from (interned_packet(data, sequence) for data in _interned_frames(profile, tree.frames, used_rows))
    encoded_iids = EncodedIds(len(used_rows), Callstack.FRAME_IDS)
    first_iid = 1
    for stacks in tree.frame_lists(leaves):
        iids = arange(first_iid, first_iid + len(stacks))
        frame_fields = encoded_iids.rows(ListArray(stacks.offsets, frame_iids[stacks.values] - 1))
        callstacks = side_by_side([number_field(Callstack.IID, iids), frame_fields])
        yield interned_packet(top_level(InternedData.CALLSTACKS, callstacks), sequence)
        first_iid += len(stacks)


def _interned_frames(profile: Profile, frames: FrameTable, used_rows: I64) -> Iterator[bytes]:
    """``used_rows`` are rows of ``frames`` in the order of their interning ids."""
    names, name_index = unique_inverse(frames.name[used_rows])
    yield interned_strings({InternedData.FUNCTION_NAMES: map(frames.names.__getitem__, names.tolist())})
    # here and below: 32 bits save memory, because these columns have a row per frame
    name_index = name_index.astype(np.int32)
    sources, source_index = unique_known(np.where(frames.source[used_rows] > 0, frames.source[used_rows], -1))
    source_index = source_index.astype(np.int32)
    yield interned_strings({InternedData.SOURCE_PATHS: (printable(profile.strings[row]) for row in sources.tolist())})
    mappings, mapping_index = unique_inverse(frames.mapping[used_rows])
    mapping_index = mapping_index.astype(np.int32)
    yield _interned_mappings(profile, mappings.tolist())
    for rows in row_slices(len(used_rows), _ROWS_AT_ONCE):
        batch = used_rows[rows]
        fields = [
            nonzero_cells(Frame.IID, arange(rows.start, rows.stop) + 1),
            nonzero_cells(Frame.FUNCTION_NAME_ID, name_index[rows] + 1),
            nonzero_cells(Frame.MAPPING_ID, mapping_index[rows] + 1),
            nonzero_cells(Frame.REL_PC, frames.rel_pc[batch]),
            nonzero_cells(Frame.SOURCE_PATH_IID, source_index[rows] + 1),
            nonzero_cells(Frame.LINE_NUMBER, frames.line_number[batch]),
            nonzero_cells(Frame.KIND, frames.kind[batch]),
        ]
        yield message_cells(InternedData.FRAMES, join_fields(fields)).tobytes()


def _interned_mappings(profile: Profile, rows: Sequence[int]) -> bytes:
    """``rows`` are rows of Profile.mappings; the row after the last one stands for addresses outside all mappings.

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
"""Perfetto's mode for each CpuMode."""
_MODE_COUNT = np.int32(len(CpuMode))


def sample_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the samples of all events, those of the default event first, each after the stacks that it needs."""
    tree, ids, names = stack_tree(profile.stacks, frame_table(profile)), thread_ids(profile), event_names(profile)
    for sample_sequence in sample_sequences(profile):
        sequence = COMMON_SEQUENCE + 1 + sample_sequence.events[0]
        leaves, callstack_iids = intern_by_frequency(profile.samples.stack[sample_sequence.rows])
        defaults = stack_sample_defaults([(profile.events[row], names[row]) for row in sample_sequence.events])
        yield sequence_start(profile.meta, sequence, defaults)
        yield from _stack_packets(profile, tree, leaves, sequence)
        yield from _stack_samples(profile, sample_sequence, tree, callstack_iids, ids, sequence)
        yield from _wait_packets(profile, sample_sequence.rows, callstack_iids, ids, sequence)


def _stack_samples(
    profile: Profile,
    sample_sequence: SampleSequence,
    tree: StackTree,
    callstack_iids: I32,
    ids: ThreadIds,
    sequence: int,
) -> Iterator[bytes]:
    samples, sample_rows = profile.samples, sample_sequence.rows
    tasks, task_iids = intern_by_frequency(ids.row_of_thread[samples.thread[sample_rows]])
    # (locations + 1,) synthetic frames have no mode; the last entry is for samples without a stack
    location_mode = np.append(np.where(profile.locations.synthetic, 0, profile.locations.mode), 0).astype(np.uint8)
    mode = location_mode[tree.location[samples.stack[sample_rows]]]
    # CPU and mode as one number; CPU −1 is unknown
    contexts, context_iids = intern_by_frequency((samples.cpus[sample_rows] + 1) * _MODE_COUNT + mode)
    yield _contexts(ids, tasks, contexts, sequence)

    def fields(rows: slice) -> list[Cells]:
        cells = [
            number_cells(StackSample.TASK_CONTEXT_IID, task_iids[rows]),
            number_cells(StackSample.EXECUTION_CONTEXT_IID, context_iids[rows]),
            number_cells(StackSample.CALLSTACK_IID, callstack_iids[rows]),
            number_cells(StackSample.PRIMARY_WEIGHT, sample_sequence.weights[0][rows]),
        ]
        if len(sample_sequence.weights) > 1:
            cells.append(
                packed_cells(StackSample.FOLLOWER_WEIGHTS, [weights[rows] for weights in sample_sequence.weights[1:]])
            )
        return cells

    yield from packets_of_columns(
        TracePacket.STACK_SAMPLE, samples.times[sample_rows], fields, sequence, CONTINUES_SEQUENCE
    )


def _contexts(ids: ThreadIds, tasks: I64, contexts: I64, sequence: int) -> bytes:
    """``tasks`` are rows of ``ids``; ``contexts`` are (CPU + 1) · number of modes + mode."""
    task_fields = [
        number_cells(TaskContext.IID, arange(1, len(tasks) + 1)),
        number_cells(TaskContext.PID, ids.pid[tasks]),
        number_cells(TaskContext.TID, ids.tid[tasks]),
    ]
    cpu, mode = contexts // _MODE_COUNT - 1, contexts % _MODE_COUNT
    context_fields = [
        number_cells(ExecutionContext.IID, arange(1, len(contexts) + 1)),
        number_cells(ExecutionContext.CPU, np.maximum(cpu, 0)).without(cpu < 0),
        nonzero_cells(ExecutionContext.MODE, _MODES[mode]),
    ]
    tables = message_cells(InternedData.STACK_SAMPLE_TASK_CONTEXTS, join_fields(task_fields)).tobytes()
    tables += message_cells(InternedData.STACK_SAMPLE_EXECUTION_CONTEXTS, join_fields(context_fields)).tobytes()
    return interned_packet(tables, sequence)


# in the order of the values of Wait, which start at 1: these values are the names' interning ids
_WAIT_NAMES = {Wait.BLOCKED: "blocked", Wait.PREEMPTED: "preempted", Wait.UNKNOWN: "waiting"}


def _wait_packets(profile: Profile, rows: I64, callstack_iids: I32, ids: ThreadIds, sequence: int) -> Iterator[bytes]:
    samples = profile.samples
    waits = flatnonzero(are_placed_waits(samples)[rows])
    if samples.wait is None or not len(waits):
        return
    rows = rows[waits]
    thread, name_iids = as_int64(ids.row_of_thread[samples.thread[rows]]), as_int64(samples.wait[rows])
    names, bounds = list(_WAIT_NAMES.values()), np.stack([samples.times[rows], wait_ends(samples)[rows]], axis=1)
    callstack_iids = callstack_iids[waits]
    yield from thread_slices(
        ids, thread, TrackKind.WAITS, "off-cpu", names, bounds, name_iids, sequence, callstack_iids
    )
