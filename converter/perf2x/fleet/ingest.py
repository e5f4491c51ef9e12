"""Adds many recordings to a dataset, in tasks of a few recordings each.

A worker writes the rows of all tables except the table of recordings, which the command commits. So a killed worker or
command leaves no incomplete recording.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import lru_cache
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

from msgspec import field
from msgspec.structs import replace

from perf2x.base.columnar import Frozen, unique
from perf2x.base.files.remote_files import is_address
from perf2x.base.files.unpack_limit import limit_unpacking
from perf2x.errors import FormatError
from perf2x.fleet.executors import TaskTotals, results_of
from perf2x.fleet.input_names import last_change_ns, local_copy
from perf2x.fleet.recording_tags import CGROUP_SOURCE, start_from_name, tags_from_cgroups, tags_of
from perf2x.kernel.load_options import LoadContext, LoadOptions
from perf2x.kernel.open_bundle import open_bundles
from perf2x.sources.dataset.content_ids import recording_id, text_id
from perf2x.sources.dataset.delta_tables import DeltaTables
from perf2x.sources.dataset.write.recording_to_store import StoredRecording, empty_profile
from perf2x.sources.dataset.write.write_recordings import MAX_RECORDINGS_PER_TASK, RowsOfRecordings, commit_recordings

if TYPE_CHECKING:
    import pyarrow


_MAX_ERRORS = 20
"""Maximum number of error messages to keep."""


class Job(Frozen):
    """Settings of one ``ingest`` command, for all of its tasks."""

    root: str
    """Path or address of the dataset."""
    options: LoadOptions
    tags: Mapping[str, str]  # of all recordings; in _ingest_one, also those of the one recording
    command_id: str
    """Differs between commands, so that each worker reads the dataset's list of recordings once per command."""
    tag_from: tuple[str, ...] = ()
    """Sources of each recording's tags (``recording_tags.py``)."""
    start_time: str = ""
    """Source of the start of a recording without a date.

    ``file``: the last change of the file, minus the recording's duration; a pattern: the file's name, see
    ``start_from_name``; "": the start stays unknown.
    """
    leave_ns: int = 60 * 10**9
    """An unfinished recording is left for a later command if its file changed less than this many nanoseconds ago."""
    replace: bool = False
    """Whether recordings already in the dataset are added again."""
    partition: tuple[str, ...] = ()
    """Columns that tables are partitioned by."""


class IngestTotals(TaskTotals):
    """Counts of recordings, and some facts about those that were added."""

    added: int = 0
    already_present: int = 0
    postponed: int = 0
    """Unfinished recordings that may still grow, and are left for a later command."""
    unfinished: int = 0
    """Added recordings whose end is missing."""
    undated: int = 0
    """Added recordings without a time of day, so that their order is unknown."""
    untagged: int = 0
    """Added recordings for which some source in ``tag_from`` has no tags."""
    retagged: int = 0
    """Recordings already present whose tags in the dataset differ from those that the command would give them."""
    samples: int = 0  # number of samples in the added recordings
    errors: list[str] = field(default_factory=list)
    """The first few error messages."""


def ingest_task(sources: Sequence[str], job: Job) -> "tuple[IngestTotals, pyarrow.Table]":
    """Write the rows of some recordings, or the reasons why they cannot be read.

    Returns counts, and the rows of the table of recordings, which the caller must commit. Raises OutputError if the
    dataset cannot be written.
    """
    rows, totals, added_ids = RowsOfRecordings(DeltaTables(job.root), job.partition), IngestTotals(), set[str]()
    for source in sources:
        totals.done += 1
        try:
            _ingest_one(source, job, rows, added_ids, totals)
        except (FormatError, OSError, MemoryError) as error:
            message = str(error) or repr(error)
            if not isinstance(error, FormatError):
                message = f"{source}: {error.strerror or error if isinstance(error, OSError) else 'not enough memory'}"
            rows.add(StoredRecording(text_id("unread", source), empty_profile(source), job.tags, error=message))
            totals.failed += 1
            totals.errors.append(message)
    return totals, rows.finish()


def _ingest_one(source: str, job: Job, rows: RowsOfRecordings, added_ids: set[str], totals: IngestTotals) -> None:
    """Skip a recording that the dataset, or this task (``added_ids``), has already.

    An unfinished recording is also skipped if the dataset has a later state of it, and postponed if it may still grow.
    """
    tags, untagged = tags_of(source, job.tag_from)
    job = replace(job, tags={**job.tags, **tags})
    with (
        local_copy(source) as path,
        limit_unpacking(job.options.max_unpacked),
        open_bundles([str(path)], job.options.symbols) as ((recording_path,), symbols),
    ):
        ident, existing_rows = recording_id([Path(recording_path)]), _existing_rows(job.root, job.command_id)
        existing = existing_rows.get(ident.hex())
        if ident.hex() in added_ids or (existing and not job.replace):
            totals.already_present += 1
            totals.retagged += existing is not None and not job.tags.items() <= dict(existing["tags"]).items()
            return
        stored = _read(
            source, recording_path, str(path), ident, replace(job, options=replace(job.options, symbols=symbols))
        )
    if stored is None:
        totals.postponed += 1
        return
    # as a recording grows, its id changes, but not the fingerprint of its session
    states = [row for row in existing_rows.values() if stored.session and row["session"] == stored.session.hex()]
    has_later_state = any(not row["unfinished"] or row["samples"] >= stored.samples for row in states)
    if has_later_state and stored.unfinished and not job.replace:
        totals.already_present += 1
        return
    rows.add(stored)
    added_ids.add(ident.hex())
    totals.added += 1
    totals.samples += stored.samples
    totals.unfinished += stored.unfinished
    totals.undated += not stored.profile.meta.wall_start_ns
    totals.untagged += untagged


