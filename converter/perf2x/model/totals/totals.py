"""Self and total cost of every function, object or thread: the tables of ``top`` and ``diff``.

Functions and objects have the names that emitters show (shown_frames.py).
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


class Row(Frozen):
    """One row of a table: a function, an object or a thread."""

    name: str
    object: str
    """Base name of the function's object; "" for rows that are objects or threads."""

    @property
    def key(self) -> Key:
        """Name and object, which identify the row."""
        return self.name, self.object


class Total(Row):
    """A row with its costs, in the event's unit or in samples."""

    self: int
    """Cost of the samples whose innermost frame belongs to the row; for a thread, of all its samples."""
    total: int
    """Cost of the samples with any frame that belongs to the row; for a thread, of all its samples."""
    self_squares: float = 0.0
    """Sum of the squared weights of the samples in ``self``, which is its variance (sampling_noise.py)."""
    total_squares: float = 0.0

    def of(self, kind: str) -> tuple[int, float]:
        """Return the ``self`` or ``total`` cost, and its variance."""
        return (self.self, self.self_squares) if kind == "self" else (self.total, self.total_squares)


class Totals(Frozen):
    """A table of costs in one event; the rows are not sorted."""

    event: str
    unit: str
    """``nanoseconds``, ``count`` or ``samples``."""
    samples: int
    """Number of samples; 0 for counts of perf stat."""
    cost: int
    """Cost of all samples."""
    rows: Sequence[Total]
    squares: float = 0.0
    """Sum of the squared weights of all samples; 0 for counts of perf stat, which are exact."""

    def __repr__(self) -> str:
        rows = plural(len(self.rows), "row")
        return f"Totals({self.event}: {self.samples:,} samples, {format_amount(self.cost, self.unit)}, {rows})"

    def share(self, cost: int) -> float:
        """A cost as a share of the cost of all samples, from 0 to 1."""
        return cost / self.cost if self.cost else 0.0

    def sorted_by(self, kind: str) -> list[Total]:
        """Sort the rows by ``self`` or ``total`` cost, highest first, then by name."""
        return sorted(self.rows, key=lambda row: (-row.of(kind)[0], -row.self, -row.total, *row.key))


def totals(profile: Profile, event: str | int | None = None, by: str = "function", value: str = "period") -> Totals:
    """Sum the self and total cost of each function, object or thread; ``by`` and ``value``: see row_kinds.py.

    A stack that contains a function twice counts once in its total. ``event`` is a typed name or a row of
    profile.events. Raises OptionError for an unknown ``by``, ``value`` or ``event``.
    """
    for setting, choice, choices in (("by", by, get_args(By)), ("value", value, get_args(Value))):
        if choice not in choices:
            raise SettingError("", setting, f" {choice}: it must be one of {', '.join(choices)}")
    if not profile.events:
        return Totals("", "samples", 0, 0, ())
    event_row = event if isinstance(event, int) else find_event(profile, event)
    is_count = profile.events[event_row].is_count
    # readings of perf stat have values, but no samples
    rows = flatnonzero((profile.samples.event == event_row) & (not is_count or value != "samples"))
    weight = weights(profile, value)[rows]
    unit = "samples" if value == "samples" else profile.events[event_row].unit
    squares = _squares(profile, rows, weight) * (not is_count)
    table = (
        _thread_costs(profile, rows, weight, squares)
        if by == "thread"
        else _frame_costs(profile, rows, weight, squares, by)
    )
    samples = 0 if is_count else sum_of(profile.samples.count[rows])
    name = "latency:" * (value == "latency") + profile.events[event_row].name
    return Totals(name, unit, samples, sum_of(weight), table, float(squares.sum(dtype=np.float64)))


def weights(profile: Profile, value: str) -> I64:
    """Return (samples,) the column to sum: latencies, numbers of samples, or for any other ``value`` the values.

    Raises OptionError for latencies if the profile has none.
    """
    samples = profile.samples
    if value != "latency":
        return samples.count if value == "samples" else samples.value
    if samples.latency is None:
        raise SettingError("the profile has no latency; read it with ", "latency", "='beside'")
    return samples.latency


def _squares(profile: Profile, rows: I64, weight: I64) -> F64:
    """(rows,) sums of squared weights. If a row's weights differ, the true sum is larger (docs/gates.md)."""
    return weight.astype(np.float64) ** 2 / profile.samples.count[rows]


def _thread_costs(profile: Profile, rows: I64, weight: I64, squares: F64) -> list[Total]:
    sums_of_columns = (
        sum_at(profile.samples.thread[rows], column, len(profile.threads)).tolist() for column in (weight, squares)
    )
    sums = zip(_thread_names(profile), *sums_of_columns, strict=True)
    return [Total(name, "", value, value, square, square) for name, value, square in sums if value]


