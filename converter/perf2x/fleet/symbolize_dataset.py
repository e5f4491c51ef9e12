"""Looks up the names of a dataset's places (addresses in objects), with a task for each object."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import field

from perf2x.base.columnar import Frozen, flatnonzero, sum_of
from perf2x.fleet.executors import TaskTotals, results_of
from perf2x.model.printable_text import base_name
from perf2x.sources.dataset.dataset_schema import KEY, arrow
from perf2x.sources.dataset.delta_tables import DeltaTables
from perf2x.sources.dataset.names.object_profile import object_profile, object_session
from perf2x.sources.dataset.names.unnamed_places import CodeObject
from perf2x.sources.dataset.write.table_rows import object_symbols
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    import pyarrow

_ROWS_PER_COMMIT = 100_000
"""Approximate number of rows per commit."""
_OBJECTS_AT_ONCE = 512
"""Number of objects whose tasks are submitted together."""


class NamingJob(Frozen):
    """Settings of one command, for all of its tasks."""

    root: str  # path or address of the dataset
    symbols: SymbolOptions
    max_unpacked: int | None = None


class NamingTotals(TaskTotals):
    """Counts of objects (in the inherited fields) and of places."""

    places: int = 0
    """Number of places that were looked up, which had no names before."""
    named: int = 0
    """Number of these places that have names now."""
    unnamed: list[tuple[str, int, str]] = field(default_factory=list)
    """The objects with places that still have no names: base name, number of these places, reason."""


def _symbolize_one(code: CodeObject, job: NamingJob) -> "tuple[NamingTotals, pyarrow.Table]":
    """Return counts, and rows of the table of symbols, which the caller must commit.

    A place without names has a reason instead.
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
        result = resolver.resolve(mapped)
    named, places = sum_of(result.count > 0), len(code.places.offset)
    reason = "" if named == places else result.reason or "no symbol"
    rows = object_symbols(code.id, code.places, result.names(flatnonzero(result.count)), reason)
    unnamed = [(base_name(mapped.key.name), places - named, reason)] if reason else []
    return NamingTotals(done=1, places=places, named=named, unnamed=unnamed), rows


def symbolize(
    pool: Executor, objects: Iterator[CodeObject], job: NamingJob, report: Callable[[NamingTotals], None], count: int
) -> NamingTotals:
    """Look up the places of all ``count`` objects; ``report`` is called after each.

    Raises OutputError if the dataset cannot be written, Perf2xError if the workers are gone. Names that were looked up
    before an error are committed.
    """
    totals, tables, uncommitted = NamingTotals(count), DeltaTables(job.root), list[Any]()
    try:
        while next_objects := list(islice(objects, _OBJECTS_AT_ONCE)):
            for _, (task_totals, rows) in results_of(pool, _symbolize_one, next_objects, job):
                totals.add(task_totals)
                uncommitted.append(rows)
                if sum(map(len, uncommitted)) >= _ROWS_PER_COMMIT:
                    commit_symbols(tables, uncommitted)
                    uncommitted.clear()
                report(totals)
    finally:
        commit_symbols(tables, uncommitted)
    return totals


def commit_symbols(tables: DeltaTables, rows: "Sequence[pyarrow.Table]") -> None:
    """Add rows to a dataset's table of symbols; of rows already there, those with only a reason are replaced."""
    if rows:
        sorted_rows = arrow().concat_tables(rows).combine_chunks().sort_by([(name, "ascending") for name in KEY])
        is_same_place = " AND ".join(f"t.{name} = s.{name}" for name in KEY)
        tables.merge("symbols", sorted_rows, is_same_place, "t.reason <> ''")
