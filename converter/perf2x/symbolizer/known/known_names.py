"""Names that earlier recordings of one command were given, by object and address: each is looked up once.

Objects of a build keep their names whatever recording they are in; so does the kernel from one boot to the next, which
its relocation tells. All else is named by the recording itself (memory without a file, the vDSO) or by facts that
are not recorded for good (files without a build id).
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, U64, GrowableColumns, cumsum, flatnonzero
from perf2x.base.columnar.interner import RowInterner
from perf2x.base.columnar.ragged import ranges
from perf2x.base.columnar.unique import unique_known
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.recorded_names import is_jitdump
from perf2x.symbolizer.mapped_objects import MappedObject
from perf2x.symbolizer.object_resolver import FunctionRow, ResolveResult
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind

_ObjectFacts = tuple[object, ...]
"""All that decides the names of an object's addresses; equal facts, equal names."""


class KnownNames:
    """Results by object; empty at first, shared by the recordings of one command."""

    def __init__(self) -> None:
        self._objects: dict[_ObjectFacts, KnownObject] = {}

    def of(self, profile: Profile, mapped: MappedObject, context: Context) -> "KnownObject | None":
        """The names of an object; None when they do not outlive the recording."""
        facts = _facts(profile, mapped, context)
        given = None if facts is None else self._objects.setdefault(facts, KnownObject())
        return None if given is None or given.is_counted else given


class KnownObject:
    """Lines of the addresses of one object, as ``ResolveResult`` has them, and more with every recording."""

    def __init__(self) -> None:
        self._pairs = RowInterner(2)
        self._answers = GrowableColumns(np.int64, 3)
        """First row, number of rows and ``is_exact`` of each pair."""
        self._lines = GrowableColumns(np.int64, 2)
        """Function and line of each row."""
        self._functions: list[FunctionRow] = []
        self._full_names: dict[str, str] = {}
        self._reason = ""
        self._has_inlines = False
        self._build_id = b""
        self.is_counted = False
        """Whether a lookup was counted in the diagnostics: then each recording's has to be."""

    def number(self, profile: Profile, mapped: MappedObject) -> tuple[I64, I64]:
        """Number each location's addresses; returns (numbers, rows of the locations whose addresses are new)."""
        known = len(self._pairs)
        lookup, address = (_in_object(profile, mapped, column) for column in _addresses(profile, mapped))
        numbers = self._pairs.number(lookup.view(np.int64), address.view(np.int64))
        return numbers, flatnonzero(numbers >= known)

    def add(self, numbers: I64, result: ResolveResult) -> None:
        """Add the result for new addresses, of which ``numbers`` (locations,) may hold some twice."""
        lines, count = len(self._lines), result.count
        fresh = np.zeros((3, len(self._pairs) - len(self._answers)), np.int64)
        fresh[:, numbers - len(self._answers)] = result.start + lines, count, result.is_exact
        self._answers.extend(*fresh)
        self._lines.extend(result.function.astype(np.int64) + len(self._functions), result.line.astype(np.int64))
        self._functions += result.functions
        self._full_names.update(result.full_names)
        self._has_inlines |= result.has_inlines
        self._build_id = result.build_id
        self.is_counted |= bool(result.counts)
        if not count.all():
            self._reason = result.reason

    def result(self, numbers: I64) -> ResolveResult:
        """Make the result for the locations with these numbers, from what is known of their addresses."""
        start, count, is_exact = (column[numbers] for column in self._answers.columns())
        function, line = (column[ranges(start, count)] for column in self._lines.columns())
        used, place = unique_known(function)
        functions = [self._functions[row] for row in used.tolist()]
        names = {row[1] for row in functions}
        return ResolveResult(
            start=cumsum(count) - count,
            count=count,
            is_exact=is_exact.astype(np.bool_),
            function=place.astype(np.int32),
            line=line.astype(np.int32),
            functions=functions,
            full_names={name: full for name, full in self._full_names.items() if name in names},
            has_inlines=self._has_inlines,
            build_id=self._build_id,
            reason=self._reason,
            counts=[],
        )


class KnownShare:
    """The part of one profile's objects that is known, and what is left to look up."""

    def __init__(self, profile: Profile, objects: Sequence[MappedObject], context: Context, known: KnownNames) -> None:
        self._given = [known.of(profile, mapped, context) for mapped in objects]
        self._rows = [
            None if given is None else given.number(profile, mapped)
            for given, mapped in zip(self._given, objects, strict=True)
        ]
        self.asked = [
            mapped if rows is None else replace(mapped, locations=mapped.locations[rows[1]])
            for rows, mapped in zip(self._rows, objects, strict=True)
        ]
        """Each object with the locations that must be looked up."""

    def completed(self, number: int, found: ResolveResult | None) -> ResolveResult | None:
        """Return the result for all locations of an object; ``found`` is that for those that were asked."""
        given, rows = self._given[number], self._rows[number]
        if given is None or rows is None:
            return found
        numbers, fresh = rows
        if found is not None:
            given.add(numbers[fresh], found)
        if found is None:
            return given.result(numbers)
        if len(fresh) == len(numbers):
            return found
        whole = given.result(numbers)  # with functions that the new addresses were compared with, too
        return replace(whole, functions=[*whole.functions, *found.functions])


def _facts(profile: Profile, mapped: MappedObject, context: Context) -> _ObjectFacts | None:
    """Facts that decide an object's names; None if they do not outlive the recording.

    The first file offset is among them because it places a debug file without the program (see ``addresses_of``).
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


def _addresses(profile: Profile, mapped: MappedObject) -> tuple[U64, U64]:
    locations = profile.locations
    return locations.lookup[mapped.locations], locations.address[mapped.locations]


def _in_object(profile: Profile, mapped: MappedObject, address: U64) -> U64:
    """File offsets of a file's addresses, which do not tell where it was mapped; others as recorded."""
    if mapped.key.kind is not DsoKind.FILE:
        return address
    mapping, mappings = profile.locations.mapping[mapped.locations], profile.mappings
    return address + (mappings.offset[mapping] - mappings.start[mapping])
