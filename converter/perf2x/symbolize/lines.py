"""The growing tables of lines, functions and strings, and how they become a profile's."""

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I32, I64, AnyArray
from perf2x.model.ordering import unique
from perf2x.model.profile import Functions, Locations, Mappings, Profile
from perf2x.model.ragged import offsets_of, ranges
from perf2x.symbolize.demangle import Demangle, demangle
from perf2x.symbolize.source import Function


@dataclass(slots=True)
class _Pool:
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


class Lines:
    """Collects lines per location; ``finish`` makes the profile."""

    def __init__(self, profile: Profile, style: Demangle) -> None:
        self._style = style
        self._strings = {text: index for index, text in enumerate(profile.strings)}
        table = profile.functions
        rows = zip(table.name, table.system_name, table.filename, table.start_line, strict=True)
        self._functions = {tuple(int(value) for value in row): index for index, row in enumerate(rows)}
        self._pool = _Pool()
        self._pool.add(profile.locations.line_function, profile.locations.line_number)
        self._start = profile.locations.line_offsets[:-1].copy()
        self.count = np.diff(profile.locations.line_offsets)
        self.has_inlines = np.zeros(len(profile.mappings), np.bool_)

    def add(self, functions: Sequence[Function], function: I32, line: I32) -> int:
        """Append rows that refer to a source's own functions; where they begin."""
        used = unique(function)
        table = np.zeros(len(functions), np.int32)
        table[used] = [self._function(functions[int(index)]) for index in used]
        return self._pool.add(table[function], line)

    def place(self, locations: I64, start: I64, count: I64) -> None:
        """Say which rows belong to which locations."""
        self._start[locations], self.count[locations] = start, count

    def _function(self, function: Function) -> int:
        name = function.name or demangle(function.system_name, self._style)
        texts = (name, function.system_name or name, function.filename)
        key = (*(self._strings.setdefault(text, len(self._strings)) for text in texts), function.start_line)
        return self._functions.setdefault(key, len(self._functions))

    def finish(self, profile: Profile) -> Profile:
        """The profile with all lines in the order of its locations."""
        rows = ranges(self._start, self.count)
        columns = np.array(list(self._functions), np.int32).reshape(-1, 4).T
        functions = Functions(*(np.ascontiguousarray(column) for column in columns))
        locations = replace(
            profile.locations,
            line_offsets=offsets_of(self.count),
            line_function=np.concatenate(self._pool.function)[rows].astype(np.int32),
            line_number=np.concatenate(self._pool.line)[rows].astype(np.int32),
        )
        mappings = _flags(profile.mappings, locations, functions, self.has_inlines)
        return replace(
            profile, strings=list(self._strings), functions=functions, locations=locations, mappings=mappings
        )


def _flags(mappings: Mappings, locations: Locations, functions: Functions, has_inlines: AnyArray) -> Mappings:
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
