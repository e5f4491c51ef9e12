"""Frames of all stacks, and the interning ids of one event's stacks and frames on a sequence of packets.

Interning ids (``iid``) start at 1. Frequent stacks and frames get the lowest ids, which are the shortest as varints.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    AnyArray,
    Bools,
    Frozen,
    ListArray,
    arange,
    argsort,
    as_int32,
    as_int64,
    bincount,
    flatnonzero,
    group_rows,
    number_keys,
    offsets_of,
    ranges,
    row_batches,
    row_numbers,
    unique_inverse,
    zeros,
)
from perf2x.emitters.perfetto.trace_schema import FrameKind
from perf2x.model.printable_text import printable
from perf2x.model.profile import (
    NO_STACK,
    Locations,
    Profile,
    Stacks,
    are_in_memory,
    depths,
    frame_name,
    functions_of,
    lines_outermost_first,
    paths_of_length,
)

_KERNEL_MODES = (CpuMode.KERNEL, CpuMode.HYPERVISOR, CpuMode.GUEST_KERNEL)
_PYTHON_PREFIX = "py::"
"""Prefix of the names of Python functions: CPython (-X perf) compiles a trampoline for each, which profilers see."""


class FrameTable(Frozen):
    """The frames of all locations, and a last frame, ``[no stack]``, for samples without a stack."""

    offsets: I64
    """(locations + 2,) location i has the frames from ``offsets[i]`` to before ``offsets[i + 1]``, outermost first.

    After the last location follows one with the frame ``[no stack]``.
    """
    names: list[str]
    """Distinct names; the following columns have an entry for each frame."""
    name: I32
    """Index in ``names``."""
    mapping: I32
    """Row of Profile.mappings; the number of mappings for frames outside all of them."""
    rel_pc: U64
    """Offset in the file; for the kernel, in the mapping; outside all mappings, the address."""
    source: I32
    """Source file: row of Profile.strings, 0 if unknown."""
    line_number: I32
    """0 if unknown."""
    kind: U8
    """A FrameKind."""


def frame_table(profile: Profile) -> FrameTable:
    """Return the frames of all locations; inlined functions are frames at the same address."""
    locations = profile.locations
    line_row, offsets = lines_outermost_first(locations)
    frame_location = row_numbers(np.diff(offsets))
    function, mapping = functions_of(locations, line_row), as_int32(locations.mapping[frame_location])
    names, name = _names(profile, function, mapping)
    no_mapping = np.int32(len(profile.mappings))
    is_python = np.array([name.startswith(_PYTHON_PREFIX) for name in names], np.bool_)[name]
    kind = _kinds(profile, function, mapping, frame_location, is_python)
    del is_python
    source = as_int32(np.append(profile.functions.filename, 0))[function]
    del function  # large columns are freed as soon as possible
    line_number = as_int32(np.append(np.maximum(locations.line_number, 0), 0))[line_row]
    del line_row
    rel_pc = _rel_pc(profile, locations)[frame_location]
    del frame_location
    return FrameTable(
        offsets=np.append(offsets, offsets[-1] + 1),
        names=[*names, NO_STACK],
        name=np.append(name, np.int32(len(names))),
        mapping=np.append(np.where(mapping >= 0, mapping, no_mapping), no_mapping),
        rel_pc=np.append(rel_pc, np.uint64(0)),
        source=np.append(source, np.int32(0)),
        line_number=np.append(line_number, np.int32(0)),
        kind=np.append(kind, np.uint8(0)),
    )


def _names(profile: Profile, function: I64, mapping: I32) -> tuple[list[str], I32]:
    """``function`` and ``mapping`` (frames,) are −1 where unknown.

    A frame without a named function is named after its mapping.
    """
    is_named = np.append(profile.functions.name > 0, False)[function]
    first, group = group_rows([function, np.where(is_named, -1, mapping)])
    pairs = zip(function[first].tolist(), mapping[first].tolist(), strict=True)
    names, group_name = number_keys(printable(frame_name(profile, *pair)) for pair in pairs)
    return names, as_int32(group_name)[group]


def _rel_pc(profile: Profile, locations: Locations) -> U64:
    mappings = profile.mappings
    file_offset = np.where(mappings.is_kernel, np.uint64(0), mappings.offset)
    base = np.append(mappings.start - file_offset, np.uint64(0))  # the last entry is for mapping −1
    rel_pc: U64 = locations.lookup - base[locations.mapping]
    return rel_pc


def _kinds(profile: Profile, function: I64, mapping: I32, frame_location: I64, is_python: Bools) -> U8:
    locations = profile.locations
    location_kind = np.where(np.isin(locations.mode, _KERNEL_MODES), FrameKind.KIND_KERNEL, FrameKind.KIND_NATIVE)
    location_kind[(locations.mode == CpuMode.UNKNOWN) | locations.synthetic] = FrameKind.KIND_UNKNOWN
    kind = location_kind.astype(np.uint8)[frame_location]
    is_jit = are_in_memory(profile)[mapping] & (function >= 0)
    kind[is_jit] = FrameKind.KIND_JIT
    kind[is_jit & is_python] = FrameKind.KIND_INTERPRETED
    return kind


_FRAMES_AT_ONCE = 1 << 17
"""About how many frames of stacks are encoded at once, to save memory."""


class StackTree(Frozen):
    """Profile.stacks, with one more row for samples without a stack."""

    parent: I32
    depth: I32
    location: I32
    """Row of Profile.locations; for the last row, the location of ``frames`` that has the frame ``[no stack]``."""
    frames: FrameTable

    def frame_lists(self, leaves: I64) -> Iterator[ListArray]:
        """Yield rows of ``frames`` for each leaf's stack, outermost first, many stacks at a time.

        ``leaves`` are rows of the tree; −1 is the last one.
        """
        lengths = as_int64(self.depth[leaves]) + 1
        start, count = self.frames.offsets[:-1], np.diff(self.frames.offsets)
        for rows in row_batches(lengths, _FRAMES_AT_ONCE):
            path = paths_of_length(self.parent, leaves[rows], lengths[rows], outermost_first=True)
            location = self.location[path.values]
            frames_before = offsets_of(count[location])
            yield ListArray(frames_before[path.offsets], ranges(start[location], count[location]))


def stack_tree(stacks: Stacks, frames: FrameTable) -> StackTree:
    """Append a row for samples without a stack."""
    parent = np.append(stacks.parent, np.int32(-1))
    location = np.append(stacks.location, np.int32(len(frames.offsets) - 2))
    return StackTree(parent, as_int32(depths(parent)), location, frames)


def intern_by_frequency(values: AnyArray) -> tuple[I64, I32]:
    """Return distinct values, most frequent first, and (n,) interning ids: 7 3 7 5 → 7 3 5, 1 2 1 3."""
    distinct, index = unique_inverse(values)
    order, iids = _most_used_first(bincount(index, len(distinct)))
    return as_int64(distinct[order]), iids[index]


def used_frames(tree: StackTree, leaves: I64) -> tuple[I64, I32]:
    """Return rows of ``tree.frames`` in the stacks of ``leaves``, most used first, and interning ids.

    The ids (all rows of ``tree.frames``,) are 0 for other frames.
    """
    uses = zeros(len(tree.frames.name))
    for rows in tree.frame_lists(leaves):
        uses += bincount(rows.values, len(uses))
    return _most_used_first(uses)


def _most_used_first(uses: I64) -> tuple[I64, I32]:
    """Return used rows and (rows,) interning ids, 0 if unused; ``uses`` (rows,) are counts."""
    used = flatnonzero(uses)
    used = used[argsort(-uses[used])]
    iids = np.zeros(len(uses), np.int32)
    iids[used] = arange(1, len(used) + 1)
    return used, iids
