"""The growing tables of lines, functions and strings, and how they become a profile's."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.columnar.arrays import AnyArray
from perf2x.columnar.ragged import offsets_of, ranges
from perf2x.symbolize.mapped_objects import MappedObject
from perf2x.symbolize.object_resolver import ResolveResult
from perf2x.tables.profile import Functions, Locations, Mappings, Profile


class _LineRows(Struct):
    """Lines as they come, referred to by first row and count."""

    function: list[AnyArray] = field(default_factory=list)
    line: list[AnyArray] = field(default_factory=list)
    size: int = 0

    def add(self, function: AnyArray, line: AnyArray) -> int:
        """Append rows; where they begin."""
        start = self.size
        self.function.append(function)
        self.line.append(line)
        self.size += len(function)
        return start


class ProfileLineBuilder:
    """Collects lines per location; ``finish`` makes the profile."""

    def __init__(self, profile: Profile) -> None:
        self._strings = {text: index for index, text in enumerate(profile.strings)}
        table = profile.functions
        columns = (table.name, table.system_name, table.filename, table.start_line)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._functions: dict[tuple[int, int, int, int], int] = {row: index for index, row in enumerate(rows)}
        self._pool = _LineRows()
        self._pool.add(profile.locations.line_function, profile.locations.line_number)
        self._start = profile.locations.line_offsets[:-1].copy()
        self.count = np.diff(profile.locations.line_offsets)
        self._has_inlines = np.zeros(len(profile.mappings), np.bool_)

    def add(self, mapped: MappedObject, answer: ResolveResult) -> None:
        """Take in what sources said of one object."""
        table = np.array(self._numbered(answer.functions), np.int32)
        first = self._pool.add(table[answer.function], answer.line)
        self._start[mapped.locations], self.count[mapped.locations] = answer.start + first, answer.count
        self._has_inlines[mapped.mappings] |= answer.has_inlines

    def _numbered(self, functions: Sequence[tuple[str, str, str, int]]) -> list[int]:
        """Numbers of functions in the profile's table, new ones put behind it."""
        strings, known = self._strings, self._functions
        result = []
        for name, system_name, filename, start_line in functions:
            a = strings.setdefault(name, len(strings))
            b = a if system_name == name else strings.setdefault(system_name, len(strings))
            c = strings.setdefault(filename, len(strings))
            result.append(known.setdefault((a, b, c, start_line), len(known)))
        return result

    def finish(self, profile: Profile) -> Profile:
        """The profile with all lines in the order of its locations."""
        rows = ranges(self._start, self.count)
        flat = np.fromiter(chain.from_iterable(self._functions), np.int32, 4 * len(self._functions))
        columns = flat.reshape(-1, 4).T
        functions = Functions(*(np.ascontiguousarray(column) for column in columns))
        locations = replace(
            profile.locations,
            line_offsets=offsets_of(self.count),
            line_function=np.concatenate(self._pool.function)[rows].astype(np.int32),
            line_number=np.concatenate(self._pool.line)[rows].astype(np.int32),
        )
        mappings = _with_has_flags(profile.mappings, locations, functions, self._has_inlines)
        return replace(
            profile, strings=list(self._strings), functions=functions, locations=locations, mappings=mappings
        )


def _with_has_flags(mappings: Mappings, locations: Locations, functions: Functions, has_inlines: AnyArray) -> Mappings:
    """has_functions and so on: true where any line of the mapping really has one."""
    mapping = np.repeat(locations.mapping, np.diff(locations.line_offsets))
    has_file, has_line = functions.filename[locations.line_function] > 0, locations.line_number > 0

    def any_of(column: AnyArray) -> AnyArray:
        result = np.zeros(len(mappings), np.bool_)
        result[mapping[column & (mapping >= 0)]] = True
        return result

    named = any_of(np.ones(len(mapping), np.bool_))
    return replace(
        mappings,
        has_functions=mappings.has_functions | named,
        has_filenames=mappings.has_filenames | any_of(has_file),
        has_line_numbers=mappings.has_line_numbers | any_of(has_line),
        has_inline_frames=mappings.has_inline_frames | (has_inlines & named),
    )
