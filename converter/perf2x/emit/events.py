"""Which of a recording's events an output shows."""

from perf2x.model.errors import OptionError
from perf2x.model.profile import Profile


def event_index(profile: Profile, name: str | None) -> int:
    """Row in profile.events of the event the user named, the profile's default for None.

    A name without modifiers (``cycles``) finds ``cycles:P`` when it is the only such event. OptionError lists what
    there is.
    """
    names = [event.name for event in profile.events]
    if name is None:
        return profile.default_event
    found = [row for row, known in enumerate(names) if known == name]
    found = found or [row for row, known in enumerate(names) if known.split(":")[0] == name]
    if len(found) == 1:
        return found[0]
    what = "is not in this recording" if not found else "names several events"
    raise OptionError(f"event {name!r} {what}; it has {', '.join(names) or 'none'}")
