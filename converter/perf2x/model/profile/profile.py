"""`Profile`, all tables of a finished profile, and functions that find events, place waits and count threads.

With ``--off-cpu``, some rows of samples are waits, marked in ``Profile.samples.wait``. Their ``count`` is 1, and their
``value`` is the length in nanoseconds. In a timeline, a wait lasts from ``time`` to ``time + value``. Waits of one
thread never overlap, except ``UNPLACED`` ones, whose time is unknown. The other columns have the waiting thread, its
stack, and the CPU that it left (−1: unknown).
"""

import re
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
    ListArray,
    arange,
    as_int64,
    as_uint64,
    falses,
    join_tables,
    offsets_of,
    sum_of,
    trues,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.errors import OptionError
from perf2x.model.profile.check_profile import check_profile
from perf2x.model.profile.profile_tables import (
    Functions,
    Locations,
    Losses,
    Mappings,
    Meta,
    ProfileEvent,
    ProfileSamples,
    ProfileTables,
    RunningThreads,
    Stacks,
    Threads,
    ThreadSwitches,
)
from perf2x.model.recording import RECORDING_TERMS, matches_event_name

__all__ = [
    "Functions",
    "Locations",
    "Losses",
    "Mappings",
    "Meta",
    "Profile",
    "ProfileEvent",
    "ProfileSamples",
    "RunningThreads",
    "Stacks",
    "ThreadSwitches",
    "Threads",
]


class Profile(ProfileTables):
    """A finished profile."""

    def check(self) -> None:
        """Raise ValueError, which names the first invariant that is violated."""
        check_profile(self)

    def __repr__(self) -> str:
        sizes = (
            f"{name} {len(getattr(self, name)):,}" for name in ("events", "samples", "threads", "stacks", "functions")
        )
        return f"Profile(rows of {', '.join(sizes)})"


class Wait(IntEnum):
    """Values of ``Profile.samples.wait``."""

    RAN = 0
    """Not a wait: the thread was sampled on a CPU."""
    BLOCKED = 1
    """The thread slept until woken."""
    PREEMPTED = 2
    """The thread was runnable, but another one got the CPU."""
    UNKNOWN = 3
    """Either BLOCKED or PREEMPTED: the recording does not distinguish them."""
    UNPLACED = 4
    """A sum of waits, or a wait whose start is unknown. It has no place in a timeline; its ``time`` is meaningless."""


def are_placed_waits(samples: ProfileSamples) -> Bools:
    """Return (samples,) True for waits whose start and end are known."""
    if samples.wait is None or samples.time is None:
        return falses(len(samples))
    is_placed: Bools = (samples.wait != Wait.RAN) & (samples.wait != Wait.UNPLACED)
    return is_placed


def wait_ends(samples: ProfileSamples) -> U64:
    """Return (samples,) the end of each placed wait; for other rows, their ``time``; 0 in aggregated profiles."""
    return samples.times + as_uint64(np.where(are_placed_waits(samples), samples.value, 0))


def are_samples(profile: Profile) -> Bools:
    """Return (samples,) True for rows that are samples, False for readings of perf stat."""
    is_sampled_event = np.array([not event.is_count for event in profile.events], np.bool_)
    event = profile.samples.event
    return trues(len(event)) if is_sampled_event.all() else is_sampled_event[event]


def find_event(profile: Profile, name: str | None) -> int:
    """Return the row of the event that the user named; for None, the profile's default.

    Raises OptionError, which lists the events, unless exactly one matches.
    """
    if name is None:
        return profile.default_event
    found = event_rows_called(profile, name)
    if len(found) == 1:
        return found[0]
    what = "is not in this recording" if not found else "names several events"
    raise OptionError(f"event {name!r} {what}; it has {', '.join(numbered_names(profile.events)) or 'none'}")


def event_rows_called(profile: Profile, name: str) -> list[int]:
    """Return the rows in profile.events that a name matches.

    It is compared, up to the first match, with recorded names, `plain_names`, `numbered_names`, names up to the first
    colon or slash, and others that `matches_event_name` knows. Of several events, those with samples are preferred.
    """
    recorded_names = [event.name for event in profile.events]
    bases = [re.split("[:/]", recorded)[0] for recorded in recorded_names]
    spellings = recorded_names, plain_names(profile.events), numbered_names(profile.events), bases
    matches = ([row for row, spelled in enumerate(names) if spelled == name] for names in spellings)
    found = next(filter(None, matches), []) or [
        row for row, text in enumerate(recorded_names) if matches_event_name(name, text)
    ]
    return [row for row in found if row in profile.samples.event] or found if len(found) > 1 else found


def sampled_event_names(profile: Profile) -> list[str]:
    """Names of events with samples, in the order of Profile.events."""
    return [profile.events[row].name for row in unique(profile.samples.event).tolist()]


def numbered_names(events: Sequence[ProfileEvent]) -> list[str]:
    """Make a distinct name for each event: ``cpu-clock#1``, ``cpu-clock#2`` if two are called ``cpu-clock``."""
    totals, so_far = Counter(event.name for event in events), Counter[str]()
    names = []
    for event in events:
        so_far[event.name] += 1
        names.append(event.name if totals[event.name] == 1 else f"{event.name}#{so_far[event.name]}")
    return names


def plain_names(events: Sequence[ProfileEvent]) -> list[str]:
    """Remove terms that only describe recording: ``cpu-clock`` for ``cpu-clock/freq=499/``.

    Events that would share a name keep their recorded names.
    """
    short_names = [_without_terms(event.name) for event in events]
    totals = Counter(short_names)
    return [name if totals[name] == 1 else event.name for name, event in zip(short_names, events, strict=True)]


def _without_terms(name: str) -> str:
    """``cpu-clock:u`` for ``cpu-clock/freq=499/u``; a name with other terms stays."""
    parts = re.fullmatch(r"([^/]+)/([^/]*)/(\w*)", name)
    if not parts or any(term.partition("=")[0] not in RECORDING_TERMS for term in parts[2].split(",")):
        return name
    return f"{parts[1]}:{parts[3]}" if parts[3] else parts[1]


def count_threads(threads: Threads) -> int:
    """Count the threads: a renamed thread once, and each of the threads that had the same pid and tid."""
    ids, id_row = unique_inverse(as_int64(threads.pid) << 32 | as_int64(threads.tid) & 0xFFFFFFFF)
    # A renamed thread began under only one of its names, so the sum over all names of a (pid, tid) counts every thread
    # once.
    starts = zeros(len(ids))
    np.add.at(starts, id_row, 0 if threads.starts is None else threads.starts)
    return sum_of(np.maximum(starts, 1))


# Columns of Locations with an entry for each line.
_LINE_COLUMNS = ("line_function", "line_number")


def take_locations(locations: Locations, rows: I64) -> Locations:
    """Take the given rows, in the given order."""
    lines = ListArray(locations.line_offsets, arange(len(locations.line_function)))[rows]
    names = (name for name in Locations.__struct_fields__ if name != "line_offsets")
    columns = {name: getattr(locations, name)[lines.values if name in _LINE_COLUMNS else rows] for name in names}
    return Locations(**columns, line_offsets=lines.offsets)


def join_locations(parts: Sequence[Locations]) -> Locations:
    """Concatenate the locations of every part."""
    lengths = np.concatenate([np.diff(part.line_offsets) for part in parts])
    return replace(join_tables(parts), line_offsets=offsets_of(lengths))
