"""Starts of the symbols of a profile's locations, for text that tells ``main+0x10``."""

from collections.abc import Sequence

import numpy as np

from perf2x.analysis.annotate.object_code import ObjectCode
from perf2x.base.columnar import U64, argsort, flatnonzero
from perf2x.model.profile import Profile
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.perf_map_source import PerfMapSource
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource


def symbol_starts(profile: Profile, context: Context, sources: Sequence[type[SymbolSource]]) -> U64:
    """(locations,) recorded address of the first byte of each location's symbol, 0 where unknown."""
    resolver = ObjectResolver(profile, context, [source(context) for source in sources])
    starts = np.zeros(len(profile.locations), np.uint64)
    named = np.diff(profile.locations.line_offsets) > 0
    for mapped in mapped_objects(profile, context.session, named):
        lookup = profile.locations.lookup[mapped.locations]
        if mapped.key.kind is DsoKind.ANONYMOUS:
            starts[mapped.locations] = _map_starts(context, mapped, lookup)
            continue
        code = ObjectCode(profile, context, resolver, mapped)
        begin, end = code.extents(code.address)
        behind = profile.locations.address[mapped.locations] - lookup  # callers in padding have the next symbol's name
        rows = flatnonzero((end == begin) & (behind > 0))
        begin[rows], end[rows] = code.extents(code.address[rows] + behind[rows])
        starts[mapped.locations] = np.where(end > begin, lookup - (code.address - begin), np.uint64(0))
    return starts


def _map_starts(context: Context, mapped: MappedObject, address: U64) -> U64:
    """(n,) starts in the map that a just-in-time compiler wrote."""
    starts = np.zeros(len(address), np.uint64)
    _, table = PerfMapSource(context).file(mapped.pid, address)
    if table is not None:
        order = argsort(address)
        row = table.find(address[order])
        known = row >= 0
        starts[order[known]] = table.start[row[known]]
    return starts
