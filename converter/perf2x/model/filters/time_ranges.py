"""Parses time ranges: of the recording's clock (``--time``) in perf's grammar, and of the wall clock (``--time-wall``).

perf's grammar (tools/perf/util/time-utils.c)::

    12.5,13             seconds of the recording's clock, both ends included; either end may be left out
    12,13 20,21         several ranges
    10%                 the first tenth of the recording
    10%/2               the second tenth
    0%-10%,30%-40%      shares of the recording
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from perf2x.errors import SettingError

# First and last nanosecond, both included.
Range = tuple[int, int]

_TimeParser = Callable[[str], int]

OPEN_END = 2**64 - 1
# Seconds with decimals; decimals beyond nanoseconds are ignored.
_SECONDS = re.compile(r"(\d+)(?:\.(\d{1,9})\d*)?")
# ``10%/2``, or ``10%`` for ``10%/1``.
_NUMBERED_SLICE = re.compile(r"(\d+(?:\.\d+)?)%(?:/(\d+))?")
# ``0%-10%``.
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%-(\d+(?:\.\d+)?)%")


def parse_times(text: str, first: int, last: int) -> tuple[Range, ...]:
    """Parse ``--time`` for a recording from ``first`` to ``last``, in nanoseconds. Raises SettingError."""
    if "%" in text:
        return tuple(_percent_range(part.strip(), first, last, text) for part in re.split(r"[,\s]+", text.strip()))
    return tuple(_start_and_stop(part, text, _nanoseconds) for part in text.split())


def parse_wall_times(text: str, start: datetime, offset_ns: int) -> tuple[Range, ...]:
    """Parse ``--time-wall``: ``2026-11-21T10:00:00,`` or, on the day of ``start``, ``10:00:00,10:01:30``.

    ``start`` is when the recording started; its time zone is the default. ``offset_ns`` plus a recorded time is
    nanoseconds since the Unix epoch. Raises SettingError.
    """

    def recorded_time(part: str) -> int:
        since_epoch = _wall_time(part, start) - datetime(1970, 1, 1, tzinfo=UTC)
        return max(since_epoch // timedelta(microseconds=1) * 1000 - offset_ns, 0)

    return (_start_and_stop(text.strip(), text, recorded_time, "wall_times"),)


def _wall_time(part: str, start: datetime) -> datetime:
    try:
        if "T" in part or "-" in part:
            wall_time = datetime.fromisoformat(part)
        else:
            time_of_day = datetime.strptime(part, "%H:%M:%S.%f" if "." in part else "%H:%M:%S").time()
            wall_time = datetime.combine(start.date(), time_of_day)
    except ValueError:
        problem = f": {part!r} is not a time; write 2026-11-21T10:00:05.25 or 10:00:05.25"
        raise SettingError("", "wall_times", problem) from None
    return wall_time if wall_time.tzinfo else wall_time.replace(tzinfo=start.tzinfo)


def _start_and_stop(part: str, text: str, parse: _TimeParser, setting: str = "times") -> Range:
    """Parse ``part``, one range ``START,STOP`` of ``text``."""
    start, comma, stop = part.partition(",")
    if not comma:
        raise SettingError("", setting, f" {text!r}: expected start,stop; either may be left out")
    time_range = parse(start) if start else 0, parse(stop) if stop else OPEN_END
    if time_range[0] > time_range[1]:
        raise SettingError("", setting, f" {text!r}: the start comes after the end")
    return time_range


def _nanoseconds(part: str) -> int:
    nanoseconds = parse_seconds(part)
    if nanoseconds is None:
        problem = f": {part!r} is not a time; write seconds such as 1234.567890123, or 10%/2, or 0%-10%"
        raise SettingError("", "times", problem)
    return nanoseconds


def parse_seconds(text: str) -> int | None:
    """Convert seconds such as ``12.5`` to nanoseconds; None for other texts."""
    found = _SECONDS.fullmatch(text)
    return int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0")) if found else None


def _percent_range(part: str, first: int, last: int, text: str) -> Range:
    """Parse ``part``, one range ``10%/2`` or ``0%-10%`` of ``text``."""
    numbered_slice, share = _NUMBERED_SLICE.fullmatch(part), _SHARE.fullmatch(part)
    if numbered_slice:
        width, number = float(numbered_slice.group(1)), int(numbered_slice.group(2) or 1)
        begin_percent, end_percent = width * (number - 1), width * number
    elif share:
        begin_percent, end_percent = float(share.group(1)), float(share.group(2))
    else:
        raise SettingError("", "times", f" {text!r}: expected slices such as 10%/2 or shares such as 0%-10%,30%-40%")
    if not 0 <= begin_percent < end_percent <= 100:
        raise SettingError("", "times", f" {text!r}: a share lies between 0% and 100%, and its start before its end")
    return _share(begin_percent, end_percent, first, last)


def _share(begin_percent: float, end_percent: float, first: int, last: int) -> Range:
    """As in set_percent_time (tools/perf/util/time-utils.c), the nanosecond at the end belongs to the next share.

    Exceptions are the end of the recording, and a share of a single nanosecond.
    """
    total = last - first
    start, stop = first + round(begin_percent / 100 * total), first + round(end_percent / 100 * total)
    return start, stop - 1 if start < stop != last else stop
