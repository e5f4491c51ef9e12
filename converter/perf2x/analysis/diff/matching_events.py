"""Pair the events of two recordings, so that the recordings can be compared."""

from collections.abc import Iterator

from msgspec.structs import replace

from perf2x.base.columnar import sum_at
from perf2x.model.profile import Profile
from perf2x.model.recording import event_name


def renamed(before: Profile, after: Profile) -> tuple[Profile, list[str]]:
    """``after`` with events named as in ``before`` where they count the same, and what there is to say about that.

    Names are compared without PMU prefix and modifiers. The most similar names are paired first: equal ones, then those
    that count in the same modes, then those of the same PMU. Among equals the event that ``before`` shows first goes
    first, then the one with most samples.
    """
    pairs, taken = dict[int, int](), set[int]()
    for _, old, new in sorted(_candidates(before, after)):
        if old not in pairs and new not in taken:
            pairs[old] = new
            taken.add(new)
    events = list(after.events)
    for old, new in pairs.items():
        events[new] = replace(events[new], name=before.events[old].name)
    notes = list(_notes(before, after, pairs)) if before.events else []
    return replace(after, events=tuple(events)), notes


def _candidates(before: Profile, after: Profile) -> Iterator[tuple[tuple[bool, bool, bool, bool, int, int], int, int]]:
    """(how unlike they are, row before, row after) of all events that may be the same."""
    olds, news = ([event_name(event.name) for event in profile.events] for profile in (before, after))
    sampled = [_samples_by_event(before), _samples_by_event(after)]
    for row, old in enumerate(olds):
        for other, new in enumerate(news):
            first, second = before.events[row], after.events[other]
            if old.counts_like(new) and first.unit == second.unit:
                unlike = (first.name != second.name, old.modes != new.modes, old.pmu != new.pmu)
                yield (*unlike, row != before.default_event, -sampled[0][row], -sampled[1][other]), row, other


def _samples_by_event(profile: Profile) -> list[int]:
    """Of each event."""
    count: list[int] = sum_at(profile.samples.event, profile.samples.count, len(profile.events)).tolist()
    return count


def _notes(before: Profile, after: Profile, pairs: dict[int, int]) -> Iterator[str]:
    """A choice among several events, and modes that differ, of the event that is compared."""
    chosen = before.default_event
    if chosen not in pairs:
        return
    old, new = before.events[chosen].name, after.events[pairs[chosen]].name
    sampled = [_samples_by_event(before), _samples_by_event(after)]
    found = [(row, other) for _, row, other in _candidates(before, after) if sampled[0][row] and sampled[1][other]]
    others = [before.events[row].name for row, other in found if other == pairs[chosen] and row != chosen]
    others += [after.events[other].name for row, other in found if row == chosen and other != pairs[chosen]]
    if old != new and others:
        yield f"compares {old} with {new}; {', '.join(others)} could be meant, too (--event NAME chooses)"
    modes = [event_name(name).modes for name in (old, new)]
    if modes[0] != modes[1]:
        yield f"compares {old} with {new}, which count in different modes; record both alike to compare their wholes"
