"""Self and total cost of every function, object or thread: the tables of ``top`` and ``diff``.

This is not an emitter, but uses the names that emitters show (shown_frames.py).
"""

from collections.abc import Sequence
from typing import get_args

import numpy as np

from perf2x.base.columnar import (
    F64,
    I64,
    Frozen,
    ListArray,
    arange,
    as_int64,
    flatnonzero,
    number_keys,
    ranges,
    repeat,
    searchsorted,
    sum_at,
    sum_of,
    sum_rows,
    unique_inverse,
    zeros,
)
from perf2x.errors import SettingError
from perf2x.model.number_format import format_amount, plural
from perf2x.model.profile import LocationFrames, Profile, costs_of_kinds, find_event, kinds_in_stacks, location_frames
from perf2x.model.totals.row_kinds import By, Value

Key = tuple[str, str]
"""Name and object of a line."""


class Line(Frozen):
    """One line of a table."""

    name: str
    object: str
    """Base name of the function's object; "" for lines that are objects or threads."""

    @property
    def key(self) -> Key:
        """Name and object, which identify the line."""
        return self.name, self.object


class Total(Line):
    """Costs of a line; values are periods or latencies in the event's unit, or samples."""

    self: int
    total: int
    self_squares: float = 0.0
    """Sum of the squared weights of the samples in ``self``, which is its variance
    (perf2x.model.totals.sampling_noise).
    """
    total_squares: float = 0.0

    def of(self, sort: str) -> tuple[int, float]:
        """Return the cost selected by ``sort`` (self or total), and its variance."""
        return (self.self, self.self_squares) if sort == "self" else (self.total, self.total_squares)


class Totals(Frozen):
    """A table of one event, unsorted."""

    event: str
    unit: str
    """``nanoseconds``, ``count`` or ``samples``."""
    samples: int
    """0 for counts of perf stat."""
    whole: int
    """The sum of the values of all samples."""
    rows: Sequence[Total]
    squares: float = 0.0
    """The sum of the squared weights of all samples."""

    def __repr__(self) -> str:
        rows = plural(len(self.rows), "row")
        return f"Totals({self.event}: {self.samples:,} samples, {format_amount(self.whole, self.unit)}, {rows})"

    def share(self, cost: int) -> float:
        """Return a cost as a share of the total, from 0 to 1."""
        return cost / self.whole if self.whole else 0.0

    def sorted_by(self, sort: str) -> list[Total]:
        """Return the rows by the cost selected by ``sort`` (self or total), highest first, then by name."""
        return sorted(self.rows, key=lambda row: (-row.of(sort)[0], -row.self, -row.total, *row.key))


def totals(profile: Profile, event: str | int | None = None, by: str = "function", value: str = "period") -> Totals:
    """Return the self and total cost of each function, object or thread.

    A stack that contains a function twice counts once in the function's total.

    ``event`` is a name as in emitters, or a row; None is the profile's default. Raises OptionError for an unknown kind
    or value.
    """
    for setting, value_of, kinds in (("by", by, get_args(By)), ("value", value, get_args(Value))):
        if value_of not in kinds:
            raise SettingError("", setting, f" {value_of}: it must be one of {', '.join(kinds)}")
    if not profile.events:
        return Totals("", "samples", 0, 0, ())
    chosen = event if isinstance(event, int) else find_event(profile, event)
    is_count = profile.events[chosen].is_count
    rows = flatnonzero((profile.samples.event == chosen) & (not is_count or value != "samples"))
    weight = weights(profile, value)[rows]
    unit = "samples" if value == "samples" else profile.events[chosen].unit
    squares = _squares(profile, rows, weight) * (not is_count)
    table = (
        _thread_costs(profile, rows, weight, squares)
        if by == "thread"
        else _frame_costs(profile, rows, weight, squares, by)
    )
    samples = 0 if is_count else sum_of(profile.samples.count[rows])
    name = "latency:" * (value == "latency") + profile.events[chosen].name
    return Totals(name, unit, samples, sum_of(weight), table, float(squares.sum(dtype=np.float64)))


def weights(profile: Profile, value: str) -> I64:
    """Return (samples,) the values to add. Raises OptionError for latencies that the profile does not have."""
    samples = profile.samples
    if value != "latency":
        return samples.count if value == "samples" else samples.value
    if samples.latency is None:
        raise SettingError("the profile has no latency; read it with ", "latency", "='beside'")
    return samples.latency


def _squares(profile: Profile, rows: I64, weight: I64) -> F64:
    """Return (rows,) sum of the squared weights of each row's samples, assumed equal within a row.

    If they are not, the true sum is larger (docs/gates.md).
    """
    return weight.astype(np.float64) ** 2 / profile.samples.count[rows]


