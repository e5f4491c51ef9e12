"""Look events up by the names that users write; shorten names for places without room."""

import re
from collections import Counter
from collections.abc import Sequence

from perf2x.base.columnar.unique import unique
from perf2x.base.errors import OptionError
from perf2x.model.profile.profile import Profile, ProfileEvent
from perf2x.model.recording.event_names import RECORDING_TERMS, is_tracepoint


def find_event(profile: Profile, name: str | None) -> int:
    """Row in profile.events of the event the user named, the profile's default for None.

    A name without modifiers or terms (``cycles``) finds ``cycles:P`` and ``cycles/freq=99/`` when it is the only such
    event. OptionError lists what there is.
    """
    names = [event.name for event in profile.events]
    if name is None:
        return profile.default_event
    found = [row for row, known in enumerate(names) if known == name]
    found = found or [row for row, known in enumerate(plain_names(profile.events)) if known == name]
    found = found or [row for row, known in enumerate(names) if re.split("[:/]", known)[0] == name]
    if len(found) == 1:
        return found[0]
    what = "is not in this recording" if not found else "names several events"
    raise OptionError(f"event {name!r} {what}; it has {', '.join(names) or 'none'}")


def shown_event(profile: Profile) -> int:
    """Return the event that viewers show first, whose period the file states: the default one.

    Waits have no period; beside other events they are one event more, and the first of the others stays in front. Times
    between tracepoints were asked for instead of what else there is.
    """
    chosen = profile.default_event
    if not profile.events or not profile.events[chosen].is_wait or is_tracepoint(profile.events[chosen].name):
        return chosen
    others = [row for row in unique(profile.samples.event).tolist() if not profile.events[row].is_wait]
    return others[0] if others else chosen


def plain_names(events: Sequence[ProfileEvent]) -> list[str]:
    """Names without the terms that only say how was recorded: ``cpu-clock`` for ``cpu-clock/freq=499/``.

    Slashes would make ``cpu-clock/freq=499//nanoseconds`` of pprof's sample types. Where two events would get one name,
    both keep the long one.
    """
    short = [_without_terms(event.name) for event in events]
    times = Counter(short)
    return [name if times[name] == 1 else event.name for name, event in zip(short, events, strict=True)]


def _without_terms(name: str) -> str:
    parts = re.fullmatch(r"([^/]+)/([^/]*)/(\w*)", name)
    if not parts or any(term.partition("=")[0] not in RECORDING_TERMS for term in parts[2].split(",")):
        return name
    return f"{parts[1]}:{parts[3]}" if parts[3] else parts[1]
