"""Names known before any symbol source is used, so that each is looked up once.

They come from the profile itself, if it was read with names, or from earlier recordings of the same command, by object
and address. Objects of one build have the same names in all recordings; so does the kernel on every boot, given its
relocation. Everything else depends on the recording (memory without a file, the vDSO) or on unrecorded facts (files
without a build id).
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


class Answers:
    """Names of places by row; grows with every lookup."""

    def __init__(self) -> None:
        self._rows = GrowableColumns(np.int64, 5)
        """Place, first line, number of lines, ``is_exact`` and ``has_inlines``.

        The first row is a place without names.
        """
        self._rows.extend(zeros(1), 0, 0, 0, 0)
        self._lines = GrowableColumns(np.int64, 2)
        """Function and line."""
        self._functions: list[FunctionRow] = []
        self.reason = ""
        self.is_counted = False
        """Whether a lookup added to the diagnostics. If so, no names are reused, because every recording must count its
        own damage.
        """

    def __len__(self) -> int:
        return len(self._rows) - 1

    def add(self, names: PlaceNames) -> None:
        """Append a row for each place."""
        start = cumsum(names.count) - names.count + len(self._lines)
        self._rows.extend(names.place, start, names.count, names.is_exact, names.has_inlines)
        self._lines.extend(as_int64(names.function) + len(self._functions), names.line)
        self._functions += names.functions

    def names(self) -> PlaceNames:
        """Return all rows."""
        place, _, count, is_exact, has_inlines = self._rows.whole()[:, 1:]
        flags = is_exact.astype(np.bool_), has_inlines.astype(np.bool_)
        function, line = self._lines.columns()
        return PlaceNames(place, count, *flags, function, line, self._functions)

    def result(self, rows: I64) -> ResolveResult:
        """Return the result for locations whose places have these rows; −1 is a location without a name."""
        start, count, is_exact, has_inlines = self._rows.whole()[1:, rows + 1]
        function, line = (column[ranges(start, count)] for column in self._lines.columns())
        used, place = unique_known(function)
        return ResolveResult(
            start=cumsum(count) - count,
            count=count,
            is_exact=is_exact.astype(np.bool_),
            function=as_int32(place),
            line=as_int32(line),
            functions=[self._functions[row] for row in used.tolist()],
            has_inlines=has_inlines.astype(np.bool_),
            reason=self.reason,
        )


class Known(Frozen):
    """The known part of an object's locations, and the rest, which must be looked up."""

    answers: Answers
    rows: I64
    """(locations,) the row of each; −1: known to have no name."""
    pending: I64
    """The locations still to look up, by number."""

    def completed(self, found: ResolveResult | None) -> ResolveResult:
        """Return the result for all locations of the object, and remember ``found``, the result for ``pending``."""
        answers = self.answers
        if found is not None and len(self.pending):
            first, _ = group_rows([self.rows[self.pending]])
            answers.add(found.names(first))
            answers.is_counted |= bool(found.counts)
            if not found.count.all():
                answers.reason = found.reason
            if len(self.pending) == len(self.rows):
                return found
        return answers.result(self.rows)


class PendingObjects:
    """The objects of one profile, and their known names."""

    def __init__(self, objects: list[MappedObject], known: Sequence[Callable[[MappedObject], Known | None]]) -> None:
        """Each element of ``known`` names locations that those before it left unnamed."""
        self._objects, self._known = objects, list[list[Known | None]]()
        self.pending = objects
        """Each object with the locations to look up."""
        for of in known:
            self._known.append([of(mapped) if len(mapped.locations) else None for mapped in self.pending])
            self.pending = [
                mapped if one is None else replace(mapped, locations=mapped.locations[one.pending])
                for mapped, one in zip(self.pending, self._known[-1], strict=True)
            ]

    def completed(self, found: dict[int, ResolveResult]) -> Iterator[tuple[MappedObject, ResolveResult]]:
        """Yield every object with the result for all its locations.

        ``found`` has the results of lookups by object number; each is removed from it, to free memory. Objects that
        needed no lookup come first, grouped by the origin of their names, because the objects of a group share lines.
        """
        first = self._known[0] if self._known else []
        whole = {number: known for number, known in enumerate(first) if known is not None and not len(known.pending)}
        groups: dict[int, list[int]] = {}
        for number, known in whole.items():
            groups.setdefault(id(known.answers), []).append(number)
        for numbers in groups.values():
            rows = [whole[number].rows for number in numbers]
            results = whole[numbers[0]].answers.result(np.concatenate(rows)).split([len(each) for each in rows])
            yield from ((self._objects[number], result) for number, result in zip(numbers, results, strict=True))
        for number, mapped in enumerate(self._objects):
            if number in whole:
                continue
            result = found.pop(number, None)
            for layer in reversed(self._known):
                one = layer[number]
                result = result if one is None else one.completed(result)
            if result is not None:
                yield mapped, result


_ObjectFacts = tuple[object, ...]
"""Everything that determines the names of an object's addresses."""


class KnownNames:
    """Names by object and address, shared by the recordings of one command; empty at first."""

    def __init__(self) -> None:
        self._objects: dict[_ObjectFacts, tuple[RowInterner, Answers]] = {}

    def of(self, profile: Profile, mapped: MappedObject, context: Context) -> Known | None:
        """Return the known names of an object; None if its names are valid in only one recording."""
        facts = _facts(profile, mapped, context)
        if facts is None:
            return None
        pairs, answers = self._objects.setdefault(facts, (RowInterner(2), Answers()))
        if answers.is_counted:
            return None
        known = len(pairs)
        columns = profile.locations.lookup, profile.locations.address
        lookup, address = (_in_object(profile, mapped, column[mapped.locations]) for column in columns)
        rows = pairs.number(lookup.view(np.int64), address.view(np.int64))
        return Known(answers, rows, flatnonzero(rows >= known))


def _facts(profile: Profile, mapped: MappedObject, context: Context) -> _ObjectFacts | None:
    """Return what determines an object's names; None if they are valid in only one recording.

    The first file offset is included because a debug file without the program needs it (see ``addresses_of``).
    """
    key, mappings = mapped.key, profile.mappings
    if key.kind is DsoKind.FILE:
        lasts = bool(key.build_id) and not is_jitdump(key.name) and key.name not in context.session.recorded_files
        return (key, int(mappings.offset[mapped.mappings].min())) if lasts else None
    session = context.session
    lasts = bool(context.kernel_build_id and context.kernel_reference[1]) and not (
        session.kcore_dir or session.recorded_files
    )
    if key.kind not in (DsoKind.KERNEL, DsoKind.MODULE) or not lasts:
        return None
    limit = int(mappings.limit[mapped.mappings].max(initial=0))
    return (key, context.kernel_build_id, context.kernel_reference, session.os_release, mapped.start, limit)


def _in_object(profile: Profile, mapped: MappedObject, address: U64) -> U64:
    """Return file offsets for addresses in a file, which do not depend on the mapping; other addresses as recorded."""
    if mapped.key.kind is not DsoKind.FILE:
        return address
    mapping, mappings = profile.locations.mapping[mapped.locations], profile.mappings
    return address + (mappings.offset[mapping] - mappings.start[mapping])
