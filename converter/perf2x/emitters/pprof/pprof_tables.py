"""Tables of a pprof file: mappings, locations, functions, strings, as encoded fields of profile.proto.

Ids are 1 … N in order, which Parca requires and Speedscope (32-bit ids) needs.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    AnyArray,
    ListArray,
    arange,
    as_int32,
    as_int64,
    as_intp,
    begins_run,
    bincount,
    flatnonzero,
    join_tables,
    number_keys,
    offsets_of,
    repeat,
    row_numbers,
    row_slices,
    unique_inverse,
    zeros,
)
from perf2x.base.mapping_names import is_real_path, without_deleted
from perf2x.emitters.encoding.protobuf import (
    join_fields,
    message,
    message_cells,
    nonzero_cells,
    number,
    number_cells,
    number_fields,
    top_level,
)
from perf2x.model.printable_text import bracketed, printable
from perf2x.model.profile import Functions, Locations, Mappings, Meta, Profile, named_functions

_LOCATIONS_PER_WRITE = 1 << 14
OTHER_STACKS = "[other stacks]"
"""The only frame of the sample that sums up all samples beyond max_samples."""


class StringTable:
    """A string table that begins with the profile's strings, so that their row numbers stay valid.

    All strings are valid UTF-8.
    """

    def __init__(self, profile: Profile) -> None:
        self.entries = [printable(string) for string in profile.strings]
        self._row_by_string = {string: row for row, string in reversed(list(enumerate(self.entries)))}

    def add(self, string: str) -> int:
        """Return the row of a string, which is appended if new."""
        string = printable(string)
        row = self._row_by_string.setdefault(string, len(self.entries))
        if row == len(self.entries):
            self.entries.append(string)
        return row


def mapping_order(profile: Profile) -> I64:
    """Return the rows of mappings with the main program first, as readers expect.

    The main program is the one with the most locations.
    """
    names = [profile.strings[row] for row in profile.mappings.filename]
    programs = [
        row
        for row, name in enumerate(names)
        if is_real_path(without_deleted(name)) and ".so" not in name and not profile.mappings.is_kernel[row]
    ]
    mapped = profile.locations.mapping[profile.locations.mapping >= 0]
    locations = bincount(mapped, len(names)).tolist()
    main = sorted(programs, key=lambda row: -locations[row])[:1]
    return as_int64(main + [row for row in range(len(names)) if row not in main])


def encode_mappings(mappings: Mappings, order: I64) -> bytes:
    """Encode Profile.mapping (3)."""
    columns = (
        mappings.start, mappings.limit, mappings.offset, mappings.filename, mappings.build_id, mappings.has_functions,
        mappings.has_filenames, mappings.has_line_numbers, mappings.has_inline_frames,
    )  # fmt: skip
    return _numbered_rows(3, [column[order] for column in columns])


def encode_functions(functions: Functions) -> bytes:
    """Encode Profile.function (5)."""
    start_line = np.maximum(functions.start_line, 0)
    return _numbered_rows(5, [functions.name, functions.system_name, functions.filename, start_line])


def _numbered_rows(field: int, columns: Sequence[AnyArray]) -> bytes:
    """Encode messages with an id, from 1 on, in field 1, and the columns in the fields from 2 on."""
    return top_level(field, number_fields(dict(enumerate([arange(1, len(columns[0]) + 1), *columns], 1))))


def with_placeholders(profile: Profile, strings: StringTable) -> tuple[Locations, Functions]:
    """Give unresolved locations a function named after their object, ``[libfoo.so]``.

    Speedscope drops locations without a function, which would split the stack. pprof still symbolizes a file in which
    nothing is resolved: has_functions of its mapping stays false.
    """
    locations, functions = profile.locations, profile.functions
    unresolved = flatnonzero(np.diff(locations.line_offsets) == 0)
    mapping_names = [bracketed(profile.strings[row]) for row in profile.mappings.filename] + [bracketed("")]
    used, mapping_index = unique_inverse(as_int64(locations.mapping[unresolved]))  # mapping −1 has the last name
    names, mapping_function = number_keys(strings.add(mapping_names[row]) for row in used.tolist())
    insert_at = as_intp(locations.line_offsets[unresolved])
    with_lines = replace(
        locations,
        line_offsets=offsets_of(np.maximum(np.diff(locations.line_offsets), 1)),
        line_function=np.insert(locations.line_function, insert_at, len(functions) + mapping_function[mapping_index]),
        line_number=np.insert(locations.line_number, insert_at, 0),
    )
    return with_lines, join_tables([functions, named_functions(as_int32(names))])


def without_inlining(locations: Locations) -> Locations:
    """Keep only the last line of each location: the function into which the others were inlined."""
    has_lines = np.diff(locations.line_offsets) > 0
    last = locations.line_offsets[1:][has_lines] - 1
    function, number = locations.line_function[last], locations.line_number[last]
    return replace(locations, line_offsets=offsets_of(has_lines), line_function=function, line_number=number)


def one_location_per_line(locations: Locations) -> tuple[Locations, ListArray]:
    """Turn inlined functions into locations, for viewers that show one line of each location.

    Also returns for each old location the rows of the new ones, innermost first.
    """
    lines = np.diff(locations.line_offsets)
    count = np.maximum(lines, 1)
    old_location = row_numbers(count)
    names = ("address", "lookup", "mapping", "mode", "synthetic")
    columns = {name: getattr(locations, name)[old_location] for name in names}
    new_locations = replace(locations, line_offsets=offsets_of((lines > 0)[old_location]), **columns)
    return new_locations, ListArray(offsets_of(count), arange(len(old_location)))


def encode_locations(locations: Locations, mapping_order: I64) -> Iterator[bytes]:
    """Yield Profile.location (4), many at once; mappings are written in ``mapping_order``.

    Columns have a row for each line, and one for each location without lines. The first row of a location begins its
    message, with the lookup address (pprof's convention for callers).
    """
    mapping_id = zeros(len(mapping_order) + 1)  # the last entry is for mapping -1
    mapping_id[mapping_order] = arange(1, len(mapping_order) + 1)
    for rows in row_slices(len(locations), _LOCATIONS_PER_WRITE):
        offsets = locations.line_offsets[rows.start : rows.stop + 1]
        count = np.diff(offsets)
        location = repeat(arange(rows.start, rows.stop), np.maximum(count, 1))
        has_line, is_first = count[location - rows.start] > 0, begins_run(location)
        function, line_number = zeros(len(location)), zeros(len(location))
        lines = slice(offsets[0], offsets[-1])
        function[has_line] = locations.line_function[lines] + 1
        line_number[has_line] = np.maximum(locations.line_number[lines], 0)
        # Location.line (4): function_id 1, line 2
        line = message_cells(4, join_fields([nonzero_cells(1, function), nonzero_cells(2, line_number)])).without(
            ~has_line
        )
        # the length of a location's message includes its lines
        size_of_lines = np.add.reduceat(line.sizes, as_intp(flatnonzero(is_first)))
        mapping, lookup = mapping_id[locations.mapping[location]], locations.lookup[location]
        # Location: id 1, mapping_id 2, address 3
        fields = join_fields([number_cells(1, location + 1), nonzero_cells(2, mapping), nonzero_cells(3, lookup)])
        head = message_cells(4, fields, size_of_lines[location - rows.start]).without(~is_first)
        yield join_fields([head, line]).tobytes()


def encode_other_stacks_location(location_id: int, function_id: int) -> bytes:
    """Encode the Profile.location (4) of OTHER_STACKS, in no mapping."""
    # Location: id 1, line 4; Line: function_id 1
    return message(4, number(1, location_id) + message(4, number(1, function_id)))


def comment_lines(meta: Meta) -> tuple[str, ...]:
    """Return perf's version, its command line, and perf2x's remarks."""
    lines = [f"perf-version:{meta.perf_version}"] if meta.perf_version else []
    lines += [f"perf-command:{' '.join(meta.command_line)}"] if meta.command_line else []
    return (*lines, *meta.comments)
