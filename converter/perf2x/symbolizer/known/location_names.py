"""Looks up the names to store with a profile (bundles, datasets), and finds them again when the profile is read.

When names are stored, it is not known yet which kernel frames were interrupted. So names are stored for both addresses
of each kernel return: its lookup address, and the exact address of its twin.
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
from perf2x.symbolizer.known.known_names import NameTable, StoreAnswer
from perf2x.symbolizer.mapped_objects import MappedObject, mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource

# Number of kernel locations to look up at once, which limits memory.
_BATCH_SIZE = 1 << 16


class LocationNames(Frozen):
    """Names of some locations of a profile, and of twins that it may get later."""

    names: PlaceNames
    """A place is the index of a location or of a twin.

    The location ``flatnonzero(are_kernel_returns(…))[i]`` has the twin n + i, where n is the number of locations.
    """
    looked_up: Bools
    """(mappings,) whether the mapping's object was looked up, so that its other locations need not be."""
    kernel_looked_up: bool
    """The same for kernel addresses outside all mappings."""


def location_names(
    profile: Profile,
    context: Context,
    sources: Sequence[type[SymbolSource]],
    is_symbolized: Callable[[MappedObject, Context], bool],
) -> LocationNames:
    """Look up the objects that ``is_symbolized`` selects; locations without a name are left out of the result."""
    kernel_returns = as_int32(flatnonzero(are_kernel_returns(profile.locations)))
    source_instances = [source(context) for source in sources]
    objects = [
        mapped_object
        for mapped_object in mapped_objects(profile, context.session)
        if is_symbolized(mapped_object, context)
    ]
    looked_up, table = falses(len(profile.mappings)), NameTable()
    for mapped_object in objects:
        # simpleperf records only symbols of sampled functions; files on the reading machine may have more
        looked_up[mapped_object.mappings] = not context.session.recorded_files or only_where_recorded(
            mapped_object, context
        )
        for rows in _batches(mapped_object):
            part, place = _with_twins_of(profile, rows, kernel_returns)
            resolver = ObjectResolver(part, context, source_instances)
            result = resolver.resolve(replace(mapped_object, locations=arange(len(place))))
            context.diagnostics.absorb(result.diagnostic_counts)
            names = result.names(flatnonzero(result.count))
            table.add(replace(names, place=place[names.place]))
    return LocationNames(table.names(), looked_up, any(not len(mapped_object.mappings) for mapped_object in objects))


def _batches(mapped_object: MappedObject) -> Iterator[I64]:
    """Yield an object's locations; split only those of the kernel, because a hostile file may have any number.

    Other objects need all their addresses at once, because these decide which perf map belongs to a process.
    """
    step = _BATCH_SIZE if mapped_object.key.kind is DsoKind.KERNEL else len(mapped_object.locations)
    return (mapped_object.locations[first : first + step] for first in range(0, len(mapped_object.locations), step))


def _with_twins_of(profile: Profile, rows: I64, kernel_returns: I32) -> tuple[Profile, I64]:
    """Return the profile with only the locations ``rows`` and their twins, and the place of each.

    ``kernel_returns`` are all locations that have twins.
    """
    old = profile.locations
    no_lines = old.line_function[:0]
    locations = Locations(
        old.address[rows], old.lookup[rows], old.mapping[rows], old.mode[rows], old.synthetic[rows],
        zeros(len(rows) + 1), no_lines, no_lines,
    )  # fmt: skip
    twinned_locations = flatnonzero(are_kernel_returns(locations))
    part, _ = with_exact_twins(replace(profile, locations=locations), twinned_locations)
    return part, np.append(rows, len(old) + searchsorted(kernel_returns, rows[twinned_locations]))


def every_object(mapped_object: MappedObject, context: Context) -> bool:
    """Select every object, for recordings whose files or names come with them (archives, simpleperf)."""
    return True


def only_where_recorded(mapped_object: MappedObject, context: Context) -> bool:
    """Return whether an object can be named only where it was recorded, by files of that machine and boot.

    Such objects are memory without a file, jitdumps, the vDSO, modules without a build id, and some kernels: those
    without a recorded build id or load address, or with symbols in a kcore directory.
    """
    key = mapped_object.key
    if key.kind is DsoKind.FILE:
        return is_jitdump(key.name)
    if key.kind is DsoKind.KERNEL:
        _, recorded_address = context.kernel_reference
        is_identified = bool(context.kernel_build_id and recorded_address)
        return not is_identified or bool(context.session.kcore_dir)
    return key.kind is not DsoKind.MODULE or not key.build_id


class StoredNames:
    """Finds the stored names of a profile's locations and twins."""

    def __init__(self, stored: LocationNames, locations: Locations, twinned_locations: I64) -> None:
        """``locations`` does not include twins; ``twinned_locations`` are those with twins, in the twins' order."""
        self._stored, self._table = stored, NameTable()
        self._table.add(stored.names)
        self._table.reason = "no name where it was recorded"
        kernel_returns = flatnonzero(are_kernel_returns(locations))
        row = minus_ones(len(locations) + len(kernel_returns))
        row[stored.names.place] = arange(len(self._table))
        self._row = np.append(
            row[: len(locations)], row[len(locations) + searchsorted(kernel_returns, twinned_locations)]
        )
        self._next_row = len(self._table)

    def of(self, mapped_object: MappedObject) -> StoreAnswer:
        """Return an object's stored names.

        If the object was looked up where it was recorded, locations without a stored name have no name. Otherwise they
        are pending.
        """
        rows = self._row[mapped_object.locations]
        stored, mappings = self._stored, mapped_object.mappings
        looked_up = stored.looked_up[mappings].any() if len(mappings) else stored.kernel_looked_up
        pending = zeros(0) if looked_up else flatnonzero(rows < 0)
        rows[pending] = self._next_row + arange(len(pending))
        self._next_row += len(pending)
        return StoreAnswer(self._table, rows, pending)
