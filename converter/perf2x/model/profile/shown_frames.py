"""Converts locations to frames, the boxes of viewers: inlined functions are expanded, unresolved addresses get names.

All formats except pprof draw frames, not locations, so expansion and fallback names are implemented here.
"""

import re
from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar import (
    I64,
    U8,
    Bools,
    ColumnTable,
    ListArray,
    as_int64,
    group_rows,
    minus_ones,
    offsets_of,
    ranges,
    repeat,
    row_numbers,
    trues,
)
from perf2x.model.printable_text import base_name, bracketed
from perf2x.model.profile.profile import Functions, Locations, Profile

NO_STACK = "[no stack]"
"""Placeholder frame of samples without a stack, for formats that need one."""

_JIT_OBJECT = re.compile(r"//anon|\[anon:|/memfd:|.*/?(perf-\d+\.map|jitted-\d+-\d+\.so)$")


class LocationFrames(ColumnTable):
    """Unique (name, object, source file, mode, inlined); all columns have one row per frame."""

    name: Sequence[str]
    """Function name, ``[libfoo.so]`` for addresses known only by their object, or ``[unknown]``."""
    object: Sequence[str]
    """Base name of the mapped file, "" if there is none."""
    mapping: I64
    """A mapping that contains the frame, −1 for none."""
    function: I64
    """First row in Profile.functions with the frame's name and source file, −1 for unresolved frames."""
    mode: U8
    """uapi.CpuMode"""
    inlined: Bools
    """True for a function inlined into the next outer frame of the same location."""
    of_location: ListArray
    """Frame rows of each location, outermost first; never empty."""


def location_frames(profile: Profile) -> LocationFrames:
    """Return the frames of every location, sorted by function, then object, mode and inlining.

    Functions with the same name and source file are one frame: template instances and overloads in short names, copies
    of a constructor in any style. With ``--names full`` instances stay separate.

    ::

        lines of locations, innermost first      c a      c b
        entries, outermost first                 a c*     b c*         * inlined into the one before
        frames: distinct entries                 a b c*
        of_location                              0 2      1 2
    """
    line, offsets = lines_outermost_first(profile.locations)
    function = np.append(_first_alike(profile.functions), -1)[functions_of(profile.locations, line)]
    inlined = trues(len(line))
    inlined[offsets[:-1]] = False
    owner = row_numbers(np.diff(offsets))
    mapping = as_int64(profile.locations.mapping[owner])
    mode = as_int64(profile.locations.mode[owner])
    object_of_mapping, objects = _objects(profile)
    mapped = np.where(mapping >= 0, object_of_mapping[mapping], 0)
    first, frame = group_rows([function, mapped, mode, inlined])
    return LocationFrames(
        [frame_name(profile, *pair) for pair in zip(function[first].tolist(), mapping[first].tolist(), strict=True)],
        [objects[row] for row in mapped[first].tolist()],
        mapping[first],
        function[first],
        mode[first].astype(np.uint8),
        inlined[first],
        ListArray(offsets, frame),
    )


def full_names(profile: Profile, frames: LocationFrames) -> list[str]:
    """Return (frames,) full names from Profile.full_names, "" if there is none.

    A frame with several names gets the first one, and the number of others.
    """
    if not profile.full_names:
        return [""] * len(frames)
    known: dict[int, dict[str, None]] = {}
    functions = zip(_first_alike(profile.functions).tolist(), profile.functions.system_name.tolist(), strict=True)
    for first, system_name in functions:
        if full := profile.full_names.get(profile.strings[system_name]):
            known.setdefault(first, {})[full] = None
    return [_with_number([*known.get(function, ())]) for function in frames.function.tolist()]


def _with_number(texts: list[str]) -> str:
    if len(texts) < 2:
        return "".join(texts)
    return f"{texts[0]} (and {len(texts) - 1} more of this name)"


def _first_alike(functions: Functions) -> I64:
    """Return (functions,) the first function with the same name in the same source file."""
    first, kind = group_rows([functions.name, functions.filename])
    return first[kind]


def are_jit(profile: Profile, frames: LocationFrames) -> Bools:
    """Return (frames,) True for named functions of JIT-compiled code."""
    return in_memory(profile)[frames.mapping] & (frames.function >= 0)


def in_memory(profile: Profile) -> Bools:
    """Return (mappings + 1,) True for code without a file, such as a JIT compiler's; the last entry is for −1."""
    mappings, strings = profile.mappings, profile.strings
    rows = zip(mappings.filename.tolist(), mappings.build_id.tolist(), strict=True)
    found = (_JIT_OBJECT.match(strings[row]) and not (own and strings[row].startswith("/memfd:")) for row, own in rows)
    return np.array([*map(bool, found), False], np.bool_)


def lines_outermost_first(locations: Locations) -> tuple[I64, I64]:
    """Return the row in the table of lines of each entry (−1: unresolved), and the offsets of each location's entries.

    ::

        lines of a location, innermost first    c  b  a        none
        entries, outermost first                a  b  c        -1
    """
    lines = np.diff(locations.line_offsets)
    offsets = offsets_of(np.maximum(lines, 1))
    line = minus_ones(offsets[-1])
    has_lines = lines > 0
    into = ranges(offsets[:-1][has_lines], lines[has_lines])
    # entry j of n takes line n - 1 - j: mirror each location's range onto itself
    ends = repeat(locations.line_offsets[1:][has_lines], lines[has_lines])
    starts = repeat(offsets[:-1][has_lines], lines[has_lines])
    line[into] = ends - 1 - (into - starts)
    return line, offsets


def functions_of(locations: Locations, line: I64) -> I64:
    """Return the function of each row of the table of lines; −1 for −1."""
    return np.append(as_int64(locations.line_function), -1)[line]


def outermost_functions(locations: Locations) -> I64:
    """Return (locations,) the function that contains the address, which is the last line's; −1 for none."""
    ends = locations.line_offsets[1:]
    return functions_of(locations, np.where(np.diff(locations.line_offsets) > 0, ends - 1, -1))


def _objects(profile: Profile) -> tuple[I64, list[str]]:
    """Return the object of each mapping, and the names of objects; row 0 is "" (none)."""
    names = {"": 0}
    rows = [names.setdefault(base_name(profile.strings[text]), len(names)) for text in profile.mappings.filename]
    return as_int64(rows or [0]), list(names)


def frame_name(profile: Profile, function: int, mapping: int) -> str:
    """Return the name of a function (−1: none); without one, a name made from its mapping (−1: none)."""
    if function >= 0 and profile.functions.name[function]:
        return str(profile.strings[profile.functions.name[function]])
    return bracketed(profile.strings[profile.mappings.filename[mapping]] if mapping >= 0 else "")
