"""Names of locations before stacks are settled: what is kept of them where names and stacks are joined later."""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, AnyArray, Bools
from perf2x.base.columnar.ragged import ranges
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.mapping_names import is_jitdump
from perf2x.symbolizer.interrupted_frames import are_kernel_returns, with_exact_twins
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource
from perf2x.symbolizer.styled_names import FunctionRow


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
    """Look up the names of the objects that are ``wanted``; what is counted goes to the context's diagnostics."""
    with_twins, _ = with_exact_twins(profile, np.flatnonzero(are_kernel_returns(profile.locations)))
    resolver = ObjectResolver(with_twins, context, [source(context) for source in sources])
    objects = [mapped for mapped in mapped_objects(with_twins, context.session) if wanted(mapped, context)]
    looked_up = np.zeros(len(profile.mappings), np.bool_)
    columns: list[list[AnyArray]] = [[np.zeros(0, np.int64)] for _ in range(6)]
    functions: list[FunctionRow] = []
    for mapped in objects:
        result = resolver.resolve(mapped)
        context.diagnostics.absorb(result.counts)
        rows = ranges(result.start, result.count)
        inlines = np.full(len(mapped.locations), result.has_inlines)
        of_object: tuple[AnyArray, ...] = (mapped.locations, result.count, result.is_exact, inlines,
                     result.function[rows] + len(functions), result.line[rows])  # fmt: skip
        for column, more in zip(columns, of_object, strict=True):
            column.append(more)
        functions += result.functions
        looked_up[mapped.mappings] = True
    location, count, is_exact, has_inlines, function, line = (np.concatenate(column) for column in columns)
    return LocationNames(
        location, count, is_exact.astype(np.bool_), has_inlines.astype(np.bool_), function.astype(np.int32),
        line.astype(np.int32), functions, looked_up, any(not len(mapped.mappings) for mapped in objects),
    )  # fmt: skip


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
