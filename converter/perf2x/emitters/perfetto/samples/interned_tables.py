"""The tables that a sequence's samples refer to, as packets in front of them: stacks, frames, names, files."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, arange, row_slices
from perf2x.base.columnar.ragged import Ragged, side_by_side
from perf2x.base.columnar.unique import unique_inverse, unique_known
from perf2x.emitters.encoding.protobuf import Ids, number_field, top_level
from perf2x.emitters.encoding.protobuf_cells import beside, nested, numbers_but_0
from perf2x.emitters.encoding.protobuf_fields import message, number
from perf2x.emitters.perfetto.message import GOES_ON, interned_string, packet
from perf2x.emitters.perfetto.samples.frame_rows import FrameTable
from perf2x.emitters.perfetto.samples.stack_numbers import StackPaths, used_frames
from perf2x.emitters.perfetto.trace_schema import Callstack, Frame, InternedData, Mapping, TracePacket
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile

_ROWS_AT_ONCE = 1 << 16


def interned_packets(profile: Profile, paths: StackPaths, leaves: I64, sequence: int) -> Iterator[bytes]:
    """Yield packets with the stacks of ``leaves``, numbered from 1, and all that they refer to."""
    used, number_of = used_frames(paths, leaves)
    yield from (_packet(tables, sequence) for tables in _frame_tables(profile, paths.frames, used))
    ids = Ids(len(used), Callstack.FRAME_IDS)
    first = 1
    for rows in paths.of(leaves):
        numbers = arange(first, first + len(rows))
        frame_ids = ids.rows(Ragged(rows.offsets, number_of[rows.values] - 1))
        stacks = side_by_side([number_field(Callstack.IID, numbers), frame_ids])
        yield _packet(top_level(InternedData.CALLSTACKS, stacks), sequence)
        first += len(rows)


def _packet(tables: bytes, sequence: int) -> bytes:
    return packet(message(TracePacket.INTERNED_DATA, tables), sequence, GOES_ON)


def _frame_tables(profile: Profile, frames: FrameTable, used: I64) -> Iterator[bytes]:
    """Yield names, source files, mappings and frames, in the order in which one refers to the other."""
    names, name = unique_inverse(frames.name[used])
    yield _texts(InternedData.FUNCTION_NAMES, names, lambda row: frames.names[row].encode())
    name = name.astype(np.int32)  # here and below: columns of all frames
    sources, source = unique_known(np.where(frames.source[used] > 0, frames.source[used], -1))
    source = source.astype(np.int32)
    yield _texts(InternedData.SOURCE_PATHS, sources, lambda row: printable(profile.strings[row]).encode())
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


def _texts(field: InternedData, rows: AnyArray, text_of: Callable[[int], bytes]) -> bytes:
    """Number texts from 1 on, in the order of ``rows``."""
    return b"".join(interned_string(field, iid, text_of(row)) for iid, row in enumerate(rows.tolist(), 1))


def _mappings(profile: Profile, rows: Sequence[int]) -> bytes:
    """Encode files, each with its build id; the last row of all stands for what lies in no file.

    Without address ranges: with them, readers keep the frames of every process apart.
    """
    pieces = []
    for iid, row in enumerate(rows, 1):
        payload = number(Mapping.IID, iid)
        if row < len(profile.mappings):
            filename = printable(profile.strings[profile.mappings.filename[row]])
            build_id = _build_id(profile.strings[profile.mappings.build_id[row]])
            path = filename.removeprefix("/").encode()  # readers put a slash in front
            pieces.append(interned_string(InternedData.MAPPING_PATHS, iid, path))
            if build_id:
                pieces.append(interned_string(InternedData.BUILD_IDS, iid, build_id))
                payload += number(Mapping.BUILD_ID, iid)
            payload += number(Mapping.PATH_STRING_IDS, iid)
        pieces.append(message(InternedData.MAPPINGS, payload))
    return b"".join(pieces)


def _build_id(text: str) -> bytes:
    """Return the bytes of a build id in hex; nothing for what is none."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
