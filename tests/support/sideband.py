"""Side-band tables without records, for tests that fill in a few."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from perf2x.model.recording.sideband import Sideband
from perf2x.reader import open_recording
from tests.forge import Session, write_file


@cache
def no_sideband() -> Sideband:
    """The tables of a recording without records."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.data"
        path.write_bytes(write_file(Session(), []))
        return open_recording(str(path)).sideband
