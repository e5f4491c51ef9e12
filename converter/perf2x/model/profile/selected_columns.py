"""Finds events and ratios that users name as additional columns of a table: ``page-faults``, ``ipc``, ``a/b``."""

from collections.abc import Iterator, Sequence

from perf2x.base.columnar import Frozen, bincount, flatnonzero
from perf2x.errors import SettingError
from perf2x.model.profile.profile import Profile, event_rows_called, plain_names

# Possible names of the dividend and of the divisor, and a factor.
_RATIOS = {
    "ipc": (("instructions",), ("cycles", "cpu-cycles"), 1),
    "mpki": (("cache-misses", "LLC-load-misses"), ("instructions",), 1000),
    "mispredicts": (("branch-misses",), ("branches", "branch-instructions"), 1),
}
# Factor for divisors in nanoseconds: counts per second.
_SECOND = 1_000_000_000


class SelectedColumn(Frozen):
    """An event, or a ratio of two events, whose costs are shown."""

    name: str
    """The name that the user typed, or the event's."""
    events: tuple[int, ...]
    """The event's row in Profile.events, or the rows of the ratio's dividend and divisor."""
    factor: int = 1
    """A factor by which the quotient is multiplied."""


def selected_columns(profile: Profile, names: Sequence[str]) -> list[SelectedColumn]:
    """Find the columns for the names that a user typed: an event, a named ratio, ``A/B``, or ``all``.

    ``all`` stands for each event with samples but the default one. Raises SettingError for a name that matches nothing,
    or more than one event or ratio.
    """
    return [column for name in names for column in _columns_named(profile, name)]


def offered_columns(profile: Profile) -> list[SelectedColumn]:
    """Return all events with samples, and the unambiguous named ratios of two of them."""
    event_columns = list(_event_columns(profile))
    rows = {row for column in event_columns for row in column.events}
    ratios = (_matches(profile, name) for name in _RATIOS)
    return [*event_columns, *(found[0] for found in ratios if len(found) == 1 and rows.issuperset(found[0].events))]


def _event_columns(profile: Profile) -> Iterator[SelectedColumn]:
    names = plain_names(profile.events)
    return (SelectedColumn(names[row], (row,)) for row in flatnonzero(bincount(profile.samples.event)).tolist())


def _columns_named(profile: Profile, name: str) -> list[SelectedColumn]:
    if name == "all":
        return [column for column in _event_columns(profile) if column.events != (profile.default_event,)]
    found = _matches(profile, name)
    if len(found) != 1:
        if found:
            problem = "matches several events"
        elif name in _RATIOS:
            problem = "needs {}, and {}".format(*map(" or ".join, _RATIOS[name][:2]))
        else:
            problem = "is not in this recording"
        event_list = ", ".join(event.name for event in profile.events) or "no events"
        raise SettingError("", "columns", f" {name} {problem}; the recording has {event_list}")
    return found


def _matches(profile: Profile, name: str) -> list[SelectedColumn]:
    """The events that a name matches; if there are none, the ratios. Any slash in the name may be the division sign."""
    ratios = [_RATIOS[name]] if name in _RATIOS else [
        ((name[:index],), (name[index + 1 :],), 1) for index, character in enumerate(name) if character == "/"
    ]  # fmt: skip
    return [SelectedColumn(name, (row,)) for row in event_rows_called(profile, name)] or [
        SelectedColumn(name, (dividend, divisor), _SECOND if profile.events[divisor].unit == "nanoseconds" else factor)
        for dividends, divisors, factor in ratios
        for dividend in _rows_of_first_match(profile, dividends)
        for divisor in _rows_of_first_match(profile, divisors)
    ]


def _rows_of_first_match(profile: Profile, names: Sequence[str]) -> list[int]:
    return next(filter(None, (event_rows_called(profile, name) for name in names)), [])
