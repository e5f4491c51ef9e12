"""Symbolizes a profile: passes a batch of unique addresses per object to symbol sources, in order."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.columnar import I32, I64, arange, as_int32, as_int64, falses, flatnonzero, sum_of, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.profile import Functions, Profile
from perf2x.model.recording import Session, Sideband
from perf2x.symbolizer.interrupted_frames import (
    are_kernel_returns,
    behind_entries,
    settle_interrupted,
    with_exact_twins,
)
from perf2x.symbolizer.known.known_names import Known, KnownNames, PendingObjects
from perf2x.symbolizer.known.location_names import LocationNames, StoredNames
from perf2x.symbolizer.make_object_finder import make_context, make_finder
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.name_tables import ProfileLineBuilder
from perf2x.symbolizer.object_resolver import ObjectResolver, ResolveResult, full_names
from perf2x.symbolizer.sources.remembered_lines import cache_path_of
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbol_report import ObjectReport, SymbolReport, location_weights, object_report, sorted_report

READ_MICROSECONDS, UNIT_MICROSECONDS = 20, 5000
"""Estimated time to read a KiB of ``.debug_info``, and to read one of its units. At most one unit per address is read.
"""


def symbolize(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    sources: Sequence[type[SymbolSource]],
    finder: Finder | None = None,
    sideband: Sideband | None = None,
) -> tuple[Profile, SymbolReport]:
    """Symbolize a profile in this process; see ``ProfileSymbolizer``.

    ``finder`` is shared with the unwinder if there was one; ``sideband`` is the recording's.
    """
    finder = finder or make_finder(options, diagnostics)
    context = make_context(profile, session, options, diagnostics, finder, sideband)
    symbolizer = ProfileSymbolizer(profile, context, sources)
    return symbolizer.finish(map(symbolizer.resolve, range(symbolizer.units)))


class ProfileSymbolizer:
    """Symbolizes a profile in units of work, which may run in several processes::

        symbolizer.costs() ──▶  symbolizer.resolve(unit), for each unit, anywhere  ──▶  symbolizer.finish(results)

    Locations that already have lines keep them; those unknown to all sources stay without lines. An unreadable object
    is counted in the diagnostics and stays unnamed.
    """

    def __init__(
        self,
        profile: Profile,
        context: Context,
        sources: Sequence[type[SymbolSource]],
        known: KnownNames | None = None,
        stored: LocationNames | None = None,
    ) -> None:
        """``sources`` are the classes of the entry points (``perf2x.kernel.registry``).

        ``known`` has the names of earlier recordings, which are not looked up again, and collects those of this one;
        ``stored`` are names of this profile's own locations that were found earlier.
        """
        self._context, self._profile = context, profile
        self._sources = [source(context) for source in sources]
        self._names, self._stored = known, stored
        self._resolver = ObjectResolver(profile, context, self._sources)
        self._first = self._pending_objects(profile, zeros(0))
        self._units = _units_of_work(self._first.pending)

    @property
    def units(self) -> int:
        """Number of units of work."""
        return len(self._units)

    @property
    def can_fork(self) -> bool:
        """True unless files come from archives or servers, which only one process should access."""
        return self._context.finder.is_local

    def costs(self) -> list[int]:
        """Estimate for each unit the microseconds to find, open and query its objects; this finds all files."""
        units = [[self._first.pending[number] for number in unit] for unit in self._units]
        each = 3 if self._context.options.lines else 0
        return [
            sum(2000 + each * len(one.locations) for one in unit) + max(map(self._debug_info_cost, unit))
            for unit in units
        ]

    def _debug_info_cost(self, mapped: MappedObject) -> int:
        """Return the estimated microseconds to read the debug info units that contain an object's addresses."""
        if mapped.key.kind is not DsoKind.FILE or not self._context.options.lines:
            return 0
        file = self._context.find(mapped.key.name, mapped.key.build_id, mapped.pid).dwarf
        place = cache_path_of(file, self._context.options) if file is not None else None
        if file is None or (place is not None and place.is_file()):
            return 0
        info = file.section(".debug_info")
        size = info.size >> 10 if info is not None else 0
        return min(READ_MICROSECONDS * size, UNIT_MICROSECONDS * len(mapped.locations))

    def resolve(self, unit: int) -> list[ResolveResult]:
        """Do one unit of work."""
        return [self._resolver.resolve(self._first.pending[number]) for number in self._units[unit]]

    def finish(self, results: Iterable[list[ResolveResult]]) -> tuple[Profile, SymbolReport]:
        """Combine the results of all units, in order.

        Returns the profile with functions, lines and correct ``has_*`` flags, and a report of all objects. Neither
        depends on which process did a unit.
        """
        by_object = {
            number: result
            for unit, unit_results in zip(self._units, results, strict=True)
            for number, result in zip(unit, unit_results, strict=True)
        }
        weights, rows = location_weights(self._profile), []
        lines = ProfileLineBuilder(self._profile)
        for number in sorted(by_object):
            self._context.diagnostics.absorb(by_object[number].counts)
        for mapped, result in self._first.completed(by_object):
            lines.add(mapped, result)
            key, of_object = mapped.key, weights[:, mapped.locations]
            name = key.name or f"//anon of process {mapped.pid}"
            rows.append(object_report(name, key.build_id, of_object, result.count > 0, result.reason))
        rows.append(_unmapped_row(self._profile, lines.count, weights))
        named, moved = lines.finish(self._profile), lines.moved
        del weights, lines
        settled = settle_interrupted(*self._with_named_twins(named), self._context.session.arch, moved=moved)
        whole = in_function_order(settled, len(self._profile.strings))
        return _with_full_names(whole) if self._context.options.keep_full_names else whole, sorted_report(rows)

    def _with_named_twins(self, named: Profile) -> tuple[Profile, I32]:
        """Append twins of the kernel's return addresses that an entry interrupted, and name them like any location.

        The first lookup has already asked for their exact addresses, so nothing new is counted or reported.
        """
        interrupted = behind_entries(named, self._context.session.arch)
        rows = interrupted[are_kernel_returns(self._profile.locations)[interrupted]]
        profile, twin = with_exact_twins(named, rows)
        if not len(rows):
            return profile, twin
        first, resolver = self._pending_objects(profile, rows), ObjectResolver(profile, self._context, self._sources)
        pending = {number: mapped for number, mapped in enumerate(first.pending) if len(mapped.locations)}
        lines = ProfileLineBuilder(profile)
        for mapped, result in first.completed({number: resolver.resolve(one) for number, one in pending.items()}):
            lines.add(mapped, result)
        return lines.finish(profile), twin

    def _pending_objects(self, profile: Profile, twins: I64) -> PendingObjects:
        """Return the objects with the locations to look up.

        ``twins``: rows of the locations that have twins; only the twins, which come last, are looked up. If it is
        empty, all locations are.
        """
        selected = arange(len(profile.locations)) >= len(self._profile.locations) if len(twins) else None
        objects = mapped_objects(profile, self._context.session, selected)
        known: list[Callable[[MappedObject], Known | None]] = []
        if self._stored is not None:
            known.append(StoredNames(self._stored, self._profile.locations, twins).of)
        if (names := self._names) is not None:
            known.append(lambda mapped: names.of(profile, mapped, self._context))
        return PendingObjects(objects, known)


