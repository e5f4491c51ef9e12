"""Builds a profile's tables of strings, functions and lines from the lookup results of its objects."""

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
        """Start with the strings, functions and lines that ``profile`` already has."""
        self._strings = {text: index for index, text in enumerate(profile.strings)}
        table = profile.functions
        columns = (table.name, table.system_name, table.filename, table.start_line)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._functions: dict[tuple[int, int, int, int], int] = {row: index for index, row in enumerate(rows)}
        # lines in order of arrival; locations refer to them by first row and count
        self._line_function: list[AnyArray] = [profile.locations.line_function]
        self._line_number: list[AnyArray] = [profile.locations.line_number]
        self._first = 0
        """Row of the first of the lines that were added last."""
        self._start = profile.locations.line_offsets[:-1].copy()
        self.count = np.diff(profile.locations.line_offsets)
        """(locations,) number of lines."""
        self._has_inlines = falses(len(profile.mappings))
        self._is_exact = falses(len(profile.locations))

    def add(self, mapped: MappedObject, result: ResolveResult) -> None:
        """Add the lines of one object's locations; results that share rows must follow each other."""
        if result.line is not self._line_number[-1]:
            numbers = as_int32(self._function_numbers(result.functions))
            self._line_function.append(numbers[result.function])
            self._first += len(self._line_number[-1])
            self._line_number.append(result.line)
        self._start[mapped.locations], self.count[mapped.locations] = result.start + self._first, result.count
        self._is_exact[mapped.locations] = result.is_exact
        self._has_inlines[mapped.mappings] |= result.has_inlines.any()

    @property
    def moved(self) -> bool:
        """Whether any location turned out to be exact, not a return address."""
        return bool(self._is_exact.any())

    def _function_numbers(self, functions: Sequence[FunctionRow]) -> list[int]:
        """Return numbers of functions in the profile's table; new functions are appended to it."""
        strings, known = self._strings, self._functions
        result = []
        for name, system_name, filename, start_line in functions:
            a = strings.setdefault(name, len(strings))
            b = a if system_name == name else strings.setdefault(system_name, len(strings))
            c = strings.setdefault(filename, len(strings))
            result.append(known.setdefault((a, b, c, start_line), len(known)))
        return result

    def finish(self, profile: Profile) -> Profile:
        """Return the profile with all lines, in the order of its locations."""
        rows = ranges(self._start, self.count)
        flat = np.fromiter(chain.from_iterable(self._functions), np.int32, 4 * len(self._functions))
        columns = flat.reshape(-1, 4).T
        functions = Functions(*(np.ascontiguousarray(column) for column in columns))
        before = profile.locations
        locations = replace(
            before,
            lookup=np.where(self._is_exact, before.address, before.lookup) if self.moved else before.lookup,
            line_offsets=offsets_of(self.count),
            line_function=np.concatenate(self._line_function)[rows].astype(np.int32, copy=False),
            line_number=np.concatenate(self._line_number)[rows].astype(np.int32, copy=False),
        )
        mappings = _with_has_flags(profile.mappings, locations, functions, self._has_inlines)
        return replace(
            profile, strings=list(self._strings), functions=functions, locations=locations, mappings=mappings,
        )  # fmt: skip


def _with_has_flags(mappings: Mappings, locations: Locations, functions: Functions, has_inlines: AnyArray) -> Mappings:
    """Set ``has_functions``, ``has_filenames`` etc. of mappings that have such lines."""
    mapping = repeat(locations.mapping, np.diff(locations.line_offsets))
    has_file, has_line = functions.filename[locations.line_function] > 0, locations.line_number > 0

    def any_of(column: AnyArray) -> AnyArray:
        result = falses(len(mappings))
        result[mapping[column & (mapping >= 0)]] = True
        return result

    named = any_of(trues(len(mapping)))
    return replace(
        mappings,
        has_functions=mappings.has_functions | named,
        has_filenames=mappings.has_filenames | any_of(has_file),
        has_line_numbers=mappings.has_line_numbers | any_of(has_line),
        has_inline_frames=mappings.has_inline_frames | (has_inlines & named),
    )
