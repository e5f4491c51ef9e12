"""Symbolizes a profile: looks up functions and lines for the addresses of each object.

Names show which kernel frames were interrupted; their exact addresses are looked up in a second step.
"""

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
    interrupted_locations,
    settle_interrupted,
    with_exact_twins,
)
from perf2x.symbolizer.known.known_names import KnownNames, PendingObjects, StoreAnswer
from perf2x.symbolizer.known.location_names import LocationNames, StoredNames
from perf2x.symbolizer.make_object_finder import make_context, make_finder
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver, ResolveResult, full_names
from perf2x.symbolizer.profile_lines import ProfileLineBuilder
from perf2x.symbolizer.sources.cached_lines import cache_path_of
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbol_report import ObjectReport, SymbolReport, frame_counts, object_report, sorted_report

# Estimated time to read debug info: for each KiB of .debug_info, and for each compilation unit.
MICROSECONDS_PER_KIB, MICROSECONDS_PER_UNIT = 20, 5000


def symbolize(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    sources: Sequence[type[SymbolSource]],
    finder: Finder | None = None,
    sideband: Sideband | None = None,
) -> tuple[Profile, SymbolReport]:
    """Symbolize a profile in this process; ``finder`` is the unwinder's, or None for a new one."""
    finder = finder or make_finder(options, diagnostics)
    context = make_context(profile, session, options, diagnostics, finder, sideband)
    symbolizer = ProfileSymbolizer(profile, context, sources)
    return symbolizer.finish(map(symbolizer.resolve, range(symbolizer.task_count)))


class ProfileSymbolizer:
    """Symbolizes a profile in tasks, which may run in several processes::

        symbolizer.costs() ──▶  symbolizer.resolve(task), for each task, anywhere  ──▶  symbolizer.finish(results)

    Locations that already have lines keep them. An unreadable object is counted in the diagnostics and stays unnamed.
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

        ``known`` has the names of earlier recordings, and gets those of this one. ``stored`` came with the profile.
        """
        self._context, self._profile = context, profile
        self._sources = [source(context) for source in sources]
        self._known, self._stored = known, stored
        self._resolver = ObjectResolver(profile, context, self._sources)
        self._objects = self._pending_objects(profile, zeros(0))
        self._tasks = _divide_into_tasks(self._objects.pending)

    @property
    def task_count(self) -> int:
        """Number of tasks."""
        return len(self._tasks)

    @property
    def can_fork(self) -> bool:
        """True unless files come from archives or servers, which only one process should access."""
        return self._context.finder.is_local

    def costs(self) -> list[int]:
        """Estimate the microseconds of each task."""
        tasks = [[self._objects.pending[number] for number in task] for task in self._tasks]
        # measured: 2 ms to find and open an object, 3 µs to look up the lines of an address
        microseconds_per_location = 3 if self._context.options.lines else 0
        # a task's objects are of the same build, so debug info is read once
        return [
            sum(2000 + microseconds_per_location * len(mapped_object.locations) for mapped_object in task)
            + max(map(self._debug_info_cost, task))
            for task in tasks
        ]

    def _debug_info_cost(self, mapped_object: MappedObject) -> int:
        """Estimate the microseconds to read debug info: at most one unit per address, none with a cache file."""
        if mapped_object.key.kind is not DsoKind.FILE or not self._context.options.lines:
            return 0
        file = self._context.find(mapped_object.key.name, mapped_object.key.build_id, mapped_object.pid).dwarf
        cache_path = cache_path_of(file, self._context.options) if file is not None else None
        if file is None or (cache_path is not None and cache_path.is_file()):
            return 0
        debug_info = file.section(".debug_info")
        kibibytes = debug_info.size >> 10 if debug_info is not None else 0
        return min(MICROSECONDS_PER_KIB * kibibytes, MICROSECONDS_PER_UNIT * len(mapped_object.locations))

    def resolve(self, task: int) -> list[ResolveResult]:
        """Return the result for each object of a task."""
        return [self._resolver.resolve(self._objects.pending[number]) for number in self._tasks[task]]

    def finish(self, results: Iterable[list[ResolveResult]]) -> tuple[Profile, SymbolReport]:
        """Return the profile with functions and lines, and a report; ``results`` are in the order of the tasks."""
        by_object = {
            number: result
            for task, task_results in zip(self._tasks, results, strict=True)
            for number, result in zip(task, task_results, strict=True)
        }
        counts, report_rows = frame_counts(self._profile), []
        lines = ProfileLineBuilder(self._profile)
        for number in sorted(by_object):
            self._context.diagnostics.absorb(by_object[number].diagnostic_counts)
        for mapped_object, result in self._objects.completed(by_object):
            lines.add(mapped_object, result)
            key, object_counts = mapped_object.key, counts[:, mapped_object.locations]
            name = key.name or f"//anon of process {mapped_object.pid}"
            report_rows.append(object_report(name, key.build_id, object_counts, result.count > 0, result.reason))
        report_rows.append(_unmapped_row(self._profile, lines.line_count, counts))
        named, has_exact = lines.finish(self._profile), lines.has_exact
        del counts, lines
        settled = settle_interrupted(*self._with_named_twins(named), self._context.session.arch, has_exact=has_exact)
        ordered = in_function_order(settled, len(self._profile.strings))
        keeps_full_names = self._context.options.keep_full_names
        return _with_full_names(ordered) if keeps_full_names else ordered, sorted_report(report_rows)

    def _with_named_twins(self, named: Profile) -> tuple[Profile, I32]:
        """Return the profile with twins of interrupted return addresses, and (locations,) each one's twin or −1.

        The first lookup has already asked for exact addresses, so nothing new is counted.
        """
        interrupted = interrupted_locations(named, self._context.session.arch)
        twinned_locations = interrupted[are_kernel_returns(self._profile.locations)[interrupted]]
        profile, twin = with_exact_twins(named, twinned_locations)
        if not len(twinned_locations):
            return profile, twin
        objects, lines = self._pending_objects(profile, twinned_locations), ProfileLineBuilder(profile)
        resolve = ObjectResolver(profile, self._context, self._sources).resolve
        results = {
            number: resolve(mapped_object)
            for number, mapped_object in enumerate(objects.pending)
            if len(mapped_object.locations)
        }
        for mapped_object, result in objects.completed(results):
            lines.add(mapped_object, result)
        return lines.finish(profile), twin

    def _pending_objects(self, profile: Profile, twinned_locations: I64) -> PendingObjects:
        """Return the objects with the locations to look up; if there are twins, only the twins are looked up."""
        selected = arange(len(profile.locations)) >= len(self._profile.locations) if len(twinned_locations) else None
        objects = mapped_objects(profile, self._context.session, selected)
        name_stores: list[Callable[[MappedObject], StoreAnswer | None]] = []
        if self._stored is not None:
            name_stores.append(StoredNames(self._stored, self._profile.locations, twinned_locations).of)
        if (known := self._known) is not None:
            name_stores.append(lambda mapped_object: known.of(profile, mapped_object, self._context))
        return PendingObjects(objects, name_stores)


