"""The tables of a pprof file: mappings, locations, functions, strings, as bytes of profile.proto fields.

Ids are 1 … N in order, which Parca demands and Speedscope (32-bit ids) needs.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    Frozen,
    Ragged,
    arange,
    as_int32,
    as_int64,
    as_intp,
    begins_run,
    bincount,
    flatnonzero,
    offsets_of,
    ranges,
    repeat,
    row_slices,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.protobuf import (
    beside,
    message,
    nested,
    number,
    number_fields,
    numbers,
    numbers_but_0,
    top_level,
)
from perf2x.model.printable_text import bracketed, printable
from perf2x.model.profile import Functions, Locations, Mappings, Meta, Profile
from perf2x.model.recording import is_real_path, without_deleted

_LOCATIONS_PER_WRITE = 1 << 14
REST = "[other stacks]"
"""The frame of all samples that a limit left no room for."""


class StringTable:
    """Texts by index; starts as the profile's own table, so that its indices stay valid. All are valid UTF-8."""

    def __init__(self, profile: Profile) -> None:
        self.texts = [printable(text) for text in profile.strings]
        self._index = {text: row for row, text in reversed(list(enumerate(self.texts)))}

    def add(self, text: str) -> int:
        """The index of a text, appended when new."""
        text = printable(text)
        row = self._index.setdefault(text, len(self.texts))
        if row == len(self.texts):
            self.texts.append(text)
        return row


class LocationLines(Frozen):
    """Lines of each pprof location, innermost first: rows of functions and line numbers."""

    offsets: I64
    function: I32
    number: I32


def mapping_order(profile: Profile) -> I64:
    """Rows of mappings in file order: the main program first, as readers expect, the others as they come.

    Of several programs the one with the most locations is taken for it.
    """
    names = [profile.strings[row] for row in profile.mappings.filename]
    programs = [
        row
        for row, name in enumerate(names)
        if is_real_path(without_deleted(name)) and ".so" not in name and not profile.mappings.is_kernel[row]
    ]
    known = profile.locations.mapping[profile.locations.mapping >= 0]
    locations = bincount(known, len(names)).tolist()
    main = sorted(programs, key=lambda row: -locations[row])[:1]
    return as_int64(main + [row for row in range(len(names)) if row not in main])


def encode_mappings(mappings: Mappings, order: I64) -> bytes:
    """Profile.mapping (3)."""
    tables = (
        mappings.start, mappings.limit, mappings.offset, mappings.filename, mappings.build_id, mappings.has_functions,
        mappings.has_filenames, mappings.has_line_numbers, mappings.has_inline_frames,
    )  # fmt: skip
    columns = dict(enumerate((column[order] for column in tables), 2))
    return top_level(3, number_fields({1: arange(1, len(order) + 1), **columns}))


def encode_functions(functions: Functions, placeholders: list[int]) -> bytes:
    """Profile.function (5): the profile's own, then one per placeholder name (string indices)."""
    bare = zeros(len(placeholders))
    names = as_int64(placeholders)
    columns = {
        1: arange(1, len(functions) + len(placeholders) + 1),
        2: np.append(functions.name, names),
        3: np.append(functions.system_name, names),
        4: np.append(functions.filename, bare),
        5: np.append(np.maximum(functions.start_line, 0), bare),
    }
    return top_level(5, number_fields(columns))


def lines_with_placeholders(profile: Profile, strings: StringTable) -> tuple[LocationLines, list[int]]:
    """Lines of every location; unresolved ones get a function named after their object, ``[libfoo.so]``.

    Speedscope drops locations without a function, which would cut the stack in two. The address stays, and the
    mapping's has_functions stays false while nothing in it is resolved, so pprof still symbolizes such a file itself.
    """
    locations = profile.locations
    count = np.diff(locations.line_offsets)
    bare = flatnonzero(count == 0)
    names = [bracketed(profile.strings[row]) for row in profile.mappings.filename] + [bracketed("")]
    held = as_int64(locations.mapping[bare])  # -1 takes the last name
    used, inverse = unique_inverse(held)
    texts = [strings.add(names[row]) for row in used.tolist()]
    distinct = list(dict.fromkeys(texts))
    function_of_text = {text: len(profile.functions) + row for row, text in enumerate(distinct)}
    offsets = offsets_of(np.maximum(count, 1))
    function, number = np.zeros(offsets[-1], np.int32), np.zeros(offsets[-1], np.int32)
    function[offsets[bare]] = as_int32([function_of_text[text] for text in texts])[inverse]
    named = flatnonzero(count)
    into = ranges(offsets[named], count[named])
    function[into], number[into] = locations.line_function, locations.line_number
    return LocationLines(offsets, function, number), distinct


