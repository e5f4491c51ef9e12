"""Columns of other events, and ratios of two events, by the names that users type."""

from collections.abc import Iterator, Sequence

from perf2x.base.columnar import Frozen, bincount, flatnonzero
from perf2x.errors import SettingError
from perf2x.model.profile.profile import Profile, events_called, plain_names

_RATIOS = {
    "ipc": (("instructions",), ("cycles", "cpu-cycles"), 1),
    "mpki": (("cache-misses", "LLC-load-misses"), ("instructions",), 1000),
    "mispredicts": (("branch-misses",), ("branches", "branch-instructions"), 1),
}
_SECOND = 1_000_000_000
"""Ratios to a clock are per second."""


class SelectedColumn(Frozen):
    """An event whose costs to show, or two events whose ratio to show."""

    name: str
    """As typed."""
    events: tuple[int, ...]
    """One event, or the two of a ratio."""
    factor: int = 1


def selected_columns(profile: Profile, names: Sequence[str]) -> list[SelectedColumn]:
    """Parse event names (``all``: each but the default one), ratio names and ``A/B``.

    Raises SettingError for unknown ones.
    """
    return [one for name in names for one in _wanted(profile, name)]


def offered_columns(profile: Profile) -> list[SelectedColumn]:
    """Return every event with samples, and the named ratios of two events with samples."""
    sampled = list(_sampled(profile))
    known = {row for one in sampled for row in one.events}
    found = (_called(profile, name) for name in _RATIOS)
    return [*sampled, *(each[0] for each in found if len(each) == 1 and known.issuperset(each[0].events))]


def _sampled(profile: Profile) -> Iterator[SelectedColumn]:
    known = plain_names(profile.events)
    return (SelectedColumn(known[row], (row,)) for row in flatnonzero(bincount(profile.samples.event)).tolist())


def _wanted(profile: Profile, name: str) -> list[SelectedColumn]:
    if name == "all":
        return [one for one in _sampled(profile) if one.events != (profile.default_event,)]
    found = _called(profile, name)
    if len(found) != 1:
        needs = " ({} by {})".format(*map(" or ".join, _RATIOS[name][:2])) if name in _RATIOS else ""
        what = "could be several" if found else "is not in this recording"
        listed = ", ".join(event.name for event in profile.events) or "none"
        raise SettingError("", "columns", f" {name}{needs} {what}; it has {listed}")
    return found


def _called(profile: Profile, name: str) -> list[SelectedColumn]:
    """Return all events and ratios that a name matches."""
    ways = [_RATIOS[name]] if name in _RATIOS else [
        ((name[:at],), (name[at + 1 :],), 1) for at, sign in enumerate(name) if sign == "/"  # names may have slashes
    ]  # fmt: skip
    return [SelectedColumn(name, (row,)) for row in events_called(profile, name)] or [
        SelectedColumn(name, (part, whole), _SECOND if profile.events[whole].unit == "nanoseconds" else factor)
        for parts, wholes, factor in ways
        for part in _first(profile, parts)
        for whole in _first(profile, wholes)
    ]


def _first(profile: Profile, names: Sequence[str]) -> list[int]:
    return next(filter(None, (events_called(profile, name) for name in names)), [])
