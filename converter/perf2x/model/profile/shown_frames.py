"""Converts locations to frames, which viewers draw as boxes.

A location has one frame for its function, and one for each function inlined there. If the function is unknown, the
frame is named after the object. Equal frames of different locations are one frame.
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

# Frame of samples without a stack, in formats that need a frame.
NO_STACK = "[no stack]"

# Names of memory with JIT-compiled code, and of files that describe such code.
_JIT_OBJECT = re.compile(r"//anon|\[anon:|/memfd:|.*/?(perf-\d+\.map|jitted-\d+-\d+\.so)$")


class LocationFrames(ColumnTable):
    """Distinct frames: a row for each (name, object, source file, mode, inlined)."""

    name: Sequence[str]
    """Function name; ``[libfoo.so]`` if only the object is known; ``[unknown]`` if nothing is."""
    object: Sequence[str]
    """Base name of the mapped file, "" if no file is known."""
    mapping: I64
    """Row in Profile.mappings of one of the mappings that contain the frame, −1 if none does."""
    function: I64
    """First row in Profile.functions with this name and source file, −1 if the function is unknown."""
    mode: U8
    """The CpuMode of the location."""
    inlined: Bools
    """True for a function inlined into the next outer frame of the same location."""
    of_location: ListArray
    """The frames of each location, outermost first, at least one: a row per location, not per frame."""


def location_frames(profile: Profile) -> LocationFrames:
    """Make the frames of every location, sorted by function, then object, mode and inlining.

    Functions with the same name and source file share a frame. With short names, these are overloads, or instances of
    a template; with names of any style, also the copies of a C++ constructor.

    ::

        lines of two locations, innermost first      c a      c b
        entries, outermost first                     a c*     b c*         * inlined into the entry before
        frames: distinct entries                     a b c*
        of_location: the frame of each entry         0 2      1 2
    """
    line, offsets = lines_outermost_first(profile.locations)
    # the following columns have a row for each entry
    function = np.append(_first_alike(profile.functions), -1)[functions_of(profile.locations, line)]
    inlined = trues(len(line))
    inlined[offsets[:-1]] = False
    location = row_numbers(np.diff(offsets))
    mapping = as_int64(profile.locations.mapping[location])
    mode = as_int64(profile.locations.mode[location])
    object_of_mapping, object_names = _objects(profile)
    object_row = np.where(mapping >= 0, object_of_mapping[mapping], 0)
    first, frame = group_rows([function, object_row, mode, inlined])
    return LocationFrames(
        [frame_name(profile, *pair) for pair in zip(function[first].tolist(), mapping[first].tolist(), strict=True)],
        [object_names[row] for row in object_row[first].tolist()],
        mapping[first],
        function[first],
        mode[first].astype(np.uint8),
        inlined[first],
        ListArray(offsets, frame),
    )


def full_names(profile: Profile, frames: LocationFrames) -> list[str]:
    """Return (frames,) the full name of each frame's function, "" if it has none.

    A frame of several functions gets the full name of the first one, and the number of the others.
    """
    if not profile.full_names:
        return [""] * len(frames)
    names_by_function: dict[int, dict[str, None]] = {}
    functions = zip(_first_alike(profile.functions).tolist(), profile.functions.system_name.tolist(), strict=True)
    for first_function, system_name in functions:
        if full_name := profile.full_names.get(profile.strings[system_name]):
            names_by_function.setdefault(first_function, {})[full_name] = None
    return [_first_and_count([*names_by_function.get(function, ())]) for function in frames.function.tolist()]


def _first_and_count(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{names[0]} (and {len(names) - 1} more of this name)"


def _first_alike(functions: Functions) -> I64:
    """(functions,) the first function with the same name and source file."""
    first, group = group_rows([functions.name, functions.filename])
    return first[group]


def are_jit(profile: Profile, frames: LocationFrames) -> Bools:
    """Return (frames,) True for JIT-compiled functions whose names are known."""
    return are_in_memory(profile)[frames.mapping] & (frames.function >= 0)


def are_in_memory(profile: Profile) -> Bools:
    """Return (mappings + 1,) True for code that is in no file, such as JIT-compiled code.

    A memfd with a build id is an ELF file.
    """
    mappings, strings = profile.mappings, profile.strings
    rows = zip(mappings.filename.tolist(), mappings.build_id.tolist(), strict=True)
    are_jit_objects = (
        _JIT_OBJECT.match(strings[filename]) and not (build_id and strings[filename].startswith("/memfd:"))
        for filename, build_id in rows
    )
    return np.array([*map(bool, are_jit_objects), False], np.bool_)


def lines_outermost_first(locations: Locations) -> tuple[I64, I64]:
    """Reverse the lines of each location, and give locations without lines one entry, −1.

    Returns (entries,) indices of lines, and (locations + 1,) the offsets of each location's entries::

        lines of a location, innermost first    c  b  a        none
        entries, outermost first                a  b  c        -1
    """
    counts = np.diff(locations.line_offsets)
    offsets = offsets_of(np.maximum(counts, 1))
    line = minus_ones(offsets[-1])
    has_lines = counts > 0
    entries = ranges(offsets[:-1][has_lines], counts[has_lines])
    # entry j of n is line n - 1 - j
    line_ends = repeat(locations.line_offsets[1:][has_lines], counts[has_lines])
    entry_starts = repeat(offsets[:-1][has_lines], counts[has_lines])
    line[entries] = line_ends - 1 - (entries - entry_starts)
    return line, offsets


def functions_of(locations: Locations, line: I64) -> I64:
    """Return (n,) the function of each of ``line`` (n,), which has indices into ``line_function``; −1 stays −1."""
    return np.append(as_int64(locations.line_function), -1)[line]


def outermost_functions(locations: Locations) -> I64:
    """Return (locations,) the function of each location's last line; −1 for none."""
    ends = locations.line_offsets[1:]
    return functions_of(locations, np.where(np.diff(locations.line_offsets) > 0, ends - 1, -1))


def _objects(profile: Profile) -> tuple[I64, list[str]]:
    """(mappings,) index of each mapping's object in the list of base names; 0 for none.

    Without mappings, the array has one entry, so that mapping −1 can be looked up.
    """
    numbers = {"": 0}
    objects = [numbers.setdefault(base_name(profile.strings[text]), len(numbers)) for text in profile.mappings.filename]
    return as_int64(objects or [0]), list(numbers)


def frame_name(profile: Profile, function: int, mapping: int) -> str:
    """Name a frame, given as rows of functions and mappings (−1: none), after its function or else its mapping."""
    if function >= 0 and profile.functions.name[function]:
        return str(profile.strings[profile.functions.name[function]])
    return bracketed(profile.strings[profile.mappings.filename[mapping]] if mapping >= 0 else "")
