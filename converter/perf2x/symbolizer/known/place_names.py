"""Names of locations before stacks are settled: what is kept of them where names and stacks are joined later."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I32, I64, AnyArray, Bools
from perf2x.base.columnar.ragged import ranges
from perf2x.model.profile.profile import Locations, Profile
from perf2x.model.recording.mapping_names import is_jitdump
from perf2x.symbolizer.interrupted_frames import are_kernel_returns, with_exact_twins
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource
from perf2x.symbolizer.styled_names import FunctionRow

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
    returns = np.flatnonzero(are_kernel_returns(profile.locations)).astype(np.int32)
    asked = [source(context) for source in sources]
    objects = [mapped for mapped in mapped_objects(profile, context.session) if wanted(mapped, context)]
    looked_up = np.zeros(len(profile.mappings), np.bool_)
    none = np.zeros(0, np.int64)
    columns: list[list[AnyArray]] = [[none], [none], [none > 0], [none > 0], [none], [none]]
    functions: list[FunctionRow] = []
    for mapped in objects:
        looked_up[mapped.mappings] = True
        for rows in _batches(mapped):
            part, location = _with_twins_of(profile, rows, returns)
            result = ObjectResolver(part, context, asked).resolve(replace(mapped, locations=np.arange(len(location))))
            context.diagnostics.absorb(result.counts)
            named = np.flatnonzero(result.count)
            lines = ranges(result.start[named], result.count[named])
            of_batch: tuple[AnyArray, ...] = (
                location[named], result.count[named], result.is_exact[named], np.full(len(named), result.has_inlines),
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
    twins = np.flatnonzero(are_kernel_returns(locations))
    part, _ = with_exact_twins(replace(profile, locations=locations), twins)
    return part, np.append(rows, len(old) + np.searchsorted(returns, rows[twins]))


def everything(mapped: MappedObject, context: Context) -> bool:
    """Whether an object can be named now alone: all can, where files come with the recording (bundles, archives)."""
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
