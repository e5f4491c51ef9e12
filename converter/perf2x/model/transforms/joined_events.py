"""Merges events that perf opened once per kind of CPU core, or once per control group.

perf opens ``cycles`` once for each kind of core (``cpu_core/cycles/P``, ``cpu_atom/cycles/P``), and an event once for
each control group (``-G a,b``, ``--for-each-cgroup``) under one name: each part has only some of the samples. Other
events of the same name count the same thing several times: by default, only the one with the largest sum is shown.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import bincount, flatnonzero, sum_of
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.filters.profile_filters import names_event
from perf2x.model.profile import Profile, ProfileEvent, numbered_names, sum_samples
from perf2x.model.recording import event_name

_CGROUP_OPTION = re.compile(r"-[abdginqsvBNPRTW]*G|--(for-each-)?cgroup(=|$)")
"""The short option may follow flags in one word, and its value may follow it directly: ``-agGa,b``."""


def has_cgroups(command_line: Sequence[str]) -> bool:
    """Return whether perf record was given control groups."""
    own = takewhile(lambda word: word != "--", command_line)
    return any(_CGROUP_OPTION.match(word) for word in own)


def with_joined_events(
    profile: Profile, selected: Sequence[str], diagnostics: Diagnostics, *, by_cgroup: bool
) -> Profile:
    """Return the profile with the samples of all parts in the first part; the others stay, without samples.

    ``selected`` are the event names that the user typed: parts that one of these distinguishes stay separate.
    """
    names = numbered_names(profile.events)
    for rows in _alike(profile):
        events = [profile.events[row] for row in rows]
        kept_apart = selected and not any(all(names_event(text, names[row]) for row in rows) for text in selected)
        is_whole = by_cgroup or len({event_name(event.name).pmu for event in events}) == len(events)
        if is_whole and not kept_apart:
            profile = _joined(profile, rows)
            listed = ", ".join(names[row] for row in rows)
            words = f"{listed} count the same and are shown as one (select with --event)"
            diagnostics.add("events_joined", words, len(rows))
        elif profile.default_event in rows and not kept_apart:
            sums = [sum_of(profile.samples.value[profile.samples.event == row]) for row in rows]
            profile = replace(profile, default_event=rows[sums.index(max(sums))])
    return profile


def _alike(profile: Profile) -> Iterator[list[int]]:
    """Yield rows of sampled events that count the same, by kind of core or under one name."""
    groups: dict[object, list[int]] = {}
    for row in flatnonzero(bincount(profile.samples.event, len(profile.events))).tolist():
        event = profile.events[row]
        parsed = event_name(event.name)
        if event.is_wait or event.is_count:
            continue
        key = (parsed.canonical, parsed.modes) if parsed.is_core_pmu else event.name
        groups.setdefault((key, event.unit), []).append(row)
    return (rows for rows in groups.values() if len(rows) > 1)


def _joined(profile: Profile, rows: list[int]) -> Profile:
    first, events = rows[0], list(profile.events)
    number = np.arange(len(events), dtype=np.int32)
    number[rows] = first
    events[first] = _one(events[first], [events[row] for row in rows])
    moved = [replace(event, leader=int(number[event.leader]) if event.leader >= 0 else -1) for event in events]
    samples = replace(profile.samples, event=number[profile.samples.event])
    shown = int(number[profile.default_event])
    return sum_samples(replace(profile, events=tuple(moved), samples=samples, default_event=shown))


def _one(first: ProfileEvent, events: list[ProfileEvent]) -> ProfileEvent:
    """Return the merged event, with the values on which all agree."""
    name, parsed = first.name, event_name(first.name)
    if any(event.name != name for event in events):
        name = parsed.event + (f":{''.join(sorted(parsed.modes))}" if parsed.modes else "")
    same = all((event.period, event.frequency) == (first.period, first.frequency) for event in events)
    return replace(first, name=name, period=first.period * same, frequency=first.frequency * same)
