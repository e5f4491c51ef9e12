"""Costs of source lines of listed functions.

A cost has one number for each measure. The self cost of a line is the sum of the samples taken in it, the total cost
that of the samples with the line anywhere in their stack.
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
    """The weights of distinct stacks."""

    leaf: I64
    """(stacks,) rows of Profile.stacks: the innermost frame of each."""
    weight: I64
    """(stacks, measures) sums over the samples that have the stack."""


def stack_weights(profile: Profile, measures: tuple[Measure, ...]) -> StackWeights:
    """Sum the samples of each distinct stack, for each measure; samples without a stack are ignored."""
    samples = profile.samples
    leaf, stack_row = unique_inverse(as_int64(samples.stack))
    weight = zeros((len(leaf), len(measures)))
    for column, measure in enumerate(measures):
        rows = flatnonzero(samples.event == measure.event)
        weight[:, column] = sum_at(stack_row[rows], weights(profile, measure.value)[rows], len(leaf))
    has_stack = leaf >= 0
    return StackWeights(leaf[has_stack], weight[has_stack])


def self_by_location(profile: Profile, stacks: StackWeights) -> I64:
    """Return (locations, measures) the weight of the samples taken at each location."""
    return sum_at(profile.stacks.location[stacks.leaf], stacks.weight, len(profile.locations))


def total_by_group(profile: Profile, stacks: StackWeights, groups: ListArray, count: int) -> I64:
    """Return (count, measures) the total cost of each group of frames, such as all frames of one line.

    A stack with several frames of a group counts once. ``groups`` lists the groups of each location, as numbers below
    ``count``.
    """
    ((_, total_cost),) = costs_of_kinds(profile, stacks.leaf, groups, count, [stacks.weight])
    return total_cost


class FunctionFrames(Frozen):
    """Frames of listed functions, in the order of locations; columns (n,)."""

    location: I64
    """Row of Profile.locations."""
    function: I64
    """Index of the listed function."""
    file: I64
    """Index, in Profile.strings, of the source file's path."""
    line: I64
    """0 if unknown."""
    is_innermost: Bools
    """Whether samples at the location are self cost of the function."""


class LineSums(Frozen):
    """Costs of each distinct (function, file, line), sorted by these; columns as in FunctionFrames."""

    function: I64
    file: I64
    line: I64
    self_cost: I64
    """(rows, measures)"""
    total_cost: I64
    """(rows, measures)"""


def frames_of_listed(profile: Profile, frames: LocationFrames, function_of_frame: I64) -> FunctionFrames:
    """Select the frames of listed functions.

    ``function_of_frame`` (frames,): the index of each frame's listed function, −1 for frames of other functions.
    """
    locations = profile.locations
    # an entry for each frame of each location
    line_row, offsets = lines_outermost_first(locations)
    function = function_of_frame[frames.of_location.values]
    kept = flatnonzero(function >= 0)
    is_innermost = falses(len(line_row))
    is_innermost[offsets[1:] - 1] = True
    # the appended values are for row −1, a location without lines
    file = np.append(profile.functions.filename, 0)[np.append(locations.line_function, -1)[line_row[kept]]]
    line = np.append(locations.line_number, 0)[line_row[kept]]
    location = row_numbers(np.diff(offsets))[kept]
    return FunctionFrames(location, function[kept], as_int64(file), as_int64(line), is_innermost[kept])


def line_sums(profile: Profile, frames: FunctionFrames, stacks: StackWeights) -> LineSums:
    """Return self and total costs of each line; a stack that has a line twice counts once in the line's total."""
    first, group = group_rows([frames.function, frames.file, frames.line])
    costs = self_and_total_by_group(profile, frames, stacks, group, len(first))
    return LineSums(frames.function[first], frames.file[first], frames.line[first], *costs)


def self_and_total_by_group(
    profile: Profile, frames: FunctionFrames, stacks: StackWeights, group: I64, count: int
) -> tuple[I64, I64]:
    """Return (count, measures) self and total costs of each group of frames, such as a function's.

    ``group`` (n,): the group of each row of ``frames``, below ``count``.
    """
    innermost = flatnonzero(frames.is_innermost)
    self_cost = sum_at(group[innermost], self_by_location(profile, stacks)[frames.location[innermost]], count)
    groups_of_location = ListArray(offsets_of(bincount(frames.location, len(profile.locations))), group)
    return self_cost, total_by_group(profile, stacks, groups_of_location, count)
