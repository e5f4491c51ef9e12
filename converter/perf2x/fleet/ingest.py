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
from perf2x.fleet.input_names import changed_ns, local_copy
from perf2x.fleet.local_processes import Failed, Run
from perf2x.fleet.recording_labels import GROUPS, start_by_name, tags_of, tags_of_groups
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.content_ids import recording_id, text_id
from perf2x.storage.dataset.dataset_folder import Storage, storage_at
from perf2x.storage.dataset.dataset_schema import PARTITIONED, SUFFIX, TABLES
from perf2x.storage.dataset.listed_files import State, states_of
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.write.recording_to_store import StoredRecording, failed_recording
from perf2x.storage.dataset.write.write_recording import recording_of, session_of, stored_recordings, write_recording

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
    error: str = ""


def ingest_one(source: str, job: Job) -> Outcome:
    """Add a recording to the dataset, or the row that says why it cannot be read.

    Nothing is done if its content is there, or more of it, or if it may still grow. What the dataset has of an
    unfinished recording goes when more of it comes. OutputError when the dataset cannot be written.
    """
    try:
        tags, untagged = tags_of(source, job.tag_from)
        job = replace(job, tags={**job.tags, **tags})
        with local_copy(source) as path:
            recording = recording_id([path])
            if _is_there(recording, job):
                return Outcome(source, KNOWN)
            _forget(recording, job)
            found = _read(source, path, job)
    except (FormatError, OSError) as error:
        text = f"{source}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        return note_failure(source, text, job)
    if found is None:
        return Outcome(source, LEFT)
    is_last = _supersede(found.stored, job)
    if is_last:
        write_recording(job.folder, found.stored, found.names, job.partition)
    _forget(_unread(source), job)
    if not is_last:
        return Outcome(source, KNOWN)
    undated = not found.stored.profile.meta.wall_start_ns
    return Outcome(source, ADDED, found.stored.samples, found.stored.unfinished, undated, untagged)


def note_failure(source: str, error: str, job: Job) -> Outcome:
    """Write the row of a recording that cannot be read, by its name: it goes when the name can be read."""
    failed = failed_recording(_unread(source), source, error, job.tags)
    write_recording(job.folder, failed, None, job.partition)
    return Outcome(source, FAILED, error=error)


def _unread(source: str) -> bytes:
    """Id of a recording of which nothing but its name is known."""
    return text_id("unread", source)


def _is_there(recording: bytes, job: Job) -> bool:
    """Whether the dataset has the recording; one with an error is tried again, and stays in a file of its own."""
    storage, row = storage_at(job.folder), _stored(job.folder, job.run).get(recording)
    if row is not None and not storage.exists(row):  # put together with others since
        _stored.cache_clear()
        row = _stored(job.folder, job.run).get(recording)
    return row is not None and (recording_of(row) is None or not has_error(storage, row))


def has_error(storage: Storage, row: str) -> bool:
    """Whether the file of a recording's row says that it could not be read, or is damaged itself."""
    try:
        errors = read_stored(storage, row, "recordings")["error"]
    except FormatError:  # not written by us, or damaged: it is written again
        return True
    return bool(errors.null_count < len(errors)) or not len(errors)


def _forget(recording: bytes, job: Job) -> None:
    """Remove the row of a failed attempt: a better one may lie in another folder."""
    row = _stored(job.folder, job.run).get(recording)
    if row is not None:
        _remove(row, job)


def _remove(row: str, job: Job) -> None:
    """Remove the files of a recording by that of its row, which goes first; not those that others share with it."""
    storage, recording = storage_at(job.folder), recording_of(row)
    if recording is None:
        return
    for table in reversed(TABLES):
        below = row.removeprefix("recordings") if table in PARTITIONED else f"/{recording.hex()}{SUFFIX}"
        storage.remove(f"{table}{below}")


def _supersede(stored: StoredRecording, job: Job) -> bool:
    """Remove earlier states of a recording, which are unfinished; False where a later one than this is there."""
    storage = storage_at(job.folder)
    mine = State(stored.recording, stored.session, stored.unfinished, stored.samples)
    for row in filter(storage.exists, _unfinished(job.folder, job.run).get(stored.session, ())):
        if any(mine.rank < other.rank for other in states_of(read_stored(storage, row, "recordings"))):
            return False
        _remove(row, job)
    return True


@lru_cache(maxsize=1)
def _stored(folder: str, run: str) -> dict[bytes, str]:
    return stored_recordings(storage_at(folder))


@lru_cache(maxsize=1)
def _unfinished(folder: str, run: str) -> dict[bytes | None, list[str]]:
    """Rows of unfinished recordings by session."""
    found: dict[bytes | None, list[str]] = {}
    for row in _stored(folder, run).values():
        session = session_of(row)
        if session is not None:
            found.setdefault(session, []).append(row)
    return found


def _read(source: str, path: Path, job: Job) -> "Ingested | None":
    """Read, stitch and unwind a recording; None for one that may still grow.

    FormatError where it cannot be read, or is unfinished and has no sample that tells it from others.
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.model.diagnostics import Diagnostics
    from perf2x.pipeline.datasets.ingest_recording import ingest_session
    from perf2x.pipeline.load_options import LoadContext
    from perf2x.pipeline.no_samples import reason
    from perf2x.pipeline.open_sessions import Input, find_sessions
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.storage.bundle.open_bundle import open_bundles

    options, name = job.options, str(path)
    with limit_unpacking(options.max_unpacked), open_bundles([name], options.symbols) as ((file,), symbols):
        context = LoadContext(replace(options, symbols=symbols), Diagnostics(), None, Stages())
        (session,) = find_sessions([Input(file, name, job.tags)], context)
        if context.diagnostics.missing_ends():
            if abs(time_ns() - changed_ns(source)) < job.leave_ns:
                return None
            if not session.parts[0].sample_count:
                why = reason(0, session.parts[0].has_events, context.diagnostics.counts)
                raise FormatError(f"{source}: no samples: {why}")
        found = ingest_session(session, context)
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
        self.samples += outcome.samples
        if outcome.error and len(self.errors) < _NAMED:
            self.errors.append(outcome.error)


def ingest(run: Run, sources: Sequence[str], job: Job, report: Callable[[Totals], None]) -> Totals:
    """Add the recordings to the dataset of ``job``; ``report`` is called whenever one is done.

    OutputError when the dataset cannot be written, Perf2xError when the workers are gone.
    """
    totals = Totals(len(sources))
    for source, end in run(ingest_one, sources, job):
        totals.add(note_failure(source, f"{source}: {end.reason}", job) if isinstance(end, Failed) else end)
        report(totals)
    return totals