def _thread_costs(profile: Profile, rows: I64, weight: I64, squares: F64) -> list[Total]:
    cost, noise = (sum_at(profile.samples.thread[rows], column, len(profile.threads)) for column in (weight, squares))
    sums = zip(_thread_names(profile), cost.tolist(), noise.tolist(), strict=True)
    return [Total(name, "", value, value, square, square) for name, value, square in sums if value]


def _thread_names(profile: Profile) -> list[str]:
    columns = (profile.threads.comm.tolist(), profile.threads.pid.tolist(), profile.threads.tid.tolist())
    return [f"{profile.strings[comm]} {pid}/{tid}" for comm, pid, tid in zip(*columns, strict=True)]


def _frame_costs(profile: Profile, rows: I64, weight: I64, squares: F64, by: str) -> list[Total]:
    names, lines = _lines_of_locations(profile, by)
    leaves, place = unique_inverse(profile.samples.stack[rows])
    kept = leaves >= 0
    which = as_int64(leaves[kept])
    columns = [sum_at(place, column, len(leaves))[kept] for column in (weight, squares)]
    (own, total), noise = costs_of_kinds(profile, which, lines, len(names), columns)
    used = flatnonzero(total)
    sums = zip(*(column[used].tolist() for column in (own, total, *noise)), strict=True)
    return [Total(*names[row], *each) for row, each in zip(used.tolist(), sums, strict=True)]


class GroupCosts(Frozen):
    """Costs of lines in groups of samples."""

    names: Sequence[tuple[str, str]]
    """Name and object of each line, as in Total."""
    wholes: I64
    """(groups,)"""
    own: tuple[I64, I64]
    """``line · groups + group`` and the self cost, for each line and group that has any."""
    total: tuple[I64, I64]


def group_costs(profile: Profile, group: I64, groups: int, event: str | None, by: str, value: str) -> GroupCosts:
    """Return ``totals`` for each group of samples; ``group`` (samples,) are numbers below ``groups``."""
    rows = flatnonzero(profile.samples.event == find_event(profile, event))
    weight, group = weights(profile, value)[rows], group[rows]
    wholes = sum_at(group, weight, groups)
    if by == "thread":
        held = profile.samples.thread[rows] * np.int64(groups) + group
        costs = _sums([held], [weight])
        return GroupCosts([(name, "") for name in _thread_names(profile)], wholes, costs, costs)
    names, lines_of = _lines_of_locations(profile, by)
    deep = flatnonzero(profile.samples.stack[rows] >= 0)
    leaves, place = unique_inverse(profile.samples.stack[rows[deep]])
    key, cost = _sums([place * groups + group[deep]], [weight[deep]])
    number, apart = np.divmod(key, groups)
    begins = searchsorted(number, arange(len(leaves) + 1))
    none = zeros(0)
    keys, costs_of = ([[none], [none]] for _ in range(2))
    for span, leaf, stack, line in kinds_in_stacks(profile, as_int64(leaves), lines_of, len(names)):
        first, count = begins[:-1][span], np.diff(begins)[span]
        for kind, (stacks, lines) in enumerate(((arange(len(leaf)), leaf), (stack, line))):
            pairs = ranges(first[stacks], count[stacks])
            found = _sums([repeat(lines, count[stacks]) * groups + apart[pairs]], [cost[pairs]])
            keys[kind].append(found[0])
            costs_of[kind].append(found[1])
    return GroupCosts(names, wholes, _sums(keys[0], costs_of[0]), _sums(keys[1], costs_of[1]))


def _sums(keys: Sequence[I64], values: Sequence[I64]) -> tuple[I64, I64]:
    """Return distinct keys, ascending, and the sum of the values of each."""
    (distinct,), (sums,) = sum_rows([np.concatenate(keys)], [np.concatenate(values)])
    return distinct, sums


def _lines_of_locations(profile: Profile, by: str) -> tuple[list[tuple[str, str]], ListArray]:
    """Return (name, object) of every line, and the lines of each location, outermost first."""
    frames = location_frames(profile)
    names, line = lines_of_frames(frames, by)
    return names, ListArray(frames.of_location.offsets, line[frames.of_location.values])


def lines_of_frames(frames: LocationFrames, by: str) -> tuple[list[tuple[str, str]], I64]:
    """Return (name, object) of every line, and the line of each frame."""
    pairs = zip(frames.name, frames.object, strict=True)
    keys = ((name, thing) if by in ("function", "data-object") else (thing or "[unknown]", "") for name, thing in pairs)
    return number_keys(keys)
