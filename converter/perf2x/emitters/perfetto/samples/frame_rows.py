"""Frames of all stacks: one for each line of each location, with name, place and kind."""

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, I64, U8, U64, Bools
from perf2x.base.columnar.ragged import row_numbers
from perf2x.base.columnar.unique import group_rows
from perf2x.emitters.perfetto.trace_schema import FrameKind
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Locations, Profile
from perf2x.model.profile.shown_frames import NO_STACK, frame_name, functions_of, in_memory, lines_outermost_first

_KIND_OF_MODE = {
    CpuMode.KERNEL: FrameKind.KIND_KERNEL,
    CpuMode.USER: FrameKind.KIND_NATIVE,
    CpuMode.HYPERVISOR: FrameKind.KIND_KERNEL,
    CpuMode.GUEST_KERNEL: FrameKind.KIND_KERNEL,
    CpuMode.GUEST_USER: FrameKind.KIND_NATIVE,
}
_PYTHON = "py::"
"""Names of functions that CPython compiles a trampoline for, so that profilers see them."""


class FrameTable(Struct, frozen=True):
    """(frames,) columns; the last frame stands for samples without a stack."""

    of_location: I64
    """(locations + 2,) offsets: frames of each location, outermost first; of the last one, the frame ``[no stack]``."""
    names: list[str]
    name: I32
    """Row of ``names``."""
    mapping: I32
    """Row of Profile.mappings, their number for frames outside all of them."""
    rel_pc: U64
    """Offset in the file; in the mapping, for the kernel; the address itself outside all mappings."""
    source: I32
    """Row of Profile.strings, 0 where unknown."""
    line: I32
    """0 where unknown."""
    kind: U8
    """A FrameKind."""


def frame_table(profile: Profile) -> FrameTable:
    """Return the frames of all locations, inlined functions as frames of the same place."""
    locations = profile.locations
    line, offsets = lines_outermost_first(locations)
    owner = row_numbers(np.diff(offsets))
    function, mapping = functions_of(locations, line), locations.mapping[owner].astype(np.int32)
    names, name = _names(profile, function, mapping)
    outside = np.int32(len(profile.mappings))
    is_python = np.array([name.startswith(_PYTHON) for name in names], np.bool_)[name]
    kind = _kinds(profile, function, mapping, owner, is_python)
    del is_python
    source = np.append(profile.functions.filename, 0).astype(np.int32)[function]
    del function  # columns of all frames: none stays longer than it is needed
    number = np.append(np.maximum(locations.line_number, 0), 0).astype(np.int32)[line]
    del line
    rel_pc = _rel_pc(profile, locations)[owner]
    del owner
    return FrameTable(
        of_location=np.append(offsets, offsets[-1] + 1),
        names=[*names, NO_STACK],
        name=np.append(name, np.int32(len(names))),
        mapping=np.append(np.where(mapping >= 0, mapping, outside), outside),
        rel_pc=np.append(rel_pc, np.uint64(0)),
        source=np.append(source, np.int32(0)),
        line=np.append(number, np.int32(0)),
        kind=np.append(kind, np.uint8(0)),
    )


def _names(profile: Profile, function: I64, mapping: I32) -> tuple[list[str], I32]:
    """Distinct names, and the row of each frame's."""
    is_named = np.append(profile.functions.name > 0, False)[function]
    first, group = group_rows([function, np.where(is_named, -1, mapping)])
    pairs = zip(function[first].tolist(), mapping[first].tolist(), strict=True)
    rows: dict[str, int] = {}
    row = [rows.setdefault(printable(frame_name(profile, *pair)), len(rows)) for pair in pairs]
    return list(rows), np.array(row, np.int32)[group]


def _rel_pc(profile: Profile, locations: Locations) -> U64:
    """(locations,) the place of each in its file; uint64 arithmetic wraps as the kernel's does."""
    mappings = profile.mappings
    offset = np.where(mappings.is_kernel, np.uint64(0), mappings.offset)
    base = np.append(mappings.start - offset, np.uint64(0))  # the last one serves mapping −1
    place: U64 = locations.lookup - base[locations.mapping]
    return place


def _kinds(profile: Profile, function: I64, mapping: I32, owner: I64, is_python: Bools) -> U8:
    kinds = np.array([_KIND_OF_MODE.get(CpuMode(mode), 0) for mode in CpuMode], np.uint8)
    kind = kinds[np.minimum(profile.locations.mode, len(kinds) - 1)][owner]
    kind[profile.locations.synthetic[owner]] = FrameKind.KIND_UNKNOWN
    is_jit = in_memory(profile)[mapping] & (function >= 0)
    kind[is_jit] = FrameKind.KIND_JIT
    kind[is_jit & is_python] = FrameKind.KIND_INTERPRETED
    return kind
