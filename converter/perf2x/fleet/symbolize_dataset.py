"""Names of a whole dataset: hands out a task per object; rows stay with the workers that write them.

One task of symbolizing: the places of one object, wherever a worker runs. Returns a few words alone.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from perf2x.base.columnar.arrays import flatnonzero, sum_of
from perf2x.base.columnar.ragged import ranges
from perf2x.fleet.batches import batches
from perf2x.fleet.local_processes import Failed, Run
from perf2x.model.printable_text import base_name
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.storage.dataset.names.object_profile import object_profile, object_session, write_symbols
from perf2x.storage.dataset.names.unnamed_places import CodeObject
from perf2x.storage.dataset.table_log import DataFile, commit
from perf2x.storage.dataset.write.recording_to_store import PlaceNames
from perf2x.storage.dataset.write.table_rows import object_symbols
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.symbolizer.object_resolver import ResolveResult


class NamingJob(Struct, frozen=True):
    """Facts that all tasks of one run share."""

    folder: str
    symbols: SymbolOptions
    max_unpacked: int | None = None


class Named(Struct, frozen=True):
    """End of a task."""

    name: str
    """Base name of the object."""
    places: int
    """Places without names in front of it."""
    named: int
    reason: str
    """The reason why places have none; "" if all have one."""
    written: tuple[DataFile, ...] = ()
    """The file of the object's names, which waits for its commit."""
    old: tuple[DataFile, ...] = ()
    """Those that it replaces."""


def symbolize_one(code: CodeObject, job: NamingJob) -> Named:
    """Name the places of an object, and write what is found, or why nothing is; whoever asked commits the file.

    OutputError when it cannot be written.
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.model.diagnostics import Diagnostics
    from perf2x.plugins.registry import load_symbol_sources
    from perf2x.symbolizer.make_finder import make_context, make_finder
    from perf2x.symbolizer.mapped_objects import mapped_objects
    from perf2x.symbolizer.object_resolver import ObjectResolver

    profile, session, diagnostics = object_profile(code), object_session(code), Diagnostics()
    with limit_unpacking(job.max_unpacked):
        finder = make_finder(job.symbols, diagnostics)
        context = make_context(profile, session, job.symbols, diagnostics, finder)
        (mapped,) = mapped_objects(profile, session)
        resolver = ObjectResolver(profile, context, [source(context) for source in load_symbol_sources()])
        found = resolver.resolve(mapped)
    named, places = sum_of(found.count > 0), len(code.places.offset)
    reason = "" if named == places else found.reason or "no symbol"
    rows = object_symbols(code.id, code.places, _place_names(found), reason)
    new, old = write_symbols(storage_at(job.folder), rows)
    return Named(base_name(mapped.key.name), places, named, reason, tuple(new), tuple(old))


def _place_names(found: "ResolveResult") -> PlaceNames:
    """Names of the places that have one."""
    rows = flatnonzero(found.count)
    lines = ranges(found.start[rows], found.count[rows])
    return PlaceNames(
        place=rows.astype(np.int32),
        count=found.count[rows],
        is_exact=found.is_exact[rows],
        has_inlines=np.full(len(rows), found.has_inlines, np.bool_),
        function=found.function[lines],
        line=found.line[lines],
        functions=found.functions,
    )


class NamingTotals(Struct):
    """Ends of the tasks so far."""

    of: int
    """Number of objects."""
    done: int = 0
    failed: int = 0
    places: int = 0
    named: int = 0
    unnamed: list[Named] = field(default_factory=list)
    """Objects of which places stay without names."""

    def add(self, one: Named) -> None:
        """Count one more."""
        self.done += 1
        self.places += one.places
        self.named += one.named
        if one.reason:
            self.unnamed.append(one)


def symbolize(
    run: Run, objects: Iterator[CodeObject], job: NamingJob, report: Callable[[NamingTotals], None], count: int
) -> NamingTotals:
    """Name the places of ``count`` objects; ``report`` is called after each.

    OutputError when the dataset cannot be written, Perf2xError when the workers are gone.
    """
    totals = NamingTotals(count)

    def add(ends: Sequence[Named]) -> None:
        new, old = ([file for one in ends for file in getattr(one, name)] for name in ("written", "old"))
        commit(storage_at(job.folder).root, "symbols", (), new, old)

    with batches(add) as finished:
        for code, end in run(symbolize_one, objects, job):
            if isinstance(end, Failed):
                totals.failed += 1
                end = Named(base_name(str(code.mappings[-1]["file"])), len(code.places.offset), 0, end.reason)
            finished(end)
            totals.add(end)
            report(totals)
    return totals