def _thread_names(profile: Profile) -> list[str]:
    columns = (profile.threads.comm.tolist(), profile.threads.pid.tolist(), profile.threads.tid.tolist())
    return [f"{profile.strings[comm]} {pid}/{tid}" for comm, pid, tid in zip(*columns, strict=True)]


def _frame_costs(profile: Profile, rows: I64, weight: I64, squares: F64, by: str) -> list[Total]:
    row_keys, rows_of_location = _rows_of_locations(profile, by)
    leaves, leaf_index = unique_inverse(profile.samples.stack[rows])
    has_frames = leaves >= 0
    stack_columns = [sum_at(leaf_index, column, len(leaves))[has_frames] for column in (weight, squares)]
    (self_cost, total), both_squares = costs_of_kinds(
        profile, as_int64(leaves[has_frames]), rows_of_location, len(row_keys), stack_columns
    )
    with_cost = flatnonzero(total)
    costs = zip(*(column[with_cost].tolist() for column in (self_cost, total, *both_squares)), strict=True)
    return [Total(*row_keys[row], *cost) for row, cost in zip(with_cost.tolist(), costs, strict=True)]


class GroupCosts(Frozen):
    """Costs of table rows in groups of samples, such as those of one host; combinations without costs are left out."""

    keys: Sequence[Key]
    """Name and object of each row."""
    group_totals: I64
    """(groups,) cost of all samples of each group."""
    self_costs: tuple[I64, I64]
    """(n,) combinations of row and group, as ``row · groups + group``, and (n,) the self cost of each."""
    total_costs: tuple[I64, I64]
    """The same for total costs."""


def group_costs(profile: Profile, group: I64, groups: int, event: str | None, by: str, value: str) -> GroupCosts:
    """Sum costs as `totals` does, for each group of samples; ``group`` (samples,) has numbers below ``groups``."""
    rows = flatnonzero(profile.samples.event == find_event(profile, event))
    weight, group = weights(profile, value)[rows], group[rows]
    group_totals = sum_at(group, weight, groups)
    if by == "thread":
        thread_and_group = profile.samples.thread[rows] * np.int64(groups) + group
        thread_costs = _sums([thread_and_group], [weight])
        return GroupCosts([(name, "") for name in _thread_names(profile)], group_totals, thread_costs, thread_costs)
    row_keys, rows_of_location = _rows_of_locations(profile, by)
    has_stack = flatnonzero(profile.samples.stack[rows] >= 0)
    leaves, leaf_index = unique_inverse(profile.samples.stack[rows[has_stack]])
    # stack i has the pairs begins[i] to begins[i + 1] − 1
    pair, pair_cost = _sums([leaf_index * groups + group[has_stack]], [weight[has_stack]])
    pair_stack, pair_group = np.divmod(pair, groups)
    begins = searchsorted(pair_stack, arange(len(leaves) + 1))
    empty = zeros(0)
    # two lists each: for self costs, then for total costs
    combinations, costs = ([[empty], [empty]] for _ in range(2))
    for span, innermost, stack, row in kinds_in_stacks(profile, as_int64(leaves), rows_of_location, len(row_keys)):
        first, count = begins[:-1][span], np.diff(begins)[span]
        every_stack = arange(len(innermost))
        for kind, (stacks, table_rows) in enumerate(((every_stack, innermost), (stack, row))):
            pairs = ranges(first[stacks], count[stacks])
            sums = _sums([repeat(table_rows, count[stacks]) * groups + pair_group[pairs]], [pair_cost[pairs]])
            combinations[kind].append(sums[0])
            costs[kind].append(sums[1])
    self_costs, total_costs = map(_sums, combinations, costs)
    return GroupCosts(row_keys, group_totals, self_costs, total_costs)


def _sums(keys: Sequence[I64], values: Sequence[I64]) -> tuple[I64, I64]:
    (distinct,), (sums,) = sum_rows([np.concatenate(keys)], [np.concatenate(values)])
    return distinct, sums


def _rows_of_locations(profile: Profile, by: str) -> tuple[list[Key], ListArray]:
    frames = location_frames(profile)
    row_keys, row = rows_of_frames(frames, by)
    return row_keys, ListArray(frames.of_location.offsets, row[frames.of_location.values])


def rows_of_frames(frames: LocationFrames, by: str) -> tuple[list[Key], I64]:
    """Return the key of every row, and (frames,) the row of each frame; ``by``: any but thread."""
    pairs = zip(frames.name, frames.object, strict=True)
    has_functions = by in ("function", "data-object")
    return number_keys((name, obj) if has_functions else (obj or "[unknown]", "") for name, obj in pairs)
