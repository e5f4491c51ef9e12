"""``--start-time``: sets the time of day of the first sample, as the user gives it, or by the file's date."""

import stat
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec.structs import replace

from perf2x.errors import SettingError
from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile
from perf2x.model.filters.time_ranges import parse_seconds
from perf2x.model.plugin_options import START_TIME
from perf2x.model.setting import FeatureSettings, Setting

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded
    from perf2x.model.profile import Meta
    from perf2x.model.recording import Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_start_time(setting: str, text: str) -> int | Literal["file"]:
    """Parse the setting to nanoseconds since the epoch, or to ``file``.

    The text is a number of seconds since the epoch, an ISO 8601 time (in UTC unless it has a zone), or ``file``. Raises
    OptionError for other texts, and for times before 1970.
    """
    from perf2x.model.value_limits import LAST_TIME

    if text == "file":
        return "file"
    nanoseconds = parse_seconds(text)
    if nanoseconds is not None and nanoseconds < LAST_TIME:
        return nanoseconds
    try:
        moment = datetime.fromisoformat(text)
        since_epoch = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        since_epoch = timedelta(-1)
    if since_epoch < timedelta(0):
        raise SettingError(
            "", setting, f": {text!r} is not a time; write 2026-11-21T10:00:05Z, seconds since the epoch, or file"
        )
    return min(since_epoch // timedelta(microseconds=1) * 1000, LAST_TIME)


class _StartTime(FeatureSettings):
    """The time of day at which a recording began."""

    PANEL = "Output"

    start_time: Annotated[
        int | Literal["file"] | None,
        Setting(
            "Time of day of the first sample, if it was not recorded: 2026-11-21T10:00:05Z, seconds since the epoch, "
            "or file for its date.",
            metavar="TIME|file",
            rare=True,
            group=START_TIME,
            read=parse_start_time,
        ),
    ] = None
    """Time of the first sample in nanoseconds since the epoch; None: as recorded.

    ``file``: the latest date of the recording's files, minus the recording's duration.
    """


def date_of(path: str) -> int:
    """Return the modification time of a recording in nanoseconds; of a directory, that of its file ``data``.

    Raises OptionError for inputs without one, such as pipes.
    """
    file = Path(path) / "data" if Path(path).is_dir() else Path(path)
    try:
        status = file.stat() if path != "-" else None
    except OSError as error:
        raise SettingError("", "start_time", f" file: {file}: {error.strerror}") from None
    if status is None or not stat.S_ISREG(status.st_mode):
        raise SettingError("", "start_time", " file: a pipe has no date; give the time itself")
    return status.st_mtime_ns


def _set_start_time(loaded: "Loaded", run: SessionRun) -> "Loaded":
    start, session = run.options.of(_StartTime).start_time, run.recording.session
    if start is None or (start == "file" and session.wall_clock_offset_ns is not None):
        return loaded
    meta = _with_start(loaded.profile.meta, session, start, run.session.files)
    return with_profile(loaded, replace(loaded.profile, meta=meta))


def _with_start(meta: "Meta", session: "Session", start: int | Literal["file"], files: Sequence[str]) -> "Meta":
    """Of ``files``, the one that was written last counts; ``start`` is in ns since the epoch, or "file"."""
    from perf2x.model.value_limits import LAST_TIME

    if start != "file":
        return replace(meta, wall_start_ns=start, comments=(*meta.comments, "perf2x-start-time:given"))
    last = max(map(date_of, files))
    written = (_EPOCH + timedelta(seconds=last // 10**9)).isoformat().replace("+00:00", "Z")
    comment = f"perf2x-start-time:file written until {written}"
    # the file was written when the recording ended, so the duration up to the last sample is subtracted
    duration = max(session.sample_times[1] - meta.start_ns if meta.start_ns else 0, meta.duration_ns)
    begin = min(max(last - duration, 0), LAST_TIME)
    return replace(meta, wall_start_ns=begin, comments=(*meta.comments, comment))


FEATURE = Feature({Phase.DESCRIBED: _set_start_time}, _StartTime)
