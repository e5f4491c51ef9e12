"""What every function, object or thread costs, itself and with all that it calls: the tables of ``top`` and ``diff``.

Beside the pipeline because it needs the names that emitters show (emit/frames.py), and is no output format.
"""

from collections.abc import Sequence

import numpy as np

from perf2x.classes import dataclass
from perf2x.emit.events import event_index
from perf2x.emit.frames import Frames, frames_of
from perf2x.model.arrays import I64
from perf2x.model.errors import OptionError
from perf2x.model.ordering import unique
from perf2x.model.profile import Profile
from perf2x.model.ragged import Ragged, row_numbers
from perf2x.model.stacks import location_rows

KINDS = ("function", "object", "thread")
_LEAVES_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class Total:
    """One line of a table; values are periods in the event's unit, or samples."""

    name: str
    object: str
    """Base name of the object that a function lies in; "" for lines that are objects or threads."""
    own: int
    total: int


@dataclass(frozen=True, slots=True)
class Totals:
    """A table of one event, unsorted."""

    event: str
    unit: str
    """``nanoseconds``, ``count`` or ``samples``."""
    samples: int
    whole: int
    """The sum of all samples."""
    rows: Sequence[Total]


def totals(profile: Profile, event: str | None = None, by: str = "function", value: str = "period") -> Totals:
    """What each function (object, thread) costs; one that stands twice in a stack counts once in its total.

    ``event`` as in emitters: None is the profile's default. OptionError for a kind or value that there is not.
    """
    if by not in KINDS:
        raise OptionError(f"--by {by}: it is one of {', '.join(KINDS)}")
    if value not in ("period", "samples"):
        raise OptionError(f"--value {value}: it is period or samples")
    if not profile.events:
        return Totals("", "samples", 0, 0, ())
    chosen = event_index(profile, event)
    rows = np.flatnonzero(profile.samples.event == chosen)
    weight = (profile.samples.count if value == "samples" else profile.samples.value)[rows]
    unit = "samples" if value == "samples" else profile.events[chosen].unit
    table = _threads(profile, rows, weight) if by == "thread" else _frames(profile, rows, weight, by)
    samples = int(profile.samples.count[rows].sum())
    return Totals(profile.events[chosen].name, unit, samples, int(weight.sum()), table)


def _threads(profile: Profile, rows: I64, weight: I64) -> list[Total]:
    threads = profile.threads
    cost = np.zeros(len(threads), np.int64)
    np.add.at(cost, profile.samples.thread[rows], weight)
    return [
        Total(f"{profile.strings[threads.comm[row]]} {threads.pid[row]}/{threads.tid[row]}", "", value, value)
        for row, value in enumerate(cost.tolist())
        if value
    ]


def _frames(profile: Profile, rows: I64, weight: I64, by: str) -> list[Total]:
    frames = frames_of(profile)
    names, kind_of_frame = _kinds(frames, by)
    leaves, place = np.unique(profile.samples.stack[rows], return_inverse=True)
    cost = np.zeros(len(leaves), np.int64)
    np.add.at(cost, place.reshape(-1), weight)
    held = leaves >= 0
    which, cost = leaves[held].astype(np.int64), cost[held]
    own, total = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    for start in range(0, len(which), _LEAVES_AT_ONCE):
        span = slice(start, start + _LEAVES_AT_ONCE)
        kinds = _kinds_of_stacks(location_rows(profile, which[span]), frames.of_location, kind_of_frame)
        np.add.at(own, kinds.values[kinds.offsets[1:] - 1], cost[span])
        pairs = unique(row_numbers(kinds.lengths) * len(names) + kinds.values)
        np.add.at(total, pairs % len(names), cost[span][pairs // len(names)])
    used = np.flatnonzero(total).tolist()
    return [Total(*names[row], int(own[row]), int(total[row])) for row in used]


def _kinds(frames: Frames, by: str) -> tuple[list[tuple[str, str]], I64]:
    """(name, object) of every line, and the line of each frame."""
    known: dict[tuple[str, str], int] = {}
    pairs = zip(frames.name, frames.object, strict=True)
    keys = ((name, thing) if by == "function" else (thing or "[unknown]", "") for name, thing in pairs)
    line = np.fromiter((known.setdefault(key, len(known)) for key in keys), np.int64, len(frames))
    return list(known), line


def _kinds_of_stacks(stacks: Ragged, frames_of_location: Ragged, kind_of_frame: I64) -> Ragged:
    """Rows of locations, outermost first, to rows of lines of the table."""
    frames = frames_of_location.take(stacks.values)
    return Ragged(frames.offsets[stacks.offsets], kind_of_frame[frames.values])
