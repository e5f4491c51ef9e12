"""Looks up names of locations for stores (bundles, datasets) whose names and stacks are joined later.

Interrupted frames are settled only then (interrupted_frames.py), so twins are named, too. When a store is read, its
names are used unchanged; only other locations are looked up.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    Bools,
    Frozen,
    arange,
    as_int32,
    falses,
    flatnonzero,
    minus_ones,
    searchsorted,
    zeros,
)
from perf2x.base.mapping_names import is_jitdump
from perf2x.model.profile import Locations, PlaceNames, Profile
from perf2x.symbolizer.interrupted_frames import are_kernel_returns, with_exact_twins
from perf2x.symbolizer.known.known_names import Answers, Known
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource

_AT_ONCE = 1 << 16
"""Number of locations to resolve at once."""


class LocationNames(Frozen):
    """Names of some locations of a profile."""

    names: PlaceNames
    """Places are the profile's own locations, then a twin of each that ``are_kernel_returns`` finds, in order."""
    looked_up: Bools
    """(mappings,) mappings of the objects that were looked up."""
    kernel_looked_up: bool
    """Whether kernel addresses outside all mappings were looked up."""


def location_names(
    profile: Profile,
    context: Context,
    sources: Sequence[type[SymbolSource]],
    is_symbolized: Callable[[MappedObject, Context], bool],
) -> LocationNames:
    """Look up the names of the ``is_symbolized`` objects; counts go to the context's diagnostics.

    Locations without a name are not included.
    """
    returns = as_int32(flatnonzero(are_kernel_returns(profile.locations)))
    opened = [source(context) for source in sources]
    objects = [mapped for mapped in mapped_objects(profile, context.session) if is_symbolized(mapped, context)]
    looked_up, answers = falses(len(profile.mappings)), Answers()
    for mapped in objects:
        # names in a recording cover only sampled functions, and files may contain more
        looked_up[mapped.mappings] = not context.session.recorded_files or only_where_recorded(mapped, context)
        for rows in _batches(mapped):
            part, location = _with_twins_of(profile, rows, returns)
            result = ObjectResolver(part, context, opened).resolve(replace(mapped, locations=arange(len(location))))
            context.diagnostics.absorb(result.counts)
            names = result.names(flatnonzero(result.count))
            answers.add(replace(names, place=location[names.place]))
    return LocationNames(answers.names(), looked_up, any(not len(mapped.mappings) for mapped in objects))


def _batches(mapped: MappedObject) -> Iterator[I64]:
    """Yield the locations of an object; those of a kernel in batches, because they may be all addresses of a file.

    Other objects are not split: which JIT map belongs to a process is decided by all addresses together.
    """
    step = _AT_ONCE if mapped.key.kind is DsoKind.KERNEL else len(mapped.locations)
    return (mapped.locations[first : first + step] for first in range(0, len(mapped.locations), step))


def _with_twins_of(profile: Profile, rows: I64, returns: I32) -> tuple[Profile, I64]:
    """Return the profile with only some of its locations, then their twins, and (locations,) the number of each."""
    old = profile.locations
    none = old.line_function[:0]
    locations = Locations(
        old.address[rows], old.lookup[rows], old.mapping[rows], old.mode[rows], old.synthetic[rows],
        zeros(len(rows) + 1), none, none,
    )  # fmt: skip
    twins = flatnonzero(are_kernel_returns(locations))
    part, _ = with_exact_twins(replace(profile, locations=locations), twins)
    return part, np.append(rows, len(old) + searchsorted(returns, rows[twins]))


def everything(mapped: MappedObject, context: Context) -> bool:
    """Select every object, for recordings whose files or names come with them (archives, simpleperf)."""
    return True


def only_where_recorded(mapped: MappedObject, context: Context) -> bool:
    """Return whether an object can be named only where it was recorded, by files of that machine and boot.

    This is true of memory without a file, jitdumps, the vDSO, and kernels without a build id.
    """
    kind, build_id = mapped.key.kind, mapped.key.build_id
    if kind is DsoKind.FILE:
        return is_jitdump(mapped.key.name)
    if kind is DsoKind.KERNEL:
        lasts = bool(context.kernel_build_id and context.kernel_reference[1])
        return not lasts or bool(context.session.kcore_dir)
    return kind is not DsoKind.MODULE or not build_id


class StoredNames:
    """Names of some locations of one profile, and of some of its twins."""

    def __init__(self, stored: LocationNames, locations: Locations, twins: I64) -> None:
        """``locations`` are the profile's own; ``twins`` are the rows of those whose twins follow them."""
        self._stored, self._answers = stored, Answers()
        self._answers.add(stored.names)
        self._answers.reason = "no name where it was recorded"
        returns = flatnonzero(are_kernel_returns(locations))
        row = minus_ones(len(locations) + len(returns))
        row[stored.names.place] = arange(len(self._answers))
        self._row = np.append(row[: len(locations)], row[len(locations) + searchsorted(returns, twins)])
        self._next = len(self._answers)

    def of(self, mapped: MappedObject) -> Known:
        """Return the known names of an object, which are all if it was looked up where it was recorded."""
        rows = self._row[mapped.locations]
        stored, mappings = self._stored, mapped.mappings
        looked_up = stored.looked_up[mappings].any() if len(mappings) else stored.kernel_looked_up
        unnamed = zeros(0) if looked_up else flatnonzero(rows < 0)
        rows[unnamed] = self._next + arange(len(unnamed))
        self._next += len(unnamed)
        return Known(self._answers, rows, unnamed)
