"""Adds many recordings to a dataset, in tasks of a few recordings each.

The worker that runs a task writes the rows of all tables except the table of recordings. It returns the rows of that
table, and a few counts, to the command. The recordings are part of the dataset only when the command has committed
these rows.
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
from perf2x.fleet.executors import TaskTotals, done
from perf2x.fleet.input_names import changed_ns, local_copy
from perf2x.fleet.recording_tags import GROUPS, start_by_name, tags_of, tags_of_groups
from perf2x.kernel.load_options import LoadContext, LoadOptions
from perf2x.kernel.open_bundle import open_bundles
from perf2x.sources.dataset.content_ids import recording_id, text_id
from perf2x.sources.dataset.delta_tables import DeltaTables
from perf2x.sources.dataset.write.recording_to_store import StoredRecording, empty_profile
from perf2x.sources.dataset.write.write_recordings import TOGETHER, RowsOfRecordings, commit_recordings

if TYPE_CHECKING:
    import pyarrow


_NAMED = 20
"""Maximum number of errors to keep."""


class Job(Frozen):
    """Data shared by all tasks of one run."""

    root: str
    """Path or address of the dataset."""
    options: LoadOptions
    tags: Mapping[str, str]
    run: str
    """Id of the run: workers read the dataset's list of recordings once per run."""
    tag_from: tuple[str, ...] = ()
    """Sources of the tags of each recording (``recording_tags.py``)."""
    start_time: str = ""
    """The source of an undated recording's start: ``file`` (its last change), a pattern of file names, or ""."""
    leave_ns: int = 60 * 10**9
    """Unfinished recordings that changed within this time, in nanoseconds, are left for a later run."""
    replace: bool = False
    """Whether recordings already in the dataset are added again."""
    partition: tuple[str, ...] = ()
    """Columns that tables are partitioned by."""


class IngestTotals(TaskTotals):
    """Numbers of recordings."""

    added: int = 0
    known: int = 0
    left: int = 0
    """Unfinished recordings that may still grow."""
    unfinished: int = 0
    """Added recordings whose end is missing."""
    undated: int = 0
    """Added recordings without a time of day, so that their order is unknown."""
    untagged: int = 0
    """Added recordings for which some source has no tags."""
    retagged: int = 0
    """Known recordings that have other tags in the dataset."""
    samples: int = 0
    errors: list[str] = field(default_factory=list)
    """The first few errors."""


def ingest_some(sources: Sequence[str], job: Job) -> "tuple[IngestTotals, pyarrow.Table]":
    """Write the rows of some recordings, or the reasons why they cannot be read; the caller commits them.

    Returns counts, and rows of the table of recordings. Raises OutputError if the dataset cannot be written.
    """
    rows, totals, seen = RowsOfRecordings(DeltaTables(job.root), job.partition), IngestTotals(), set[str]()
    for source in sources:
        totals.done += 1
        try:
            _ingest_one(source, job, rows, seen, totals)
        except (FormatError, OSError, MemoryError) as error:
            text = f"{source}: {error.strerror or error}" if isinstance(error, OSError) else str(error) or repr(error)
            text = f"{source}: not enough memory" if isinstance(error, MemoryError) else text
            rows.add(StoredRecording(text_id("unread", source), empty_profile(source), job.tags, error=text))
            totals.failed += 1
            totals.errors.append(text)
    return totals, rows.finish()


def _ingest_one(source: str, job: Job, rows: RowsOfRecordings, seen: set[str], totals: IngestTotals) -> None:
    tags, untagged = tags_of(source, job.tag_from)
    job = replace(job, tags={**job.tags, **tags})
    with (
        local_copy(source) as path,
        limit_unpacking(job.options.max_unpacked),
        open_bundles([str(path)], job.options.symbols) as ((file,), symbols),
    ):
        ident, there = recording_id([Path(file)]), _there(job.root, job.run)
        existing = there.get(ident.hex())
        if ident.hex() in seen or (existing and not job.replace):
            totals.known += 1
            totals.retagged += existing is not None and not job.tags.items() <= dict(existing["tags"]).items()
            return
        stored = _read(source, file, str(path), ident, replace(job, options=replace(job.options, symbols=symbols)))
    if stored is None:
        totals.left += 1
        return
    states = [one for one in there.values() if stored.session and one["session"] == stored.session.hex()]
    is_late = any(not one["unfinished"] or one["samples"] >= stored.samples for one in states)
    if is_late and stored.unfinished and not job.replace:
        totals.known += 1
        return
    rows.add(stored)
    seen.add(ident.hex())
    totals.added += 1
    totals.samples += stored.samples
    totals.unfinished += stored.unfinished
    totals.undated += not stored.profile.meta.wall_start_ns
    totals.untagged += untagged


