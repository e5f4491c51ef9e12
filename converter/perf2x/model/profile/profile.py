"""A finished profile, from the stitcher to the symbolizer and the emitters; exports its tables, too.

With ``--off-cpu`` some rows of samples are waits, marked in ``Profile.samples.wait``: ``count`` is 1 and ``value`` the
length in nanoseconds; in a timeline ``time`` is when the thread left the CPU, so that a wait lasts from ``time`` to
``time + value``. Waits of one thread never overlap, except ``UNPLACED`` ones, whose time is unknown. The other columns
have the waiting thread, its stack and the CPU that it left (−1: unknown).
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
from perf2x.model.recording import RECORDING_TERMS, means

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
    """A finished profile: its tables and their invariants."""

    def check(self) -> None:
        """Check every invariant. Raises ValueError naming the first one violated."""
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
    """A sum of waits, or a wait whose start is unknown: it cannot be drawn, and ``time`` is meaningless."""


def placed_waits(samples: ProfileSamples) -> Bools:
    """Return (samples,) True for waits with a start and an end, which are slices of a timeline."""
    if samples.wait is None or samples.time is None:
        return falses(len(samples))
    placed: Bools = (samples.wait != Wait.RAN) & (samples.wait != Wait.UNPLACED)
    return placed


def wait_ends(samples: ProfileSamples) -> U64:
    """Return (samples,) the end of each placed wait; for other rows, and in aggregated profiles, the time column."""
    return samples.times + as_uint64(np.where(placed_waits(samples), samples.value, 0))


def sampled(profile: Profile) -> Bools:
    """Return (samples,) True for samples, False for readings of perf stat."""
    are_samples = np.array([not event.is_count for event in profile.events], np.bool_)
    event = profile.samples.event
    return trues(len(event)) if are_samples.all() else are_samples[event]


def find_event(profile: Profile, name: str | None) -> int:
    """Return the row in profile.events of the event that the user named; for None, the profile's default.

    A name without modifiers or terms (``cycles``) finds ``cycles:P`` and ``cycles/freq=99/`` if only one such event
    exists. Raises OptionError with a list of the events.
    """
    if name is None:
        return profile.default_event
    found = events_called(profile, name)
    if len(found) == 1:
        return found[0]
    what = "is not in this recording" if not found else "names several events"
    raise OptionError(f"event {name!r} {what}; it has {', '.join(numbered_names(profile.events)) or 'none'}")


def events_called(profile: Profile, name: str) -> list[int]:
    """Return the rows in profile.events that a name matches: as recorded, or else without optional parts."""
    names = [event.name for event in profile.events]
    bases = [re.split("[:/]", known)[0] for known in names]
    ways = names, plain_names(profile.events), numbered_names(profile.events), bases
    alike = ([row for row, known in enumerate(way) if known == name] for way in ways)
    found = next(filter(None, alike), []) or [row for row, known in enumerate(names) if means(name, known)]
    return [row for row in found if row in profile.samples.event] or found if len(found) > 1 else found


def sampled_events(profile: Profile) -> list[str]:
    """Return the names of events with samples, in the order of events."""
    return [profile.events[row].name for row in unique(profile.samples.event).tolist()]


def numbered_names(events: Sequence[ProfileEvent]) -> list[str]:
    """Return a distinct name for each event: for several ``cpu-clock``, ``cpu-clock#1`` and ``cpu-clock#2``."""
    times, seen = Counter(event.name for event in events), Counter[str]()
    names = []
    for event in events:
        seen[event.name] += 1
        names.append(event.name if times[event.name] == 1 else f"{event.name}#{seen[event.name]}")
    return names


def plain_names(events: Sequence[ProfileEvent]) -> list[str]:
    """Return names without the terms that only describe recording: ``cpu-clock`` for ``cpu-clock/freq=499/``.

    Slashes would lead to ``cpu-clock/freq=499//nanoseconds`` in pprof's sample types. Where two events would get one
    name, both keep the long one.
    """
    short = [_without_terms(event.name) for event in events]
    times = Counter(short)
    return [name if times[name] == 1 else event.name for name, event in zip(short, events, strict=True)]


def _without_terms(name: str) -> str:
    parts = re.fullmatch(r"([^/]+)/([^/]*)/(\w*)", name)
    if not parts or any(term.partition("=")[0] not in RECORDING_TERMS for term in parts[2].split(",")):
        return name
    return f"{parts[1]}:{parts[3]}" if parts[3] else parts[1]


def count_threads(threads: Threads) -> int:
    """Return the number of threads: a renamed one counts once, ids that were reused count once for each thread."""
    ids, row = unique_inverse(as_int64(threads.pid) << 32 | as_int64(threads.tid) & 0xFFFFFFFF)
    starts = zeros(len(ids))
    np.add.at(starts, row, 0 if threads.starts is None else threads.starts)
    return sum_of(np.maximum(starts, 1))


_OF_LINES = ("line_function", "line_number")


def take_locations(locations: Locations, rows: I64) -> Locations:
    """Return these locations, in this order."""
    lines = ListArray(locations.line_offsets, arange(len(locations.line_function)))[rows]
    names = (name for name in Locations.__struct_fields__ if name != "line_offsets")
    columns = {name: getattr(locations, name)[lines.values if name in _OF_LINES else rows] for name in names}
    return Locations(**columns, line_offsets=lines.offsets)


def join_locations(parts: Sequence[Locations]) -> Locations:
    """Concatenate the locations of every part."""
    lengths = np.concatenate([np.diff(part.line_offsets) for part in parts])
    return replace(join_tables(parts), line_offsets=offsets_of(lengths))
