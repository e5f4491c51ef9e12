"""Symbolizes a whole dataset with a task for each object; the command commits the rows of many objects at once."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import field

from perf2x.base.columnar import Frozen, flatnonzero, sum_of
from perf2x.fleet.executors import TaskTotals, done
from perf2x.model.printable_text import base_name
from perf2x.sources.dataset.dataset_schema import KEY, arrow
from perf2x.sources.dataset.delta_tables import DeltaTables
from perf2x.sources.dataset.names.object_profile import object_profile, object_session
from perf2x.sources.dataset.names.unnamed_places import CodeObject
from perf2x.sources.dataset.write.table_rows import object_symbols
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    import pyarrow

_ROWS = 100_000
"""Approximate number of rows per commit."""
_AHEAD = 512
"""Number of objects submitted ahead, so that their places are read meanwhile."""


class NamingJob(Frozen):
    """Data shared by all tasks of one run."""

    root: str
    symbols: SymbolOptions
    max_unpacked: int | None = None


class NamingTotals(TaskTotals):
    """Counts of objects whose places were looked up, and of places."""

    places: int = 0
    """Number of places that had no names before."""
    named: int = 0
    unnamed: list[tuple[str, int, str]] = field(default_factory=list)
    """Objects with places that still have no names: base name, number of places, reason."""


def _symbolize_one(code: CodeObject, job: NamingJob) -> "tuple[NamingTotals, pyarrow.Table]":
    """Symbolize the places of an object, and return rows of names, or of the reason for none.

    The caller commits them.
    """
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.kernel.registry import load_symbol_sources
    from perf2x.symbolizer.make_object_finder import make_context, make_finder
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
    rows = object_symbols(code.id, code.places, found.names(flatnonzero(found.count)), reason)
    unnamed = [(base_name(mapped.key.name), places - named, reason)] if reason else []
    return NamingTotals(done=1, places=places, named=named, unnamed=unnamed), rows


def symbolize(
    crew: Executor, objects: Iterator[CodeObject], job: NamingJob, report: Callable[[NamingTotals], None], count: int
) -> NamingTotals:
    """Symbolize the places of ``count`` objects; ``report`` is called after each.

    Raises OutputError if the dataset cannot be written, Perf2xError if the workers are gone.
    """
    totals, tables, waiting = NamingTotals(count), DeltaTables(job.root), list[Any]()
    try:
        while some := list(islice(objects, _AHEAD)):
            for _, (one, rows) in done(crew, _symbolize_one, some, job):
                totals.add(one)
                waiting.append(rows)
                if sum(map(len, waiting)) >= _ROWS:
                    commit_symbols(tables, waiting)
                    waiting.clear()
                report(totals)
    finally:
        commit_symbols(tables, waiting)
    return totals


def commit_symbols(tables: DeltaTables, rows: "Sequence[pyarrow.Table]") -> None:
    """Add names of places to a dataset; existing names stay, reasons for missing ones are replaced."""
    if rows:
        whole = arrow().concat_tables(rows).combine_chunks().sort_by([(name, "ascending") for name in KEY])
        same = " AND ".join(f"t.{name} = s.{name}" for name in KEY)
        tables.merge("symbols", whole, same, "t.reason <> ''")
