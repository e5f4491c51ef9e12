"""Joins events that perf opened once for each kind of CPU core, or once for each control group.

perf opens ``cycles`` once for each kind of core (``cpu_core/cycles/P``, ``cpu_atom/cycles/P``), and an event once for
each control group (``-G a,b``, ``--for-each-cgroup``) under one name. Other events of the same name count the same
thing several times, so they are not joined. If the default event is one of them, the one with the largest sum becomes
the default.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import bincount, flatnonzero, sum_of
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.filters.profile_filters import matches_event_pattern
from perf2x.model.profile import Profile, ProfileEvent, numbered_names, sum_samples
from perf2x.model.recording import parse_event_name

# -G and --cgroup; ``-agGa,b`` has flags before G, and its value after it.
_CGROUP_OPTION = re.compile(r"-[abdginqsvBNPRTW]*G|--(for-each-)?cgroup(=|$)")


def has_cgroups(command_line: Sequence[str]) -> bool:
    """Return whether perf record was asked for events of control groups."""
    options = takewhile(lambda word: word != "--", command_line)  # without the recorded command
    return any(_CGROUP_OPTION.match(word) for word in options)


def with_joined_events(
    profile: Profile, selected: Sequence[str], diagnostics: Diagnostics, *, by_cgroup: bool
) -> Profile:
    """Join events that are parts of one: the first part gets all samples, the others stay in the table without samples.

    If the user ``selected`` events, parts are joined only if one typed name matches all of them. ``by_cgroup``: events
    of the same name belong to different control groups.
    """
    names = numbered_names(profile.events)
    for rows in _same_events(profile):
        events = [profile.events[row] for row in rows]
        user_separates = selected and not any(
            all(matches_event_pattern(text, names[row]) for row in rows) for text in selected
        )
        are_parts = by_cgroup or len({parse_event_name(event.name).pmu for event in events}) == len(events)
        if are_parts and not user_separates:
            profile = _joined(profile, rows)
            name_list = ", ".join(names[row] for row in rows)
            advice = f"{name_list} count the same and are shown as one (select with --event)"
            diagnostics.add("events_joined", advice, len(rows))
        elif profile.default_event in rows and not user_separates:
            sums = [sum_of(profile.samples.value[profile.samples.event == row]) for row in rows]
            profile = replace(profile, default_event=rows[sums.index(max(sums))])
    return profile


def _same_events(profile: Profile) -> Iterator[list[int]]:
    groups: dict[object, list[int]] = {}
    for row in flatnonzero(bincount(profile.samples.event, len(profile.events))).tolist():
        event = profile.events[row]
        parsed = parse_event_name(event.name)
        if event.is_wait or event.is_count:
            continue
        key = (parsed.canonical, parsed.modes) if parsed.is_core_pmu else event.name
        groups.setdefault((key, event.unit), []).append(row)
    return (rows for rows in groups.values() if len(rows) > 1)


def _joined(profile: Profile, rows: list[int]) -> Profile:
    first, events = rows[0], list(profile.events)
    new_row = np.arange(len(events), dtype=np.int32)
    new_row[rows] = first
    events[first] = _joined_event(events[first], [events[row] for row in rows])
    renumbered = [replace(event, leader=int(new_row[event.leader]) if event.leader >= 0 else -1) for event in events]
    samples = replace(profile.samples, event=new_row[profile.samples.event])
    default_event = int(new_row[profile.default_event])
    return sum_samples(replace(profile, events=tuple(renumbered), samples=samples, default_event=default_event))


def _joined_event(first: ProfileEvent, parts: list[ProfileEvent]) -> ProfileEvent:
    """Drop what the parts do not share."""
    name, parsed = first.name, parse_event_name(first.name)
    if any(part.name != name for part in parts):
        name = parsed.event + (f":{''.join(sorted(parsed.modes))}" if parsed.modes else "")
    is_same = all((part.period, part.frequency) == (first.period, first.frequency) for part in parts)
    return replace(first, name=name, period=first.period * is_same, frequency=first.frequency * is_same)
