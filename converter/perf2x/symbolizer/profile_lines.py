"""Builds a profile's tables of strings, functions and lines from the lookup results of its objects.

A line, as in pprof, is a function and a source line in it.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import AnyArray, as_int32, falses, offsets_of, ranges, repeat, trues
from perf2x.model.profile import FunctionRow, Functions, Locations, Mappings, Profile
from perf2x.symbolizer.mapped_objects import MappedObject
from perf2x.symbolizer.object_resolver import ResolveResult


class ProfileLineBuilder:
    """Collects the lines of locations, object by object; ``finish`` returns the profile with them."""

    def __init__(self, profile: Profile) -> None:
        self._strings = {text: index for index, text in enumerate(profile.strings)}
        table = profile.functions
        columns = (table.name, table.system_name, table.filename, table.start_line)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._functions: dict[tuple[int, int, int, int], int] = {row: index for index, row in enumerate(rows)}
        # all lines so far; those of location i begin at row _start[i] of the joined arrays
        self._line_function: list[AnyArray] = [profile.locations.line_function]
        self._line_number: list[AnyArray] = [profile.locations.line_number]
        self._last_array_start = 0
        self._start = profile.locations.line_offsets[:-1].copy()
        self.line_count = np.diff(profile.locations.line_offsets)
        """(locations,) number of lines."""
        self._has_inlines = falses(len(profile.mappings))
        self._is_exact = falses(len(profile.locations))

    def add(self, mapped_object: MappedObject, result: ResolveResult) -> None:
        """Add the lines of one object's locations. Results that share rows must be added one after another."""
        if result.line is not self._line_number[-1]:
            numbers = as_int32(self._function_numbers(result.functions))
            self._line_function.append(numbers[result.function])
            self._last_array_start += len(self._line_number[-1])
            self._line_number.append(result.line)
        self._start[mapped_object.locations] = result.start + self._last_array_start
        self.line_count[mapped_object.locations] = result.count
        self._is_exact[mapped_object.locations] = result.is_exact
        self._has_inlines[mapped_object.mappings] |= result.has_inlines.any()

    @property
    def has_exact(self) -> bool:
        """Whether any location turned out to be exact, not a return address."""
        return bool(self._is_exact.any())

    def _function_numbers(self, functions: Sequence[FunctionRow]) -> list[int]:
        strings, table = self._strings, self._functions
        numbers = []
        for name, system_name, filename, start_line in functions:
            name_index = strings.setdefault(name, len(strings))
            system_index = name_index if system_name == name else strings.setdefault(system_name, len(strings))
            file_index = strings.setdefault(filename, len(strings))
            numbers.append(table.setdefault((name_index, system_index, file_index, start_line), len(table)))
        return numbers

    def finish(self, profile: Profile) -> Profile:
        """Return ``profile`` with all lines, functions and strings, and with the ``has_…`` flags of its mappings."""
        rows = ranges(self._start, self.line_count)
        flat = np.fromiter(chain.from_iterable(self._functions), np.int32, 4 * len(self._functions))
        columns = flat.reshape(-1, 4).T
        functions = Functions(*(np.ascontiguousarray(column) for column in columns))
        old = profile.locations
        locations = replace(
            old,
            lookup=np.where(self._is_exact, old.address, old.lookup) if self.has_exact else old.lookup,
            line_offsets=offsets_of(self.line_count),
            line_function=np.concatenate(self._line_function)[rows].astype(np.int32, copy=False),
            line_number=np.concatenate(self._line_number)[rows].astype(np.int32, copy=False),
        )
        mappings = _with_has_flags(profile.mappings, locations, functions, self._has_inlines)
        return replace(
            profile, strings=list(self._strings), functions=functions, locations=locations, mappings=mappings,
        )  # fmt: skip


def _with_has_flags(mappings: Mappings, locations: Locations, functions: Functions, has_inlines: AnyArray) -> Mappings:
    """Set pprof's flags; ``has_inlines`` (mappings,): a source includes inlined functions."""
    line_mapping = repeat(locations.mapping, np.diff(locations.line_offsets))
    has_file, has_line = functions.filename[locations.line_function] > 0, locations.line_number > 0

    def mappings_with(is_selected_line: AnyArray) -> AnyArray:
        result = falses(len(mappings))
        result[line_mapping[is_selected_line & (line_mapping >= 0)]] = True
        return result

    has_functions = mappings_with(trues(len(line_mapping)))
    return replace(
        mappings,
        has_functions=mappings.has_functions | has_functions,
        has_filenames=mappings.has_filenames | mappings_with(has_file),
        has_line_numbers=mappings.has_line_numbers | mappings_with(has_line),
        has_inline_frames=mappings.has_inline_frames | (has_inlines & has_functions),
    )
