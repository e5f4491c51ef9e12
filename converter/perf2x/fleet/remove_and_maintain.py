"""Removes recordings and maintains tables: deltalake does the work, perf2x selects the rows.

Rows of the table of recordings are deleted first: without them, the other rows of a recording do not count.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePath

from msgspec import Struct

from perf2x.errors import OptionError
from perf2x.sources.dataset.dataset_address import DatasetAddress
from perf2x.sources.dataset.dataset_schema import OF_ATTEMPT, OF_RECORDINGS, TABLES
from perf2x.sources.dataset.delta_tables import DeltaTables, no_retries, written_ns
from perf2x.sources.dataset.read.dataset_part import DatasetPart, Row
from perf2x.sources.dataset.sql.table_views import quoted

_DAY = 24 * 3600 * 10**9
_KEPT_HOURS = 24
"""Hours to keep files that are no longer in a table, for readers that started earlier."""


class Maintained(Struct):
    """Counts of one run."""

    recordings: int = 0
    """Number of recordings removed, or to be removed."""
    of: int = 0
    before: int = 0
    """Number of data files before small ones are merged."""
    after: int = 0
    vacuumed: int = 0


def chosen(part: DatasetPart, names: Sequence[str]) -> list[Row]:
    """Return the recordings of a part with these names: path (as typed for ``ingest``), file name or id.

    Without names, all recordings of the part are returned. Raises OptionError for a name without a recording.
    """
    known: dict[str, list[Row]] = {}
    for row in part.rows:
        source = str(row.values["source"])
        for name in {row.ident, source, PurePath(source).name}:
            known.setdefault(name, []).append(row)
    found: dict[str, Row] = {}
    for name in names:
        rows = known.get(name) or known.get(str(Path(name).absolute()))
        if rows is None:
            raise OptionError(f"{part.tables.root}: it has no recording {name}")
        found |= {row.ident: row for row in rows}
    return list(found.values()) if names else part.rows


def remove(tables: DeltaTables, rows: Collection[Row]) -> None:
    """Remove recordings. Raises OutputError when the dataset cannot be written."""
    attempts = {(row.ident, str(row.values["attempt"])) for row in rows}
    for table in reversed(OF_RECORDINGS):
        _delete(tables, table, attempts)


def _delete(tables: DeltaTables, table: str, attempts: Iterable[tuple[str, str]]) -> None:
    """Delete the rows of some attempts to add recordings."""
    idents: dict[str, list[str]] = {}
    for ident, attempt in sorted(attempts):
        idents.setdefault(attempt, []).append(ident)
    if idents:
        any_of = (
            f"(attempt = {quoted(attempt)} AND recording IN ({', '.join(map(quoted, some))}))"
            for attempt, some in idents.items()
        )
        predicate = " OR ".join(any_of)
        tables.change(table, lambda found: found.delete(predicate, **no_retries()))


def maintain(root: str, before_ns: int | None, now_ns: int, *, dry_run: bool = False) -> Maintained:
    """Remove orphaned rows, and recordings that began before ``before_ns`` (None: no recordings); merge small files.

    A recording without a start is as old as its rows. ``dry_run`` only counts the recordings to remove. Raises
    OutputError if the dataset cannot be written.
    """
    part = DatasetPart(DatasetAddress(root, {}))
    tables, report = part.tables, Maintained(of=len(part.rows))
    if part.is_empty:  # the first command may have been killed before all tables existed
        tables.make(())
    if before_ns is not None:
        old = [row for row in part.rows if int(row.values["start_ns"] or written_ns(row.values["attempt"])) < before_ns]
        report.recordings = len(old)
        if not dry_run:
            remove(tables, old)
    if dry_run:
        return report
    _remove_orphans(tables, now_ns - _DAY)
    for table in TABLES:
        report.before += len(tables.require(table).file_uris())
        tables.change(table, lambda found: found.optimize.compact(
            max_concurrent_tasks=1, **no_retries(),
        ))  # fmt: skip
        found = tables.require(table)
        report.after += len(found.file_uris())
        report.vacuumed += len(found.vacuum(_KEPT_HOURS, dry_run=False, enforce_retention_duration=False, full=True))
        found.create_checkpoint()
        found.cleanup_metadata()
    return report


def _remove_orphans(tables: DeltaTables, before_ns: int) -> None:
    """Delete the rows of attempts that began before a time and are not in the table of recordings.

    Another attempt has replaced them, or their command was killed.
    """
    counted = _attempts(tables, "recordings")
    for table in OF_RECORDINGS[:-1]:
        lost = {pair for pair in _attempts(tables, table) if pair not in counted and written_ns(pair[1]) < before_ns}
        _delete(tables, table, lost)


def _attempts(tables: DeltaTables, table: str) -> set[tuple[str, str]]:
    """Return the pairs of recording and attempt in a table's rows."""
    found, names = tables.require(table), OF_ATTEMPT
    pairs = tables.read(table, found, tables.files(found), names).group_by(names).aggregate([])
    return {(one["recording"], one["attempt"]) for one in pairs.to_pylist()}
