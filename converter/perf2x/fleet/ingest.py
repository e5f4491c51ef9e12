"""Ingest of many recordings: hands out tasks and counts how they end; rows stay with the workers that write them.

One task of an ingest: a recording into the dataset, wherever a worker runs. Returns a few words alone.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.columnar.unique import unique
from perf2x.base.errors import FormatError
from perf2x.base.files.unpack_limit import limit_unpacking
from perf2x.fleet.batches import batches
from perf2x.fleet.input_names import changed_ns, local_copy
from perf2x.fleet.local_processes import Failed, Run
from perf2x.fleet.recording_labels import GROUPS, start_by_name, tags_of, tags_of_groups
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.bundle.open_bundle import open_bundles
from perf2x.storage.dataset.content_ids import recording_id, text_id
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.storage.dataset.dataset_schema import TABLES
from perf2x.storage.dataset.file_names import is_merged, recording_of, session_of
from perf2x.storage.dataset.listed_files import State, states_of
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.table_log import DataFile, TableLog, check_packages
from perf2x.storage.dataset.write.recording_to_store import PlaceNames, StoredRecording, failed_recording
from perf2x.storage.dataset.write.write_recording import commit_files, partition_of, write_files

if TYPE_CHECKING:
    from perf2x.pipeline.datasets.ingest_recording import Ingested

ADDED, KNOWN, LEFT, FAILED = "added", "known", "left", "failed"


class Job(Struct, frozen=True):
    """Facts that all tasks of one run share."""

    folder: str
    """Path or address of the dataset."""
    options: LoadOptions
    tags: Mapping[str, str]
    partition: tuple[str, ...]
    run: str
    """A word that no other run has: workers ask once a run what the dataset holds."""
    tag_from: tuple[str, ...] = ()
    """Sources of the tags of each recording (``recording_labels.py``)."""
    start_time: str = ""
    """When recordings without a date began: ``file``, a pattern of file names, or empty."""
    leave_ns: int = 60 * 10**9
    """Unfinished recordings that changed so recently, in nanoseconds, are left for a later run."""


class Outcome(Struct, frozen=True):
    """End of a task."""

    source: str
    state: str
    samples: int = 0
    unfinished: bool = False
    undated: bool = False
    """Without the time of day, so that nothing tells its place among others."""
    untagged: bool = False
    """Some source of tags has none of it."""
    retagged: bool = False
    """The dataset has it with other tags."""
    error: str = ""
    written: tuple[tuple[str, DataFile], ...] = ()
    """Tables, each with a new file that waits for its commit."""
    old: tuple[str, ...] = ()
    """Names of files of recordings that go with that commit."""


def ingest_one(source: str, job: Job) -> Outcome:
    """Write the files of a recording, or of the row that says why it cannot be read; whoever asked commits them.

    Nothing is done if its content is there, or more of it, or if it may still grow. What the dataset has of an
    unfinished recording goes when more of it comes. OutputError when a file cannot be written.
    """
    try:
        tags, untagged = tags_of(source, job.tag_from)
        job = replace(job, tags={**job.tags, **tags})
        with (
            local_copy(source) as path,
            limit_unpacking(job.options.max_unpacked),
            open_bundles([str(path)], job.options.symbols) as ((file,), symbols),
        ):
            content_id = recording_id([Path(file)])
            there = _tags_there(content_id.hex(), job)
            if there is not None:
                return Outcome(source, KNOWN, retagged=not job.tags.items() <= there.items())
            job = replace(job, options=replace(job.options, symbols=symbols))
            found = _read(source, file, str(path), content_id, job)
    except (FormatError, OSError) as error:
        text = f"{source}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        return note_failure(source, text, job)
    if found is None:
        return Outcome(source, LEFT)
    attempts = _files_of(_unread(source), job)
    states = _superseded(found.stored, job)
    if states is None:
        return Outcome(source, KNOWN, old=attempts)
    stored = found.stored
    undated = not stored.profile.meta.wall_start_ns
    written, old = _write(stored, found.names, job), (*attempts, *states, *_files_of(stored.recording, job))
    return Outcome(source, ADDED, stored.samples, stored.unfinished, undated, untagged, written=written, old=old)


def note_failure(source: str, error: str, job: Job) -> Outcome:
    """Write the row of a recording that cannot be read, by its name: it goes when the name can be read."""
    failed = failed_recording(_unread(source), source, error, job.tags)
    return Outcome(source, FAILED, error=error, written=_write(failed, None, job), old=_files_of(_unread(source), job))


def _write(stored: StoredRecording, names: "PlaceNames | None", job: Job) -> tuple[tuple[str, DataFile], ...]:
    partition = partition_of(_stored(job.folder, job.run)[1], job.partition, job.folder)
    return tuple(write_files(storage_at(job.folder), stored, names, partition))


def _unread(source: str) -> bytes:
    """Id of a recording of which nothing but its name is known."""
    return text_id("unread", source)


def _tags_there(recording: str, job: Job) -> Mapping[str, str] | None:
    """Tags that the dataset has of the recording; None where it lacks it, or could not read it: it is tried again."""
    row = _stored(job.folder, job.run)[0].get(recording)
    return None if row is None else _tags_in(job.folder, job.run, row).get(recording)


@lru_cache(maxsize=4)
def _tags_in(folder: str, run: str, row: str) -> Mapping[str, Mapping[str, str]]:
    """Tags by recording of those in a file that could be read; of none if it is damaged: it is written again."""
    try:
        found = read_stored(storage_at(folder), f"recordings/{row}", "recordings")
    except FormatError:
        return {}
    rows = found.select(["recording", "tags", "error"]).to_pylist()
    return {one["recording"]: dict(one["tags"]) for one in rows if one["error"] is None}


def _files_of(recording: bytes, job: Job) -> tuple[str, ...]:
    """The file of an earlier attempt: a better one may lie in another folder. Not one that others share."""
    row = _stored(job.folder, job.run)[0].get(recording.hex())
    return () if row is None or is_merged(row) else (row,)


def _superseded(stored: StoredRecording, job: Job) -> tuple[str, ...] | None:
    """Files of earlier states of a recording, which are unfinished; None where a later one than this is there."""
    storage, found = storage_at(job.folder), []
    session = stored.session.hex() if stored.session else None
    mine = State(stored.recording.hex(), session, stored.unfinished, stored.samples)
    for row in _unfinished(job.folder, job.run).get(session, ()):
        if any(mine.rank < other.rank for other in states_of(read_stored(storage, f"recordings/{row}", "recordings"))):
            return None
        found.append(row)
    return tuple(found)


@lru_cache(maxsize=1)
def _stored(folder: str, run: str) -> tuple[dict[str, str], TableLog]:
    """Ids of the recordings that a dataset has, each with its file in the table of recordings, and the log of that."""
    storage, found = storage_at(folder), dict[str, str]()
    log = storage.log("recordings")
    for name in log.files:
        own = recording_of(name)
        for one in [own] if own else read_stored(storage, f"recordings/{name}", "recordings")["recording"].to_pylist():
            found.setdefault(one, name)
    return found, log


@lru_cache(maxsize=1)
def _unfinished(folder: str, run: str) -> dict[str | None, list[str]]:
    """Rows of unfinished recordings by session."""
    found: dict[str | None, list[str]] = {}
    for row in _stored(folder, run)[0].values():
        session = session_of(row)
        if session is not None:
            found.setdefault(session, []).append(row)
    return found


def _read(source: str, file: str, name: str, content_id: bytes, job: Job) -> "Ingested | None":
    """Read, stitch and unwind a recording, in a file that ``name`` has or was packed in; None if it may still grow.

    FormatError where it cannot be read, or is unfinished and has no sample that tells it from others.
    """
    from perf2x.model.diagnostics import Diagnostics
    from perf2x.pipeline.datasets.ingest_recording import ingest_session
    from perf2x.pipeline.load_options import LoadContext
    from perf2x.pipeline.no_samples import reason
    from perf2x.pipeline.open_sessions import Input, find_sessions
    from perf2x.pipeline.stage_timer import Stages

    context = LoadContext(job.options, Diagnostics(), None, Stages())
    (session,) = find_sessions([Input(file, name, job.tags)], context)
    if context.diagnostics.missing_ends():
        if abs(time_ns() - changed_ns(source)) < job.leave_ns:
            return None
        if not session.parts[0].sample_count:
            why = reason(0, session.parts[0].has_events, context.diagnostics.counts)
            raise FormatError(f"{source}: no samples: {why}")
    found = ingest_session(session, context, content_id)
    return replace(found, stored=_labelled(found.stored, source, job))


def _labelled(stored: StoredRecording, source: str, job: Job) -> StoredRecording:
    """The recording with its source, and with what is told of it elsewhere."""
    profile, tags = stored.profile, stored.tags
    meta = replace(profile.meta, source=source)
    if job.start_time and not meta.wall_start_ns:
        by_file = job.start_time == "file"
        start = changed_ns(source) - meta.duration_ns if by_file else start_by_name(source, job.start_time)
        meta = replace(meta, wall_start_ns=max(start or 0, 0))
    if GROUPS in job.tag_from and profile.samples.cgroup is not None:
        tags = {**tags_of_groups(profile.strings[row] for row in unique(profile.samples.cgroup).tolist()), **tags}
    return replace(stored, profile=replace(profile, meta=meta), tags=tags)


_NAMED = 20


class Totals(Struct):
    """Ends of the tasks so far."""

    of: int
    added: int = 0
    known: int = 0
    left: int = 0
    """Unfinished recordings that may still grow."""
    failed: int = 0
    unfinished: int = 0
    """Of those that were added; so are the undated."""
    undated: int = 0
    untagged: int = 0
    retagged: int = 0
    """Of those that are known."""
    samples: int = 0
    errors: list[str] = field(default_factory=list)
    """The first few."""

    @property
    def done(self) -> int:
        """Number of tasks that have ended."""
        return self.added + self.known + self.left + self.failed

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        setattr(self, outcome.state, getattr(self, outcome.state) + 1)  # states are called as their numbers
        self.unfinished += outcome.unfinished
        self.undated += outcome.undated
        self.untagged += outcome.untagged
        self.retagged += outcome.retagged
        self.samples += outcome.samples
        if outcome.error and len(self.errors) < _NAMED:
            self.errors.append(outcome.error)


def ingest(run: Run, sources: Sequence[str], job: Job, report: Callable[[Totals], None]) -> Totals:
    """Add the recordings to the dataset of ``job``; ``report`` is called whenever one is done.

    OutputError when the dataset cannot be written, Perf2xError when the workers are gone; what was done is kept.
    """
    totals = Totals(len(sources))
    check_packages()
    partition_of(storage_at(job.folder).log("recordings"), job.partition, job.folder)

    def write(ends: Sequence[Outcome]) -> None:
        commit_outcomes(ends, job)

    with batches(write) as finished:
        for source, end in run(ingest_one, sources, job):
            outcome = note_failure(source, f"{source}: {end.reason}", job) if isinstance(end, Failed) else end
            finished(outcome)
            totals.add(outcome)
            report(totals)
    return totals


def commit_outcomes(outcomes: Sequence[Outcome], job: Job) -> None:
    """Make the files of tasks part of the dataset, and take what they supersede from it."""
    written = {(table, file.name): file for one in outcomes for table, file in one.written}
    gone, storage = {recording_of(name) for one in outcomes for name in one.old}, storage_at(job.folder)
    partition = partition_of(storage.log("recordings"), job.partition, job.folder)
    old = [
        (table, file)
        for table in (TABLES if gone else ())
        for name, file in storage.log(table).files.items()
        if recording_of(name) in gone and (table, name) not in written
    ]
    commit_files(storage.root, partition, [(table, file) for (table, _), file in written.items()], old)
