"""Removes recordings from a dataset, and maintains its tables.

The row of a recording in the table of recordings names an *attempt* (one run of a writer), whose rows in other tables
count. So that row is deleted first: if the command is killed after that, the other rows do not count any more.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePath

from msgspec import Struct

from perf2x.errors import OptionError
from perf2x.sources.dataset.dataset_address import DatasetAddress
from perf2x.sources.dataset.dataset_schema import ATTEMPT_COLUMNS, RECORDING_TABLES, TABLES
from perf2x.sources.dataset.delta_tables import DeltaTables, attempt_time_ns, no_retries
from perf2x.sources.dataset.read.dataset_part import DatasetPart, Row
from perf2x.sources.dataset.sql.table_views import quoted

_DAY_NS = 24 * 3600 * 10**9
_RETENTION_HOURS = 24
"""Hours for which files that are no longer part of a table are kept, for readers that started earlier."""


class MaintenanceReport(Struct):
    """Results of one run of ``maintain``.

    ``removed`` of ``total`` recordings were removed or, in a dry run, would be. ``files_before`` and ``files_after``
    count data files of tables. ``vacuumed`` counts deleted files, which were no longer part of a table.
    """

    removed: int = 0
    total: int = 0
    files_before: int = 0
    files_after: int = 0
    vacuumed: int = 0


def select_recordings(part: DatasetPart, names: Sequence[str]) -> list[Row]:
    """Return the recordings of a dataset's part that have one of these names; all recordings if ``names`` is empty.

    A name is a path as given to ``ingest``, a file name, or an id. Raises OptionError for a name that no recording has.
    """
    rows_by_name: dict[str, list[Row]] = {}
    for row in part.rows:
        source = str(row.values["source"])
        for name in {row.ident, source, PurePath(source).name}:
            rows_by_name.setdefault(name, []).append(row)
    selected: dict[str, Row] = {}
    for name in names:
        rows = rows_by_name.get(name) or rows_by_name.get(str(Path(name).absolute()))
        if rows is None:
            raise OptionError(f"{part.tables.root}: it has no recording {name}")
        selected |= {row.ident: row for row in rows}
    return list(selected.values()) if names else part.rows


def remove(tables: DeltaTables, rows: Collection[Row]) -> None:
    """Remove recordings, given by their rows in the table of recordings.

    Raises OutputError if the dataset cannot be written.
    """
    attempts = {(row.ident, str(row.values["attempt"])) for row in rows}
    for table in reversed(RECORDING_TABLES):
        _delete(tables, table, attempts)


def _delete(tables: DeltaTables, table: str, attempts: Iterable[tuple[str, str]]) -> None:
    idents_by_attempt: dict[str, list[str]] = {}
    for ident, attempt in sorted(attempts):
        idents_by_attempt.setdefault(attempt, []).append(ident)
    if idents_by_attempt:
        conditions = (
            f"(attempt = {quoted(attempt)} AND recording IN ({', '.join(map(quoted, idents))}))"
            for attempt, idents in idents_by_attempt.items()
        )
        predicate = " OR ".join(conditions)
        tables.change(table, lambda delta_table: delta_table.delete(predicate, **no_retries()))


def maintain(root: str, before_ns: int | None, now_ns: int, *, dry_run: bool = False) -> MaintenanceReport:
    """Remove orphaned rows, and recordings that began before ``before_ns`` (None: no recordings); merge small files.

    Times are in nanoseconds since the epoch. If a start is unknown, the time at which the rows were written counts.
    ``dry_run``: only count the recordings to remove. Raises OutputError if the dataset cannot be written.
    """
    part = DatasetPart(DatasetAddress(root, {}))
    tables, report = part.tables, MaintenanceReport(total=len(part.rows))
    if part.is_empty and not dry_run:  # the first command may have been killed before all tables existed
        tables.make(())
    if before_ns is not None:
        old = [
            row
            for row in part.rows
            if int(row.values["start_ns"] or attempt_time_ns(row.values["attempt"])) < before_ns
        ]
        report.removed = len(old)
        if not dry_run:
            remove(tables, old)
    if dry_run:
        return report
    # rows of the last day may belong to a command that is still running
    _remove_orphans(tables, now_ns - _DAY_NS)
    for name in TABLES:
        report.files_before += len(tables.require(name).file_uris())
        tables.change(name, lambda table: table.optimize.compact(
            max_concurrent_tasks=1, **no_retries(),
        ))  # fmt: skip
        table = tables.require(name)
        report.files_after += len(table.file_uris())
        deleted = table.vacuum(_RETENTION_HOURS, dry_run=False, enforce_retention_duration=False, full=True)
        report.vacuumed += len(deleted)
        table.create_checkpoint()
        table.cleanup_metadata()
    return report


def _remove_orphans(tables: DeltaTables, before_ns: int) -> None:
    """Rows without a listed attempt were replaced, or their command was killed."""
    listed = _attempts(tables, "recordings")
    for table in RECORDING_TABLES[:-1]:
        orphans = {
            pair for pair in _attempts(tables, table) if pair not in listed and attempt_time_ns(pair[1]) < before_ns
        }
        _delete(tables, table, orphans)


def _attempts(tables: DeltaTables, name: str) -> set[tuple[str, str]]:
    table, columns = tables.require(name), ATTEMPT_COLUMNS
    pairs = tables.read(name, table, tables.files(table), columns).group_by(columns).aggregate([])
    return {(pair["recording"], pair["attempt"]) for pair in pairs.to_pylist()}
