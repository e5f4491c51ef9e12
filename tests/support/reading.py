"""Forged recordings, opened by the reader."""

from collections.abc import Iterable
from pathlib import Path

from perf2x.model.recording.events import Samples, Want
from perf2x.reader import PerfRecording, open_recording
from tests.forge import Record, Session, write_file

EVERYTHING = ~Want.AGAIN


def reopened(folder: Path, session: Session, records: Iterable[Record]) -> PerfRecording:
    """Read a forged recording."""
    return opened(folder, write_file(session, records))


def opened(folder: Path, data: bytes) -> PerfRecording:
    """Read a recording of these bytes."""
    path = folder / "perf.data"
    path.write_bytes(data)
    return open_recording(str(path))


def one_batch(recording: PerfRecording, want: Want = EVERYTHING) -> Samples:
    """All samples of a small recording."""
    (batch,) = recording.samples(want)
    return batch
