"""Names of locations before stacks are settled: what is kept of them where names and stacks are joined later.

Names that were found earlier and kept elsewhere: they are taken as they are, and only other locations looked up.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I32, I64, AnyArray, Bools, arange, cumsum, flatnonzero, searchsorted
from perf2x.base.columnar.ragged import ranges
from perf2x.base.columnar.unique import unique_inverse
from perf2x.model.profile.profile import Locations, Profile
from perf2x.model.recording.recorded_names import is_jitdump
from perf2x.symbolizer.interrupted_frames import are_kernel_returns, with_exact_twins
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.object_resolver import FunctionRow, ObjectResolver, ResolveResult, full_names
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, Function, SymbolSource
from perf2x.symbolizer.symbol_options import SymbolOptions

_AT_ONCE = 1 << 16
"""Locations that are resolved together."""


class LocationNames(Struct, frozen=True):
    """Lines of some locations; behind the profile's own stand twins of all that ``are_kernel_returns``, in order."""

    location: I64
    """(n,)"""
    count: I64
    """(n,) number of lines of each, innermost inlined function first."""
    is_exact: Bools
    """(n,) as in ResolveResult."""
    has_inlines: Bools
    """(n,)"""
    function: I32
    """(lines,) index into ``functions``."""
    line: I32
    functions: Sequence[FunctionRow]
    looked_up: Bools
    """(mappings,) mappings of the objects that were asked about."""
    kernel_looked_up: bool
    """Whether kernel addresses outside all mappings were asked about."""


def location_names(
    profile: Profile,
    context: Context,
    sources: Sequence[type[SymbolSource]],
    wanted: Callable[[MappedObject, Context], bool],
) -> LocationNames:
    """Look up the names of the objects that are ``wanted``; what is counted goes to the context's diagnostics.

    Locations without a name are not among them.
    """
    returns = flatnonzero(are_kernel_returns(profile.locations)).astype(np.int32)
    asked = [source(context) for source in sources]
    objects = [mapped for mapped in mapped_objects(profile, context.session) if wanted(mapped, context)]
    looked_up = np.zeros(len(profile.mappings), np.bool_)
    none = np.zeros(0, np.int64)
    columns: list[list[AnyArray]] = [[none], [none], [none > 0], [none > 0], [none], [none]]
    functions: list[FunctionRow] = []
    for mapped in objects:
        # names in a recording are only those that it hit: files may still tell more
        looked_up[mapped.mappings] = not context.session.recorded_files or only_where_recorded(mapped, context)
        for rows in _batches(mapped):
            part, location = _with_twins_of(profile, rows, returns)
            result = ObjectResolver(part, context, asked).resolve(replace(mapped, locations=arange(len(location))))
            context.diagnostics.absorb(result.counts)
            named = flatnonzero(result.count)
            lines = ranges(result.start[named], result.count[named])
            of_batch: tuple[AnyArray, ...] = (
                location[named], result.count[named], result.is_exact[named],
                np.full(len(named), result.has_inlines, np.bool_),
                result.function[lines] + len(functions), result.line[lines],
            )  # fmt: skip
            for column, more in zip(columns, of_batch, strict=True):
                column.append(more)
            functions += result.functions
    location, count, is_exact, has_inlines, function, line = (np.concatenate(column) for column in columns)
    return LocationNames(
        location, count, is_exact, has_inlines, function.astype(np.int32), line.astype(np.int32), functions,
        looked_up, any(not len(mapped.mappings) for mapped in objects),
    )  # fmt: skip


def _batches(mapped: MappedObject) -> Iterator[I64]:
    """Yield the locations of an object; those of a kernel some at a time, as they may be all addresses of a file.

    Others are whole: which map of a just-in-time compiler is a process's is told by all addresses together.
    """
    step = _AT_ONCE if mapped.key.kind is DsoKind.KERNEL else len(mapped.locations)
    return (mapped.locations[first : first + step] for first in range(0, len(mapped.locations), step))


