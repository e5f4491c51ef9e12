"""Costs of source lines of selected functions.

Samples are summed by the entries of their stacks, with a column for each measure.
"""

import numpy as np

from perf2x.base.columnar import (
    I64,
    Bools,
    Frozen,
    ListArray,
    as_int64,
    bincount,
    falses,
    flatnonzero,
    group_rows,
    offsets_of,
    row_numbers,
    sum_at,
    unique_inverse,
    zeros,
)
from perf2x.model.profile import LocationFrames, Measure, Profile, costs_of_kinds, lines_outermost_first
from perf2x.model.totals.totals import weights


class StackWeights(Frozen):
    """Distinct stacks and their weights."""

    leaf: I64
    """(stacks,) rows of Profile.stacks."""
    weight: I64
    """(stacks, measures)"""


def stack_weights(profile: Profile, measures: tuple[Measure, ...]) -> StackWeights:
    """Return the weights of all stacks of samples; samples without a stack are ignored."""
    samples = profile.samples
    leaf, place = unique_inverse(as_int64(samples.stack))
    weight = zeros((len(leaf), len(measures)))
    for column, measure in enumerate(measures):
        rows = flatnonzero(samples.event == measure.event)
        weight[:, column] = sum_at(place[rows], weights(profile, measure.value)[rows], len(leaf))
    kept = leaf >= 0
    return StackWeights(leaf[kept], weight[kept])


def own_by_location(profile: Profile, stacks: StackWeights) -> I64:
    """Return (locations, measures) weight of the samples taken at each location."""
    return sum_at(profile.stacks.location[stacks.leaf], stacks.weight, len(profile.locations))


def total_by_kind(profile: Profile, stacks: StackWeights, kinds: ListArray, count: int) -> I64:
    """Return (count, measures) weight of the stacks that contain each kind, each stack once.

    ``kinds`` are those of each location, any number, from 0 to ``count`` − 1.
    """
    ((_, total),) = costs_of_kinds(profile, stacks.leaf, kinds, count, [stacks.weight])
    return total


class FunctionFrames(Frozen):
    """Frames of locations that belong to selected functions, in the order of locations."""

    location: I64
    function: I64
    """Number of the selected function."""
    file: I64
    """String index of the source file."""
    line: I64
    """0 if unknown."""
    is_innermost: Bools
    """Whether samples at the location are the function's own."""


class LineSums(Frozen):
    """Unique (function, file, line) with costs, in that order."""

    function: I64
    file: I64
    line: I64
    own: I64
    """(rows, measures)"""
    total: I64
    """(rows, measures)"""


def entries_of(profile: Profile, frames: LocationFrames, chosen: I64) -> FunctionFrames:
    """Return the entries of frames for which ``chosen`` (frames,) names a function."""
    locations = profile.locations
    row, offsets = lines_outermost_first(locations)
    function = chosen[frames.of_location.values]
    kept = flatnonzero(function >= 0)
    is_innermost = falses(len(row))
    is_innermost[offsets[1:] - 1] = True
    file = np.append(profile.functions.filename, 0)[np.append(locations.line_function, -1)[row[kept]]]
    line = np.append(locations.line_number, 0)[row[kept]]
    owner = row_numbers(np.diff(offsets))[kept]
    return FunctionFrames(owner, function[kept], as_int64(file), as_int64(line), is_innermost[kept])


def line_sums(profile: Profile, entries: FunctionFrames, stacks: StackWeights) -> LineSums:
    """Return self and total of each line; a stack that has a line twice counts once in its total."""
    first, kind = group_rows([entries.function, entries.file, entries.line])
    own, total = sums_by_kind(profile, entries, stacks, kind, len(first))
    return LineSums(entries.function[first], entries.file[first], entries.line[first], own, total)


def sums_by_kind(
    profile: Profile, entries: FunctionFrames, stacks: StackWeights, kind: I64, count: int
) -> tuple[I64, I64]:
    """Return self and total of each of ``count`` kinds of entries, such as functions: (count, measures) each."""
    mine = flatnonzero(entries.is_innermost)
    own = sum_at(kind[mine], own_by_location(profile, stacks)[entries.location[mine]], count)
    kinds = ListArray(offsets_of(bincount(entries.location, len(profile.locations))), kind)
    return own, total_by_kind(profile, stacks, kinds, count)
