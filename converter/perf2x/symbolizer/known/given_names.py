"""Names that were found earlier and kept elsewhere: they are taken as they are, and only other locations looked up."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.ragged import ranges
from perf2x.base.columnar.unique import unique_inverse
from perf2x.model.profile.profile import Locations
from perf2x.symbolizer.interrupted_frames import are_kernel_returns
from perf2x.symbolizer.known.place_names import LocationNames
from perf2x.symbolizer.mapped_objects import MappedObject
from perf2x.symbolizer.object_resolver import ResolveResult
from perf2x.symbolizer.sources.symbol_source import Function
from perf2x.symbolizer.styled_names import full_names
from perf2x.symbolizer.symbol_options import SymbolOptions

Named = tuple[MappedObject, ResolveResult]


class GivenNames:
    """Names of some locations of one profile, and of some of its twins."""

    def __init__(self, given: LocationNames, locations: Locations, twins: I64, options: SymbolOptions) -> None:
        """``locations`` are the profile's own, ``twins`` those of them whose twins stand behind them."""
        self._given, self._options = given, options
        returns = np.flatnonzero(are_kernel_returns(locations))
        row = np.full(len(locations) + len(returns), -1, np.int64)
        row[given.location] = np.arange(len(given.location))
        self._row = np.append(row[: len(locations)], row[len(locations) + np.searchsorted(returns, twins)])
        self._start = np.cumsum(given.count) - given.count

    def split(self, objects: Sequence[MappedObject]) -> tuple[list[MappedObject], list[Named]]:
        """Split objects into what is left to look up, and what is known of them.

        An object that was looked up where it was recorded has no other names than those.
        """
        left, known = [], []
        for mapped in objects:
            rows = self._row[mapped.locations]
            is_settled = self._was_looked_up(mapped)
            mine = np.arange(len(rows)) if is_settled else np.flatnonzero(rows >= 0)
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
            start=np.cumsum(count) - count,
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