def lines_as_recorded(locations: Locations) -> LocationLines:
    """Lines of every location; unresolved ones have none, for those who symbolize later."""
    return LocationLines(locations.line_offsets, locations.line_function, locations.line_number)


def without_inlining(lines: LocationLines) -> LocationLines:
    """Only the last line of each location: the function that the address really belongs to."""
    some = flatnonzero(np.diff(lines.offsets))
    last = lines.offsets[1:][some] - 1
    return LocationLines(offsets_of(as_int64(np.diff(lines.offsets) > 0)), lines.function[last], lines.number[last])


def one_location_per_line(lines: LocationLines) -> tuple[LocationLines, Ragged, I64]:
    """Inlined functions as locations of their own, for viewers that show one line of each.

    Returns the lines of the new locations, the new locations of each old one (innermost first), and the old location
    of each new one.
    """
    count = np.maximum(np.diff(lines.offsets), 1)
    offsets = offsets_of(count)
    owner = repeat(arange(len(count)), count)
    has_line = as_int64((np.diff(lines.offsets) > 0)[owner])
    return (
        LocationLines(offsets_of(has_line), lines.function, lines.number),
        Ragged(offsets, arange(offsets[-1])),
        owner,
    )


def encode_locations(locations: Locations, lines: LocationLines, owner: I64 | None, order: I64) -> Iterator[bytes]:
    """Profile.location (4), some thousand at a time: a file may have nothing but addresses.

    ``owner`` is the profile's location behind each written one, None: itself; ``order`` that of mappings.
    """
    mapping_id = zeros(len(order) + 1)  # the last one serves mapping -1
    mapping_id[order] = arange(1, len(order) + 1)
    for rows in row_slices(len(lines.offsets) - 1, _LOCATIONS_PER_WRITE):
        offsets = lines.offsets[rows.start : rows.stop + 1]
        count = np.diff(offsets)
        at = repeat(arange(rows.start, rows.stop), np.maximum(count, 1))  # a row for each line, and one without any
        has_line, is_first = count[at - rows.start] > 0, begins_run(at)
        function, number = zeros(len(at)), zeros(len(at))
        part = slice(offsets[0], offsets[-1])
        function[has_line], number[has_line] = lines.function[part] + 1, np.maximum(lines.number[part], 0)
        line = nested(4, beside([numbers_but_0(1, function), numbers_but_0(2, number)])).without(~has_line)
        size_of_lines = np.add.reduceat(line.sizes, as_intp(flatnonzero(is_first)))
        taken = at if owner is None else owner[at]
        mapping, lookup = mapping_id[locations.mapping[taken]], locations.lookup[taken]
        fields = beside([numbers(1, at + 1), numbers_but_0(2, mapping), numbers_but_0(3, lookup)])
        yield beside([nested(4, fields, size_of_lines[at - rows.start]).without(~is_first), line]).tobytes()


def encode_rest(location: int, function: int) -> bytes:
    """One more Profile.location (4), in no mapping, for REST."""
    return message(4, number(1, location) + message(4, number(1, function)))


def comment_lines(meta: Meta) -> tuple[str, ...]:
    """Return perf's version, its command line and the remarks that perf2x made."""
    lines = [f"perf-version:{meta.perf_version}"] if meta.perf_version else []
    lines += [f"perf-command:{' '.join(meta.command_line)}"] if meta.command_line else []
    return (*lines, *meta.comments)
