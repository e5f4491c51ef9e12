"""The row of a recording in the table of recordings."""

from typing import TYPE_CHECKING, Any

from perf2x.base.errors import FormatError
from perf2x.model.printable_text import printable
from perf2x.storage.dataset.arrow_columns import table_of
from perf2x.storage.dataset.dataset_schema import arrow, schema_of
from perf2x.storage.dataset.write.recording_to_store import StoredRecording

if TYPE_CHECKING:
    import pyarrow

_EVENT = ("name", "unit", "period", "frequency", "is_wait", "leader")


def recording_table(stored: StoredRecording, attempt: str) -> "pyarrow.Table":
    """Make the table of one row; unknown numbers are null, unknown texts empty.

    FormatError for numbers that the columns have no room for.
    """
    profile, meta = stored.profile, stored.profile.meta
    schema = schema_of("recordings")
    events = [{name: getattr(event, name) for name in _EVENT} for event in profile.events]
    texts = {
        "source": meta.source, "host": meta.hostname, "arch": meta.arch, "kernel": meta.os_release,
        "kernel_build_id": stored.kernel_build_id, "perf_version": meta.perf_version, "facts": stored.facts,
    }  # fmt: skip
    row = {
        **{name: printable(text) for name, text in texts.items()},
        "start_ns": meta.wall_start_ns or None,
        "duration_ns": meta.duration_ns,
        "cmdline": [printable(word) for word in meta.command_line],
        "samples": stored.samples,
        "lost": stored.lost,
        "deferred_missing": stored.deferred_missing,
        "tags": [(printable(key), printable(value)) for key, value in sorted(stored.tags.items())],
        "recording": stored.recording.hex(),
        "attempt": attempt,
        "session": stored.session.hex() if stored.session else None,
        "unfinished": stored.unfinished,
        "missing_bytes": stored.missing_bytes,
        "error": printable(stored.error) if stored.error else None,
        "cpus": meta.cpus,
        "clock_start_ns": meta.start_ns,
        "is_timeline": profile.samples.time is not None,
        "default_event": profile.default_event,
        "events": [event | {"name": printable(event["name"])} for event in events],
    }
    arrays = {name: _cell(name, value, schema.field(name).type, meta.source) for name, value in row.items()}
    return table_of("recordings", arrays)


def _cell(name: str, value: object, kind: Any, source: str) -> Any:
    """A column of one value."""
    pa = arrow()
    try:
        return pa.array([value], kind)
    except (OverflowError, pa.ArrowInvalid):
        raise FormatError(f"{source}: {name} has a number that is too large for a dataset") from None
