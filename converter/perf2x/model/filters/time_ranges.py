"""perf's grammar of time ranges (tools/perf/util/time-utils.c), and its counterpart for the wall clock.

::

    12.5,13             seconds of the recording's clock, both ends included; either may be left out
    12,13 20,21         several ranges
    10%/2               the second tenth of the recording
    0%-10%,30%-40%      shares of the recording
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from perf2x.errors import SettingError

Range = tuple[int, int]
"""First and last nanosecond, both included."""

_TimeParser = Callable[[str], int]

END = 2**64 - 1
_SECONDS = re.compile(r"(\d+)(?:\.(\d{1,9})\d*)?")
_SLICE = re.compile(r"(\d+(?:\.\d+)?)%(?:/(\d+))?")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%-(\d+(?:\.\d+)?)%")


def parse_times(text: str, first: int, last: int) -> tuple[Range, ...]:
    """Parse ``--time`` for a recording from ``first`` to ``last``. Raises OptionError, which names the mistake."""
    if "%" in text:
        return tuple(_percent(part.strip(), first, last, text) for part in re.split(r"[,\s]+", text.strip()))
    return tuple(_span(part, text, _nanoseconds) for part in text.split())


def parse_wall_times(text: str, start: datetime, offset_ns: int) -> tuple[Range, ...]:
    """Parse ``--time-wall``: ``2026-11-21T10:00:00,`` or, on the day of ``start``, ``10:00:00,10:01``.

    Times without a zone are in the zone of ``start``; recorded times plus ``offset_ns`` are nanoseconds since the
    epoch.
    """

    def clock_time(part: str) -> int:
        stamp = _wall(part, start)
        since = stamp - datetime(1970, 1, 1, tzinfo=UTC)
        return max(since // timedelta(microseconds=1) * 1000 - offset_ns, 0)

    return (_span(text.strip(), text, clock_time, "wall_times"),)


def _wall(part: str, start: datetime) -> datetime:
    try:
        if "T" in part or "-" in part:
            stamp = datetime.fromisoformat(part)
        else:
            clock = datetime.strptime(part, "%H:%M:%S.%f" if "." in part else "%H:%M:%S").time()
            stamp = datetime.combine(start.date(), clock)
    except ValueError:
        words = f": {part!r} is not a time; write 2026-11-21T10:00:05.25 or 10:00:05.25"
        raise SettingError("", "wall_times", words) from None
    return stamp if stamp.tzinfo else stamp.replace(tzinfo=start.tzinfo)


def _span(part: str, text: str, parse: _TimeParser, setting: str = "times") -> Range:
    begin, comma, end = part.partition(",")
    if not comma:
        raise SettingError("", setting, f" {text!r}: expected start,stop; either may be left out")
    span = parse(begin) if begin else 0, parse(end) if end else END
    if span[0] > span[1]:
        raise SettingError("", setting, f" {text!r}: the start comes after the end")
    return span


def _nanoseconds(part: str) -> int:
    seconds = parse_seconds(part)
    if seconds is None:
        words = f": {part!r} is not a time; write seconds such as 1234.567890123, or 10%/2, or 0%-10%"
        raise SettingError("", "times", words)
    return seconds


def parse_seconds(text: str) -> int | None:
    """Parse seconds such as ``12.5`` to nanoseconds; None for other texts."""
    found = _SECONDS.fullmatch(text)
    return int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0")) if found else None


def _percent(part: str, first: int, last: int, text: str) -> Range:
    one, several = _SLICE.fullmatch(part), _SHARE.fullmatch(part)
    if one:
        width, number = float(one.group(1)), int(one.group(2) or 1)
        begin, end = width * (number - 1), width * number
    elif several:
        begin, end = float(several.group(1)), float(several.group(2))
    else:
        raise SettingError("", "times", f" {text!r}: expected slices such as 10%/2 or shares such as 0%-10%,30%-40%")
    if not 0 <= begin < end <= 100:
        raise SettingError("", "times", f" {text!r}: a share lies between 0% and 100%, and its start before its end")
    return _share(begin, end, first, last)


def _share(begin: float, end: float, first: int, last: int) -> Range:
    """Follow set_percent_time (tools/perf/util/time-utils.c): the end belongs to the next share, except the last."""
    total = last - first
    start, stop = first + round(begin / 100 * total), first + round(end / 100 * total)
    return start, stop - 1 if start < stop != last else stop
