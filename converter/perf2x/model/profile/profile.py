"""A finished profile, from the stitcher to symbolizer and emitters; its tables are importable from here, too.

With ``--off-cpu`` some rows of samples are waits, marked in ``Profile.samples.wait``: ``count`` is 1 and ``value`` the
length in nanoseconds; in a timeline ``time`` is the moment at which the thread left the CPU, so that a wait lasts from
``time`` to ``time + value``. Waits of one thread never overlap, except ``UNPLACED`` ones, which have no place in time.
Its thread, stack and CPU (the one that it left, −1: unknown) are in the other columns.
"""

import re
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from perf2x.base.columnar import U64, Bools, as_int64, as_uint64, falses, sum_of, trues, unique, unique_inverse, zeros
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


class Profile(ProfileTables, frozen=True):
    """A finished profile: its tables, and the laws that hold between them."""

    def check(self) -> None:
        """Check every invariant; ValueError names the first that does not hold."""
        check_profile(self)

    def __repr__(self) -> str:
        sizes = (
            f"{name} {len(getattr(self, name)):,}" for name in ("events", "samples", "threads", "stacks", "functions")
        )
        return f"Profile(rows of {', '.join(sizes)})"


class Wait(IntEnum):
    """Values of ``Profile.samples.wait``."""

    RAN = 0
    """No wait: the thread was sampled on a CPU."""
    BLOCKED = 1
    """It slept until something happened."""
    PREEMPTED = 2
    """It could have run; the CPU was given to another thread."""
    UNTOLD = 3
    """The recording does not tell which of the two."""
    UNPLACED = 4
    """A sum of waits, or a wait whose beginning is unknown: nothing to draw a slice of. ``time`` means nothing."""


def placed_waits(samples: ProfileSamples) -> Bools:
    """(samples,) where a row is a wait with a beginning and an end, and so a slice of a timeline."""
    if samples.wait is None or samples.time is None:
        return falses(len(samples))
    placed: Bools = (samples.wait != Wait.RAN) & (samples.wait != Wait.UNPLACED)
    return placed


def wait_ends(samples: ProfileSamples) -> U64:
    """(samples,) the moment a wait ends; of rows that are no placed waits, and of aggregated profiles, their time."""
    return samples.times + as_uint64(np.where(placed_waits(samples), samples.value, 0))


def sampled(profile: Profile) -> Bools:
    """(samples,) where a row is a sample, not what perf stat read."""
    are_samples = np.array([not event.is_count for event in profile.events], np.bool_)
    event = profile.samples.event
    return trues(len(event)) if are_samples.all() else are_samples[event]


def find_event(profile: Profile, name: str | None) -> int:
    """Row in profile.events of the event the user named, the profile's default for None.

    A name without modifiers or terms (``cycles``) finds ``cycles:P`` and ``cycles/freq=99/`` when it is the only such
    event. OptionError lists what there is.
    """
    if name is None:
        return profile.default_event
    found = events_called(profile, name)
    if len(found) == 1:
        return found[0]
    what = "is not in this recording" if not found else "names several events"
    raise OptionError(f"event {name!r} {what}; it has {', '.join(numbered_names(profile.events)) or 'none'}")


def events_called(profile: Profile, name: str) -> list[int]:
    """Rows in profile.events that a name may mean: as recorded, else without what may be left out."""
    names = [event.name for event in profile.events]
    bases = [re.split("[:/]", known)[0] for known in names]
    ways = names, plain_names(profile.events), numbered_names(profile.events), bases
    alike = ([row for row, known in enumerate(way) if known == name] for way in ways)
    found = next(filter(None, alike), []) or [row for row, known in enumerate(names) if means(name, known)]
    return [row for row in found if row in profile.samples.event] or found if len(found) > 1 else found


def sampled_events(profile: Profile) -> list[str]:
    """Names of the events that have samples, in the order of events."""
    return [profile.events[row].name for row in unique(profile.samples.event).tolist()]


def numbered_names(events: Sequence[ProfileEvent]) -> list[str]:
    """Names by which each event can be chosen: of several ``cpu-clock``, ``cpu-clock#1`` and ``cpu-clock#2``."""
    times, seen = Counter(event.name for event in events), Counter[str]()
    names = []
    for event in events:
        seen[event.name] += 1
        names.append(event.name if times[event.name] == 1 else f"{event.name}#{seen[event.name]}")
    return names


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


def count_threads(threads: Threads) -> int:
    """Number of distinct (pid, tid), and of starts where ids were used again; a thread that was renamed is one."""
    ids, row = unique_inverse(as_int64(threads.pid) << 32 | as_int64(threads.tid) & 0xFFFFFFFF)
    starts = zeros(len(ids))
    np.add.at(starts, row, 0 if threads.starts is None else threads.starts)
    return sum_of(np.maximum(starts, 1))