def _divide_into_tasks(objects: Sequence[MappedObject]) -> list[list[int]]:
    """Return the numbers of the objects in each task, without objects that have nothing to look up.

    Files of one build are one task, because they share a cache file. All other objects are one task, because sources
    cache what they know about the kernel.
    """
    tasks: dict[bytes | str, list[int]] = {}
    for number, mapped_object in enumerate(objects):
        if not len(mapped_object.locations):
            continue
        is_file = mapped_object.key.kind is DsoKind.FILE
        tasks.setdefault((mapped_object.key.build_id or mapped_object.key.name) if is_file else "", []).append(number)
    return list(tasks.values())


def _unmapped_row(profile: Profile, line_count: I64, counts: I64) -> ObjectReport:
    """Return the row of frames outside all mappings, except kernel frames, which belong to the kernel's row."""
    locations = profile.locations
    is_unmapped = (
        (line_count == 0) & (locations.mapping < 0) & ~locations.synthetic & (locations.mode != CpuMode.KERNEL)
    )
    is_named = falses(sum_of(is_unmapped))
    return object_report("[unknown]", b"", counts[:, is_unmapped], is_named, "no mapping contained these addresses")


def _with_full_names(profile: Profile) -> Profile:
    columns = profile.functions.name.tolist(), profile.functions.system_name.tolist()
    names = ((profile.strings[name], profile.strings[system_name]) for name, system_name in zip(*columns, strict=True))
    return replace(profile, full_names={**profile.full_names, **full_names(names)})


def in_function_order(profile: Profile, kept_strings: int) -> Profile:
    """Sort the functions by their names, files and start lines, and drop those that no line refers to.

    The first ``kept_strings`` strings keep their indices. Other strings that functions need follow.
    """
    old, strings = profile.functions, profile.strings
    is_used = falses(len(old))
    is_used[profile.locations.line_function] = True
    columns = [[strings[row] for row in column.tolist()] for column in (old.name, old.system_name, old.filename)]
    sort_keys = list(zip(*columns, old.start_line.tolist(), strict=True))
    order = as_int64(sorted(flatnonzero(is_used).tolist(), key=sort_keys.__getitem__))
    new_row = np.zeros(len(old), np.int32)
    new_row[order] = np.arange(len(order), dtype=np.int32)
    string_index = {text: index for index, text in enumerate(strings[:kept_strings])}
    name, system_name, filename = (
        as_int32([string_index.setdefault(column[row], len(string_index)) for row in order.tolist()])
        for column in columns
    )
    functions = Functions(name, system_name, filename, old.start_line[order])
    locations = replace(profile.locations, line_function=new_row[profile.locations.line_function])
    return replace(profile, strings=list(string_index), functions=functions, locations=locations)
