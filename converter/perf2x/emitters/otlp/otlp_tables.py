"""Tables that all profiles of a file share: strings, attributes, stacks, locations, functions and mappings.

Row 0 of each is empty, and means "not set". The protocol allows only rows that something refers to, so rows of a
profile's tables get new numbers.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I64,
    AnyArray,
    Frozen,
    ListArray,
    StringTableBuilder,
    arange,
    as_int64,
    map_distinct,
    offsets_of,
    row_batches,
    row_slices,
    side_by_side,
    take_rows_of,
    unique,
    zeros,
)
from perf2x.emitters.encoding.protobuf import (
    message,
    nested_field,
    nonzero_number,
    number,
    number_field,
    number_fields,
    packed_field,
    repeated_string,
    string,
    top_level,
)
from perf2x.emitters.otlp.otlp_schema import (
    AnyValue,
    ArrayValue,
    Chunks,
    Function,
    KeyValue,
    KeyValueAndUnit,
    Line,
    Location,
    Mapping,
    ProfilesDictionary,
    Stack,
)
from perf2x.emitters.pprof.pprof_tables import StringTable, with_placeholders
from perf2x.model.jit_display_names import parse_jit_name
from perf2x.model.printable_text import printable
from perf2x.model.profile import (
    Profile,
    are_in_memory,
    are_on_paths,
    depths,
    outermost_functions,
    paths_of_length,
    take_locations,
)


class DictionaryStrings(StringTableBuilder):
    """Distinct strings in the order in which they were added; row 0 is the empty string."""

    def add(self, string: str) -> int:
        """Return the row of a string, which is added if new."""
        return self[printable(string)]

    def add_rows(self, strings: Sequence[str], rows: AnyArray) -> I64:
        """Return (n,) the row of ``strings[rows[i]]`` for each i; other strings are not added."""
        return map_distinct(rows, lambda row: self.add(strings[row]))


Value = str | int | bool | tuple[str, ...]


def key_values(field: int, attributes: dict[str, str], strings: DictionaryStrings | None) -> Chunks:
    """Yield attributes of a resource as a repeated field, sorted by key; with ``strings``, as rows of that table."""
    items = sorted(attributes.items())
    if strings is None:
        for key, value in items:
            yield message(field, string(KeyValue.KEY, printable(key)) + _any_value(KeyValue.VALUE, value))
        return
    key_rows, value_rows = ([strings.add(item[part]) for item in items] for part in (0, 1))
    for key_row, value_row in zip(key_rows, value_rows, strict=True):
        any_value = message(KeyValue.VALUE, nonzero_number(AnyValue.STRING_VALUE_STRINDEX, value_row))
        yield message(field, any_value + nonzero_number(KeyValue.KEY_STRINDEX, key_row))


def _any_value(field: int, value: Value) -> bytes:
    if isinstance(value, str):
        return message(field, string(AnyValue.STRING_VALUE, printable(value)))
    if isinstance(value, tuple):
        items = (_any_value(ArrayValue.VALUES, item) for item in value)
        return message(field, message(AnyValue.ARRAY_VALUE, b"".join(items)))
    return message(field, number(AnyValue.BOOL_VALUE if isinstance(value, bool) else AnyValue.INT_VALUE, value))


def lists_without_zeros(columns: Sequence[I64], count: int) -> ListArray:
    """Return for each of ``count`` rows the nonzero entries of all columns."""
    if not columns:
        return ListArray.of_empty_rows(count, np.int64)
    lists = [ListArray(offsets_of(as_int64(column > 0)), column[column > 0]) for column in columns]
    return side_by_side(lists)


class Dictionary:
    """Builds the tables of strings and attributes."""

    def __init__(self) -> None:
        self.strings = DictionaryStrings()
        # row of each attribute; the type is part of the key because True == 1
        self._attributes: dict[tuple[int, type, Value], int] = {}

    def add(self, key: str, value: Value) -> int:
        """Return the row of an attribute, which is added if new."""
        return self._attributes.setdefault((self.strings.add(key), type(value), value), len(self._attributes) + 1)

    def add_column(self, key: str, values: Sequence[Value | None], rows: I64) -> I64:
        """Return (n,) the row of the attribute ``key`` = ``values[rows[i]]`` for each i, 0 for None.

        Other values are not added.
        """

        def attribute_row(row: int) -> int:
            value = values[row]
            return 0 if value is None else self.add(key, value)

        return map_distinct(rows, attribute_row)

    def encoded_tables(self) -> Chunks:
        """Yield the tables of links, strings and attributes; nothing can be added afterwards."""
        yield message(ProfilesDictionary.LINK_TABLE, b"")
        yield repeated_string(ProfilesDictionary.STRING_TABLE, self.strings)
        yield message(ProfilesDictionary.ATTRIBUTE_TABLE, b"")
        for key, _, value in self._attributes:
            fields = number(KeyValueAndUnit.KEY_STRINDEX, key) + _any_value(KeyValueAndUnit.VALUE, value)
            yield message(ProfilesDictionary.ATTRIBUTE_TABLE, fields)


_BUILD_ID, _FRAME_TYPE = "process.executable.build_id.gnu", "profile.frame.type"
_FRAMES_AT_ONCE = 1 << 18
_LOCATIONS_AT_ONCE = 1 << 16


class UsedRows(Frozen):
    """Rows of one of the profile's tables that are written, and their rows in the file's table."""

    rows: I64
    """Ascending."""
    new_row: I64
    """(rows of the profile's table + 1,) row in the file's table; 0 for rows that are not written, and for −1."""


def used_rows(references: AnyArray, count: int) -> UsedRows:
    """Return the rows to which ``references`` refer, of a table of ``count`` rows; −1 refers to none."""
    rows = unique(as_int64(references[references >= 0]))
    new_row = zeros(count + 1)
    new_row[rows] = arange(1, len(rows) + 1)
    return UsedRows(rows, new_row)


class StackTables:
    """Tables of all locations, functions and mappings in the stacks of the given leaves."""

    def __init__(self, profile: Profile, leaves: I64, placeholders: bool) -> None:
        """``leaves`` are rows of Profile.stacks.

        With ``placeholders``, a location without a function gets one named after its object.
        """
        self._profile, self._leaves = profile, leaves
        self._strings, locations, functions = StringTable(profile), profile.locations, profile.functions
        if placeholders:
            locations, functions = with_placeholders(profile, self._strings)
        used = profile.stacks.location[are_on_paths(profile.stacks.parent, leaves)]
        self._used_locations = used_rows(used, len(locations))
        self._locations = take_locations(locations, self._used_locations.rows)
        self._used_mappings = used_rows(self._locations.mapping, len(profile.mappings))
        self._used_functions = used_rows(self._locations.line_function, len(functions))
        self._functions = take_rows_of(functions, self._used_functions.rows)

    def encoded(self, dictionary: Dictionary) -> Chunks:
        """Yield all tables; add their strings and attributes to the dictionary."""
        tables = {
            ProfilesDictionary.MAPPING_TABLE: self._encoded_mappings(dictionary),
            ProfilesDictionary.LOCATION_TABLE: self._encoded_locations(dictionary),
            ProfilesDictionary.FUNCTION_TABLE: self._encoded_functions(dictionary),
            ProfilesDictionary.STACK_TABLE: self._encoded_stacks(),
        }
        for field, batches in tables.items():
            yield message(field, b"")  # row 0
            yield from (top_level(field, messages) for messages in batches)

    def _encoded_mappings(self, dictionary: Dictionary) -> Iterator[ListArray]:
        mappings, rows = self._profile.mappings, self._used_mappings.rows
        name = dictionary.strings.add_rows(self._strings.entries, mappings.filename[rows])
        build_ids = [build_id or None for build_id in self._strings.entries]
        add = dictionary.add_column
        columns = [add(_BUILD_ID, build_ids, as_int64(mappings.build_id[rows]))]
        for flag in ("has_functions", "has_filenames", "has_line_numbers", "has_inline_frames"):
            flags = as_int64(getattr(mappings, flag)[rows])
            columns.append(add(f"pprof.mapping.{flag}", (None, True), flags))
        attributes = lists_without_zeros(columns, len(rows))
        numbers = number_fields(
            {
                Mapping.MEMORY_START: mappings.start[rows],
                Mapping.MEMORY_LIMIT: mappings.limit[rows],
                Mapping.FILE_OFFSET: mappings.offset[rows],
                Mapping.FILENAME_STRINDEX: name,
            }
        )
        yield side_by_side([numbers, packed_field(Mapping.ATTRIBUTE_INDICES, attributes)])

    def _encoded_locations(self, dictionary: Dictionary) -> Iterator[ListArray]:
        # in batches: there may be nearly as many locations as words in the recording
        locations, types = self._locations, _frame_types(self._profile)[self._used_locations.rows]
        type_attributes = dictionary.add_column(_FRAME_TYPE, _FRAME_TYPES, types)
        for rows in row_slices(len(locations), _LOCATIONS_AT_ONCE):
            offsets = locations.line_offsets[rows.start : rows.stop + 1]
            line_rows = slice(offsets[0], offsets[-1])
            lines = number_fields(
                {
                    Line.FUNCTION_INDEX: self._used_functions.new_row[locations.line_function[line_rows]],
                    Line.LINE: np.maximum(locations.line_number[line_rows], 0),
                }
            )
            attributes = lists_without_zeros([type_attributes[rows]], rows.stop - rows.start)
            yield side_by_side(
                [
                    number_field(Location.MAPPING_INDEX, self._used_mappings.new_row[locations.mapping[rows]]),
                    number_field(Location.ADDRESS, locations.lookup[rows]),
                    nested_field(Location.LINES, lines, offsets - offsets[0]),
                    packed_field(Location.ATTRIBUTE_INDICES, attributes),
                ]
            )

    def _encoded_functions(self, dictionary: Dictionary) -> Iterator[ListArray]:
        functions = self._functions
        columns = {
            Function.NAME_STRINDEX: functions.name,
            Function.SYSTEM_NAME_STRINDEX: functions.system_name,
            Function.FILENAME_STRINDEX: functions.filename,
        }
        add, strings = dictionary.strings.add_rows, self._strings.entries
        fields = {field: add(strings, column) for field, column in columns.items()}
        yield number_fields({**fields, Function.START_LINE: np.maximum(functions.start_line, 0)})

    def _encoded_stacks(self) -> Iterator[ListArray]:
        stacks = self._profile.stacks
        lengths = depths(stacks.parent)[self._leaves] + 1
        for rows in row_batches(lengths, _FRAMES_AT_ONCE):
            path = paths_of_length(stacks.parent, self._leaves[rows], lengths[rows])
            locations = ListArray(path.offsets, self._used_locations.new_row[stacks.location[path.values]])
            yield packed_field(Stack.LOCATION_INDICES, locations)


_FRAME_TYPES = (None, "native", "kernel", "go", "rust", "cpython", "v8js", "jvm", "dotnet", "php", "beam", "ruby")
"""Values of ``profile.frame.type``, by the numbers used here; None if unknown."""
_UNKNOWN, _NATIVE, _KERNEL, _GO, _RUST = range(5)

_KERNEL_MODES = (CpuMode.KERNEL, CpuMode.HYPERVISOR, CpuMode.GUEST_KERNEL)
_TYPES_BY_SUFFIX = {"go": _GO, "rs": _RUST}
"""Frame types by the suffix of the source file."""
_RUST_NAME = re.compile(r"_R[A-Za-z]|_ZN.*17h[0-9a-f]{16}E")
"""Mangled names of Rust: v0, and the legacy scheme, which ends with a hash."""


def _frame_types(profile: Profile) -> I64:
    """Return (locations,) the number of each location's frame type, which its outermost function determines.

    The semantic conventions require the most specific type. It is _UNKNOWN for synthetic frames and unknown modes.
    """
    locations = profile.locations
    outermost = outermost_functions(locations)
    is_jit_code = are_in_memory(profile)[locations.mapping]
    # (functions + 1,) types of JIT-compiled code, and of code in files; the last entry is for no function
    jit_types, file_types = (as_int64([*_types_of_functions(profile, is_jit), _NATIVE]) for is_jit in (True, False))
    types = np.where(is_jit_code, jit_types[outermost], file_types[outermost])
    types[np.isin(locations.mode, _KERNEL_MODES)] = _KERNEL
    types[(locations.mode == CpuMode.UNKNOWN) | locations.synthetic] = _UNKNOWN
    return as_int64(types)


def _types_of_functions(profile: Profile, is_jit: bool) -> list[int]:
    strings, functions = profile.strings, profile.functions
    names = (strings[row] for row in functions.system_name.tolist())
    if is_jit:
        return [_FRAME_TYPES.index(parse_jit_name(name).language) for name in names]
    sources = (strings[row] for row in functions.filename.tolist())
    return [_type_of_function(name, source) for name, source in zip(names, sources, strict=True)]


def _type_of_function(name: str, source: str) -> int:
    type_by_name = _RUST if _RUST_NAME.match(name) else _NATIVE
    return _TYPES_BY_SUFFIX.get(source.rpartition(".")[2], type_by_name)
