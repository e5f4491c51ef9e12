"""The row of a recording in the table of recordings."""

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from perf2x.errors import FormatError
from perf2x.model.printable_text import printable
from perf2x.sources.dataset.arrow_columns import with_texts
from perf2x.sources.dataset.dataset_schema import META, arrow, schema_of
from perf2x.sources.dataset.write.recording_to_store import StoredRecording

if TYPE_CHECKING:
    import pyarrow

_SAME = ("samples", "lost", "deferred_missing", "kernel_build_id", "facts", "unfinished", "missing_bytes")
"""Columns named like fields of StoredRecording."""


def recording_table(stored: StoredRecording, attempt: str) -> "pyarrow.Table":
    """Make the table of one row; unknown numbers are null, unknown texts empty.

    FormatError for numbers that do not fit into the columns.
    """
    profile, meta, pa = stored.profile, stored.profile.meta, arrow()
    row: dict[str, Any] = {
        **{column: getattr(meta, name) for column, name in META.items()},
        **{name: getattr(stored, name) for name in _SAME},
        "recording": stored.recording.hex(),
        "attempt": attempt,
        "session": stored.session.hex() if stored.session else None,
        "start_ns": meta.wall_start_ns or None,
        "tags": sorted(stored.tags.items()),
        "error": stored.error or None,
        "is_timeline": profile.samples.time is not None,
        "default_event": profile.default_event,
        "events": [asdict(event) for event in profile.events],
    }
    arrays, schema = [], schema_of("recordings")
    for field in schema:
        try:
            arrays.append(pa.array([with_texts(row[field.name], printable)], field.type))
        except (OverflowError, pa.ArrowInvalid):
            raise FormatError(f"{meta.source}: {field.name} has a number that is too large for a dataset") from None
    return pa.table(arrays, schema=schema)