@lru_cache(maxsize=1)
def _existing_rows(root: str, command_id: str) -> Mapping[str, Mapping[str, Any]]:
    """Leave out recordings that could not be read, so that they are tried again.

    ``command_id`` is only a key of the cache.
    """
    tables = DeltaTables(root)
    table = tables.require("recordings")
    columns = ("recording", "tags", "error", "session", "unfinished", "samples")
    existing = tables.read("recordings", table, tables.files(table), columns)
    return {row["recording"]: row for row in existing.to_pylist() if row["error"] is None}


def _read(source: str, recording_path: str, local_path: str, ident: bytes, job: Job) -> "StoredRecording | None":
    """Return None if the recording is unfinished and may still grow.

    ``source`` is the user's name, ``local_path`` the file or the local copy of a URL, which may be a bundle. Raises
    FormatError for an unreadable recording, and for an unfinished one without samples, whose later states could not be
    recognized.
    """
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.fleet.ingest_recording import ingest_session
    from perf2x.kernel.no_samples import reason
    from perf2x.kernel.open_sessions import Input, sessions_of_files
    from perf2x.kernel.stage_timer import Stages

    context = LoadContext(job.options, Diagnostics(), None, Stages())
    (session,) = sessions_of_files([Input(recording_path, local_path, job.tags)], context)
    if context.diagnostics.missing_ends():
        # the last change may appear to be in the future if another machine's clock set it
        if abs(time_ns() - last_change_ns(source)) < job.leave_ns:
            return None
        if not session.parts[0].sample_count:
            why = reason(0, session.parts[0].has_events, context.diagnostics.counts)
            raise FormatError(f"{source}: no samples: {why}")
    stored = ingest_session(session, context, ident)
    profile, tags, meta = stored.profile, stored.tags, replace(stored.profile.meta, source=source)
    if job.start_time and not meta.wall_start_ns:
        is_from_file = job.start_time == "file"
        start_ns = (
            last_change_ns(source) - meta.duration_ns if is_from_file else start_from_name(source, job.start_time)
        )
        meta = replace(meta, wall_start_ns=max(start_ns or 0, 0))
    if CGROUP_SOURCE in job.tag_from and profile.samples.cgroup is not None:
        tags = {**tags_from_cgroups(profile.strings[row] for row in unique(profile.samples.cgroup).tolist()), **tags}
    return replace(stored, profile=replace(profile, meta=meta), tags=tags)


def ingest(
    pool: Executor, worker_count: int, sources: Sequence[str], job: Job, report: Callable[[IngestTotals], None]
) -> IngestTotals:
    """Add the recordings ``sources`` to the dataset of ``job``; ``report`` is called whenever some are done.

    Raises OutputError if the dataset cannot be written, Perf2xError if the workers are gone; finished work is kept.
    """
    totals, tables = IngestTotals(len(sources)), DeltaTables(job.root)
    job = replace(job, partition=tables.make(job.partition))
    for _, (task_totals, rows) in results_of(pool, ingest_task, _batches(sources, worker_count, job), job):
        commit_recordings(tables, rows, replace=job.replace)
        totals.add(task_totals)
        del totals.errors[_MAX_ERRORS:]
        report(totals)
    return totals


def _batches(sources: Sequence[str], worker_count: int, job: Job) -> Iterator[Sequence[str]]:
    """Order recordings by start: tables have separate files for each day, so a batch of few days writes few files."""
    ordered = sorted(sources, key=lambda source: (_approximate_start(source, job.start_time), source))
    size = max(1, min(MAX_RECORDINGS_PER_TASK, -(-len(sources) // max(worker_count, 1))))
    return (ordered[first : first + size] for first in range(0, len(ordered), size))


def _approximate_start(source: str, start_time: str) -> int:
    """Return nanoseconds since the epoch, 0 if unknown, without reading the recording."""
    start_ns = start_from_name(source, start_time) if start_time not in ("", "file") else None
    if start_ns is None and not is_address(source):
        try:
            start_ns = last_change_ns(source)
        except (OSError, ValueError):
            start_ns = None
    return start_ns or 0
