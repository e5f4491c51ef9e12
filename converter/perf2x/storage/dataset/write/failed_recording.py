"""The row of a recording that could not be read."""

from collections.abc import Mapping

from perf2x.storage.dataset.write.empty_profile import empty_profile
from perf2x.storage.dataset.write.recording_to_store import StoredRecording


def failed_recording(recording: bytes, source: str, error: str, tags: Mapping[str, str]) -> StoredRecording:
    """Make a recording without samples that says why it has none."""
    return StoredRecording(recording, empty_profile(source), tags, error=error)