def _with_twins_of(profile: Profile, rows: I64, returns: I32) -> tuple[Profile, I64]:
    """The profile with some of its locations alone, then their twins, and (locations,) the number of each."""
    old = profile.locations
    none = old.line_function[:0]
    locations = Locations(
        old.address[rows], old.lookup[rows], old.mapping[rows], old.mode[rows], old.synthetic[rows],
        np.zeros(len(rows) + 1, np.int64), none, none,
    )  # fmt: skip
    twins = flatnonzero(are_kernel_returns(locations))
    part, _ = with_exact_twins(replace(profile, locations=locations), twins)
    return part, np.append(rows, len(old) + searchsorted(returns, rows[twins]))


def everything(mapped: MappedObject, context: Context) -> bool:
    """Whether an object can be named now alone: all can, where names come with the recording (bundles, simpleperf)."""
    return True


def only_where_recorded(mapped: MappedObject, context: Context) -> bool:
    """Whether an object can be named only where it was recorded: its names are in files of that machine and boot.

    Memory without a file, dumps of just-in-time compilers, the vDSO, and kernels without a build id.
    """
    kind, build_id = mapped.key.kind, mapped.key.build_id
    if kind is DsoKind.FILE:
        return is_jitdump(mapped.key.name)
    if kind is DsoKind.KERNEL:
        lasts = bool(context.kernel_build_id and context.kernel_reference[1])
        return not lasts or bool(context.session.kcore_dir)
    return kind is not DsoKind.MODULE or not build_id


Named = tuple[MappedObject, ResolveResult]


class GivenNames:
    """Names of some locations of one profile, and of some of its twins."""

    def __init__(self, given: LocationNames, locations: Locations, twins: I64, options: SymbolOptions) -> None:
        """``locations`` are the profile's own, ``twins`` those of them whose twins stand behind them."""
        self._given, self._options = given, options
        returns = flatnonzero(are_kernel_returns(locations))
        row = np.full(len(locations) + len(returns), -1, np.int64)
        row[given.location] = arange(len(given.location))
        self._row = np.append(row[: len(locations)], row[len(locations) + searchsorted(returns, twins)])
        self._start = cumsum(given.count) - given.count

    def split(self, objects: Sequence[MappedObject]) -> tuple[list[MappedObject], list[Named]]:
        """Split objects into what is left to look up, and what is known of them.

        An object that was looked up where it was recorded has no other names than those.
        """
        left, known = [], []
        for mapped in objects:
            rows = self._row[mapped.locations]
            is_settled = self._was_looked_up(mapped)
            mine = arange(len(rows)) if is_settled else flatnonzero(rows >= 0)
            if len(mine):
                known.append((replace(mapped, locations=mapped.locations[mine]), self._result(mapped, rows[mine])))
            if len(mine) < len(rows):
                left.append(replace(mapped, locations=np.delete(mapped.locations, mine)))
        return left, known

    def _was_looked_up(self, mapped: MappedObject) -> bool:
        if not len(mapped.mappings):
            return self._given.kernel_looked_up
        return bool(self._given.looked_up[mapped.mappings].any())

    def _result(self, mapped: MappedObject, rows: I64) -> ResolveResult:
        """The lines of locations with the given rows; −1: without a name."""
        given, has_name = self._given, rows >= 0
        count = np.where(has_name, np.append(given.count, 0)[rows], 0)
        lines = ranges(np.append(self._start, 0)[rows], count)
        used, function = unique_inverse(given.function[lines])
        functions = [given.functions[row] for row in used.tolist()]
        sources = [Function(row[1], row[0], row[2], row[3]) for row in functions]
        return ResolveResult(
            start=cumsum(count) - count,
            count=count,
            is_exact=has_name & np.append(given.is_exact, False)[rows],
            function=function.astype(np.int32),
            line=given.line[lines],
            functions=functions,
            full_names=full_names(sources, self._options.names) if self._options.keep_full_names else {},
            has_inlines=bool((has_name & np.append(given.has_inlines, False)[rows]).any()),
            build_id=mapped.key.build_id,
            reason="no name where it was recorded",
            counts=[],
        )
