"""Names that are known before any symbol source is asked, so that each is looked up only once.

``StoredNames`` (location_names.py) has names that came with the profile, as in a dataset. ``KnownNames`` has those that
earlier recordings of the same command needed. It has only names that are the same in all recordings: of files with a
build id, and of kernels with a build id and a recorded load address.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    U64,
    Frozen,
    GrowableColumns,
    RowInterner,
    as_int32,
    as_int64,
    cumsum,
    flatnonzero,
    group_rows,
    ranges,
    unique_known,
    zeros,
)
from perf2x.base.mapping_names import is_jitdump
from perf2x.model.profile import FunctionRow, PlaceNames, Profile
from perf2x.symbolizer.mapped_objects import MappedObject
from perf2x.symbolizer.object_resolver import ResolveResult
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind


class NameTable:
    """The names of places, one row for each.

    A row has a range of lines, innermost inlined function first. Row −1 stands for a place without names.
    """

    def __init__(self) -> None:
        self._rows = GrowableColumns(np.int64, 5)
        """Place, first line, number of lines, ``is_exact`` and ``has_inlines`` of each row.

        Row −1, which has no lines, is stored first.
        """
        self._rows.extend(zeros(1), 0, 0, 0, 0)
        self._lines = GrowableColumns(np.int64, 2)
        """Index into ``_functions``, and source line."""
        self._functions: list[FunctionRow] = []
        self.reason = ""  # why places without lines have none
        self.has_damage = False
        """A lookup found damage. Then no names are reused, because every recording must count its own damage."""

    def __len__(self) -> int:
        return len(self._rows) - 1

    def add(self, names: PlaceNames) -> None:
        """Append a row for each place."""
        first_line = cumsum(names.count) - names.count + len(self._lines)
        self._rows.extend(names.place, first_line, names.count, names.is_exact, names.has_inlines)
        self._lines.extend(as_int64(names.function) + len(self._functions), names.line)
        self._functions += names.functions

    def names(self) -> PlaceNames:
        """Return all rows."""
        place, _, count, is_exact, has_inlines = self._rows.matrix()[:, 1:]
        flags = is_exact.astype(np.bool_), has_inlines.astype(np.bool_)
        function, line = self._lines.columns()
        return PlaceNames(place, count, *flags, function, line, self._functions)

    def result(self, rows: I64) -> ResolveResult:
        """Return the result for locations whose names are in ``rows`` (locations,), −1 for a location without names."""
        first_line, count, is_exact, has_inlines = self._rows.matrix()[1:, rows + 1]
        function, line = (column[ranges(first_line, count)] for column in self._lines.columns())
        used_functions, function_index = unique_known(function)
        return ResolveResult(
            start=cumsum(count) - count,
            count=count,
            is_exact=is_exact.astype(np.bool_),
            function=as_int32(function_index),
            line=as_int32(line),
            functions=[self._functions[row] for row in used_functions.tolist()],
            has_inlines=has_inlines.astype(np.bool_),
            reason=self.reason,
        )


class StoreAnswer(Frozen):
    """Answer of a store of names for one object: the rows of its locations, and which must be looked up."""

    table: NameTable
    rows: I64
    """(locations,) each location's row in ``table``; −1 if it is known to have no name.

    Pending locations have the next free rows of the table, which are reserved for them.
    """
    pending: I64
    """Indices of the locations that must be looked up, ascending."""

    def completed(self, found: ResolveResult | None) -> ResolveResult:
        """Add ``found``, the result for the pending locations, to the table; return the result for all locations."""
        table = self.table
        if found is not None and len(self.pending):
            # locations at the same address share a row
            first_of_row, _ = group_rows([self.rows[self.pending]])
            table.add(found.names(first_of_row))
            table.has_damage |= bool(found.diagnostic_counts)
            if not found.count.all():
                table.reason = found.reason
            if len(self.pending) == len(self.rows):
                return found
        return table.result(self.rows)


class PendingObjects:
    """The objects of one profile: their known names, and their locations that must be looked up."""

    def __init__(
        self, objects: list[MappedObject], name_stores: Sequence[Callable[[MappedObject], StoreAnswer | None]]
    ) -> None:
        """Ask each of ``name_stores`` for the locations that those before it do not know.

        A store returns None for an object that it does not handle.
        """
        self._objects, self._answers_by_store = objects, list[list[StoreAnswer | None]]()
        self.pending = objects
        """Locations are reduced to those that must be looked up."""
        for store in name_stores:
            self._answers_by_store.append(
                [store(mapped_object) if len(mapped_object.locations) else None for mapped_object in self.pending]
            )
            self.pending = [
                mapped_object
                if answer is None
                else replace(mapped_object, locations=mapped_object.locations[answer.pending])
                for mapped_object, answer in zip(self.pending, self._answers_by_store[-1], strict=True)
            ]

    def completed(self, found: dict[int, ResolveResult]) -> Iterator[tuple[MappedObject, ResolveResult]]:
        """Yield every object with the result for all its locations.

        Each result is removed from ``found`` (by object number), to free memory. Objects that the first store knows
        completely come first; those with the same table share one result.
        """
        first_store = self._answers_by_store[0] if self._answers_by_store else []
        complete_answers = {
            number: answer
            for number, answer in enumerate(first_store)
            if answer is not None and not len(answer.pending)
        }
        groups: dict[int, list[int]] = {}
        for number, complete in complete_answers.items():
            groups.setdefault(id(complete.table), []).append(number)
        for numbers in groups.values():
            rows = [complete_answers[number].rows for number in numbers]
            joined = complete_answers[numbers[0]].table.result(np.concatenate(rows))
            results = joined.split([*map(len, rows)])
            yield from ((self._objects[number], result) for number, result in zip(numbers, results, strict=True))
        for number, mapped_object in enumerate(self._objects):
            if number in complete_answers:
                continue
            result = found.pop(number, None)
            # each store was asked for what the stores before it left pending
            for answers in reversed(self._answers_by_store):
                answer = answers[number]
                result = result if answer is None else answer.completed(result)
            if result is not None:
                yield mapped_object, result


_CacheKey = tuple[object, ...]


class KnownNames:
    """Names by object and address, shared by the recordings of one command; empty at first."""

    def __init__(self) -> None:
        # by object: a row number for each distinct pair (lookup address, address), and the names in these rows
        self._objects: dict[_CacheKey, tuple[RowInterner, NameTable]] = {}

    def of(self, profile: Profile, mapped_object: MappedObject, context: Context) -> StoreAnswer | None:
        """Return the known names of an object; None if its names are valid in only one recording.

        New addresses get rows; `StoreAnswer.completed` adds their names.
        """
        key = _cache_key(profile, mapped_object, context)
        if key is None:
            return None
        pairs, table = self._objects.setdefault(key, (RowInterner(2), NameTable()))
        if table.has_damage:
            return None
        known_count = len(pairs)
        columns = profile.locations.lookup, profile.locations.address
        lookup, address = (
            _portable_addresses(profile, mapped_object, column[mapped_object.locations]) for column in columns
        )
        rows = pairs.number(lookup.view(np.int64), address.view(np.int64))
        return StoreAnswer(table, rows, flatnonzero(rows >= known_count))


def _cache_key(profile: Profile, mapped_object: MappedObject, context: Context) -> _CacheKey | None:
    """Return the key of an object's names; None if they are valid in only one recording.

    The key of a file has its lowest mapped offset, because addresses depend on it if only the debug file is found.
    """
    key, mappings = mapped_object.key, profile.mappings
    if key.kind is DsoKind.FILE:
        is_lasting = bool(key.build_id) and not is_jitdump(key.name) and key.name not in context.session.recorded_files
        return (key, int(mappings.offset[mapped_object.mappings].min())) if is_lasting else None
    session = context.session
    _, recorded_address = context.kernel_reference
    is_lasting = bool(context.kernel_build_id and recorded_address) and not (
        session.kcore_dir or session.recorded_files
    )
    if key.kind not in (DsoKind.KERNEL, DsoKind.MODULE) or not is_lasting:
        return None
    limit = int(mappings.limit[mapped_object.mappings].max(initial=0))
    return (key, context.kernel_build_id, context.kernel_reference, session.os_release, mapped_object.start, limit)


def _portable_addresses(profile: Profile, mapped_object: MappedObject, address: U64) -> U64:
    """Convert addresses in a file to file offsets; those in the kernel and its modules stay as recorded."""
    if mapped_object.key.kind is not DsoKind.FILE:
        return address
    mapping, mappings = profile.locations.mapping[mapped_object.locations], profile.mappings
    return address + (mappings.offset[mapping] - mappings.start[mapping])
