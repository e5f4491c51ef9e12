"""One task of an ingest: a recording into the dataset, wherever a worker runs. Returns a few words alone."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from perf2x.dataset.failed import failed_recording
from perf2x.dataset.ids import recording_id, text_id
from perf2x.dataset.storage import Storage, storage_at
from perf2x.dataset.write import recording_of, stored_recordings, write_recording
from perf2x.fleet.sources import local_copy
from perf2x.pipeline.options import LoadOptions
from perf2x.tables.errors import FormatError

ADDED, KNOWN, FAILED = "added", "known", "failed"


class Job(Struct, frozen=True):
    """Facts that all tasks of one run share."""

    folder: str
    """Path or address of the dataset."""
    options: LoadOptions
    tags: Mapping[str, str]
    partition: tuple[str, ...]
    run: str
    """A word that no other run has: workers ask once a run what the dataset holds."""


class Outcome(Struct, frozen=True):
    """End of a task."""

    source: str
    state: str
    samples: int = 0
    error: str = ""


def ingest_one(source: str, job: Job) -> Outcome:
    """Add a recording to the dataset, or the row that says why it cannot be read; nothing if its content is there.

    OutputError when the dataset cannot be written.
    """
    recording = _unread(source)
    try:
        with local_copy(source) as path:
            recording = recording_id([path])
            if _is_there(recording, job):
                return Outcome(source, KNOWN)
            _forget(recording, job)
            samples = _ingest(source, path, job)
    except (FormatError, OSError) as error:
        text = f"{source}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        return note_failure(source, text, job, recording)
    _forget(_unread(source), job)
    return Outcome(source, ADDED, samples)


def note_failure(source: str, error: str, job: Job, recording: bytes | None = None) -> Outcome:
    """Write the row of a recording that cannot be read, by its content where that is known."""
    failed = failed_recording(recording or _unread(source), source, error, job.tags)
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
    """Whether the file of a recording's row says that it could not be read; FormatError when there is none."""
    from pyarrow import ArrowInvalid, parquet

    try:
        with storage.open(row) as file:
            errors = parquet.ParquetFile(file).read(["error"])["error"]
    except ArrowInvalid:  # not written by us, or damaged: it is written again
        return True
    return bool(errors.null_count < len(errors)) or not len(errors)


def _forget(recording: bytes, job: Job) -> None:
    """Remove the row of a failed attempt: a better one may lie in another folder."""
    row = _stored(job.folder, job.run).get(recording)
    if row is not None and recording_of(row) is not None:
        storage = storage_at(job.folder)
        storage.remove(row)
        storage.remove(f"samples{row.removeprefix('recordings')}")


@lru_cache(maxsize=1)
def _stored(folder: str, run: str) -> dict[bytes, str]:
    return stored_recordings(storage_at(folder))


def _ingest(source: str, path: Path, job: Job) -> int:
    """Write the tables of a recording; returns its number of samples."""
    from perf2x.bundle.unpack import open_bundles
    from perf2x.files.unpack_limit import limit_unpacking
    from perf2x.pipeline.context import LoadContext
    from perf2x.pipeline.ingest import ingest_session
    from perf2x.pipeline.sessions import Input, find_sessions
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.tables.diagnostics import Diagnostics

    options, name = job.options, str(path)
    with limit_unpacking(options.max_unpacked), open_bundles([name], options.symbols) as ((file,), symbols):
        context = LoadContext(replace(options, symbols=symbols), Diagnostics(), None, Stages())
        (session,) = find_sessions([Input(file, name, job.tags)], context)
        found = ingest_session(session, context)
    profile = found.stored.profile
    stored = replace(found.stored, profile=replace(profile, meta=replace(profile.meta, source=source)))
    write_recording(job.folder, stored, found.names, job.partition)
    return stored.samples