def _units_of_work(objects: Sequence[MappedObject]) -> list[list[int]]:
    """Return object numbers by unit of work; objects without an address to look up are left out.

    Objects of one build form a unit, because they share a cache; so do all objects without a file, because sources
    cache what they find out about the kernel.
    """
    units: dict[bytes | str, list[int]] = {}
    for number, mapped in enumerate(objects):
        if not len(mapped.locations):
            continue
        is_file = mapped.key.kind is DsoKind.FILE
        units.setdefault((mapped.key.build_id or mapped.key.name) if is_file else "", []).append(number)
    return list(units.values())


def _unmapped_row(profile: Profile, line_count: I64, weights: I64) -> ObjectReport:
    """Return the report row of frames outside all mappings."""
    locations = profile.locations
    unmapped = (line_count == 0) & (locations.mapping < 0) & ~locations.synthetic & (locations.mode != CpuMode.KERNEL)
    unnamed = falses(sum_of(unmapped))
    return object_report("[unknown]", b"", weights[:, unmapped], unnamed, "no mapping contained these addresses")


def _with_full_names(profile: Profile) -> Profile:
    columns = profile.functions.name.tolist(), profile.functions.system_name.tolist()
    names = ((profile.strings[name], profile.strings[system_name]) for name, system_name in zip(*columns, strict=True))
    return replace(profile, full_names={**profile.full_names, **full_names(names)})


def in_function_order(profile: Profile, kept: int) -> Profile:
    """Sort the functions that lines need by their texts and first lines, and drop all others.

    The first ``kept`` strings stay; the others follow in the order in which functions need them.
    """
    old, strings = profile.functions, profile.strings
    used = falses(len(old))
    used[profile.locations.line_function] = True
    texts = (old.name, old.system_name, old.filename)
    columns = [[strings[row] for row in column.tolist()] for column in texts]
    rows = list(zip(*columns, old.start_line.tolist(), strict=True))
    order = as_int64(sorted(flatnonzero(used).tolist(), key=rows.__getitem__))
    number = np.zeros(len(old), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    index = {text: row for row, text in enumerate(strings[:kept])}
    name, system_name, filename = (
        as_int32([index.setdefault(column[row], len(index)) for row in order.tolist()]) for column in columns
    )
    functions = Functions(name, system_name, filename, old.start_line[order])
    locations = replace(profile.locations, line_function=number[profile.locations.line_function])
    return replace(profile, strings=list(index), functions=functions, locations=locations)