@lru_cache(maxsize=1)
def _there(root: str, run: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of a dataset's recordings by id, except unreadable ones, which are tried again."""
    tables = DeltaTables(root)
    table = tables.require("recordings")
    columns = ("recording", "tags", "error", "session", "unfinished", "samples")
    existing = tables.read("recordings", table, tables.files(table), columns)
    return {one["recording"]: one for one in existing.to_pylist() if one["error"] is None}


def _read(source: str, file: str, name: str, ident: bytes, job: Job) -> "StoredRecording | None":
    """Return a recording after reading, stitching and unwinding it; None if it may still grow.

    ``source`` is the user's name of the recording, ``name`` the path of its local file. ``file`` is that file, or what
    was unpacked from it.

    Raises FormatError if it cannot be read, or is unfinished and has no sample that identifies it.
    """
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.fleet.ingest_recording import ingest_session
    from perf2x.kernel.no_samples import reason
    from perf2x.kernel.open_sessions import Input, sessions_of_files
    from perf2x.kernel.stage_timer import Stages

    context = LoadContext(job.options, Diagnostics(), None, Stages())
    (session,) = sessions_of_files([Input(file, name, job.tags)], context)
    if context.diagnostics.missing_ends():
        if abs(time_ns() - changed_ns(source)) < job.leave_ns:
            return None
        if not session.parts[0].sample_count:
            why = reason(0, session.parts[0].has_events, context.diagnostics.counts)
            raise FormatError(f"{source}: no samples: {why}")
    stored = ingest_session(session, context, ident)
    profile, tags, meta = stored.profile, stored.tags, replace(stored.profile.meta, source=source)
    if job.start_time and not meta.wall_start_ns:
        by_file = job.start_time == "file"
        start = changed_ns(source) - meta.duration_ns if by_file else start_by_name(source, job.start_time)
        meta = replace(meta, wall_start_ns=max(start or 0, 0))
    if GROUPS in job.tag_from and profile.samples.cgroup is not None:
        tags = {**tags_of_groups(profile.strings[row] for row in unique(profile.samples.cgroup).tolist()), **tags}
    return replace(stored, profile=replace(profile, meta=meta), tags=tags)


def ingest(
    crew: Executor, workers: int, sources: Sequence[str], job: Job, report: Callable[[IngestTotals], None]
) -> IngestTotals:
    """Add the recordings to the dataset of ``job``; ``report`` is called whenever some are done.

    Raises OutputError if the dataset cannot be written, Perf2xError if the workers are gone; finished work is kept.
    """
    totals, tables = IngestTotals(len(sources)), DeltaTables(job.root)
    job = replace(job, partition=tables.make(job.partition))
    for _, (some, rows) in done(crew, ingest_some, _batches(sources, workers, job), job):
        commit_recordings(tables, rows, replace=job.replace)
        totals.add(some)
        del totals.errors[_NAMED:]
        report(totals)
    return totals


def _batches(sources: Sequence[str], workers: int, job: Job) -> Iterator[Sequence[str]]:
    """Yield groups of recordings to be written together; a group spans few days, because each day has its own files."""
    ordered = sorted(sources, key=lambda source: (_about(source, job.start_time), source))
    size = max(1, min(TOGETHER, -(-len(sources) // max(workers, 1))))
    return (ordered[first : first + size] for first in range(0, len(ordered), size))


def _about(source: str, pattern: str) -> int:
    """Return the approximate start of a recording; 0 if only its content shows it."""
    found = start_by_name(source, pattern) if pattern not in ("", "file") else None
    if found is None and not is_address(source):
        try:
            found = changed_ns(source)
        except (OSError, ValueError):
            found = None
    return found or 0
