"""Costs of source lines of listed functions.

Each cost is an array of shape (rows, measures): a row for each line, a column for each measure (event and value).
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
    """(stacks,) rows of Profile.stacks: the innermost frame of each."""
    weight: I64
    """(stacks, measures) sums over the samples that have the stack."""


def stack_weights(profile: Profile, measures: tuple[Measure, ...]) -> StackWeights:
    """Return the weights of all stacks of samples; samples without a stack are ignored."""
    samples = profile.samples
    leaf, stack_row = unique_inverse(as_int64(samples.stack))
    weight = zeros((len(leaf), len(measures)))
    for column, measure in enumerate(measures):
        rows = flatnonzero(samples.event == measure.event)
        weight[:, column] = sum_at(stack_row[rows], weights(profile, measure.value)[rows], len(leaf))
    kept = leaf >= 0
    return StackWeights(leaf[kept], weight[kept])


def own_by_location(profile: Profile, stacks: StackWeights) -> I64:
    """Return (locations, measures) weight of the samples taken at each location."""
    return sum_at(profile.stacks.location[stacks.leaf], stacks.weight, len(profile.locations))


def total_by_kind(profile: Profile, stacks: StackWeights, kinds: ListArray, count: int) -> I64:
    """Return (count, measures) the weight of all stacks that contain a kind, such as a line; each stack counts once.

    ``kinds`` lists the kinds of each location, as numbers from 0 to ``count`` − 1; a location may have several or none.
    """
    ((_, total),) = costs_of_kinds(profile, stacks.leaf, kinds, count, [stacks.weight])
    return total


class FunctionFrames(Frozen):
    """Frames of locations that belong to listed functions, in the order of locations."""

    location: I64
    function: I64
    """Index of the listed function."""
    file: I64
    """String index of the source file."""
    line: I64
    """0 if unknown."""
    is_innermost: Bools
    """Whether samples at the location are the function's own."""


class LineSums(Frozen):
    """A row for each distinct (function, file, line), sorted by these, with its costs; columns as in FunctionFrames."""

    function: I64
    file: I64
    line: I64
    own: I64
    """(rows, measures)"""
    total: I64
    """(rows, measures)"""


def frames_of_listed(profile: Profile, frames: LocationFrames, listed: I64) -> FunctionFrames:
    """Select the frames of listed functions: ``listed`` (frames,) is the index of each frame's function, −1 for others.

    ``frames`` are all frames of all locations.
    """
    locations = profile.locations
    row, offsets = lines_outermost_first(locations)
    function = listed[frames.of_location.values]
    kept = flatnonzero(function >= 0)
    is_innermost = falses(len(row))
    is_innermost[offsets[1:] - 1] = True
    file = np.append(profile.functions.filename, 0)[np.append(locations.line_function, -1)[row[kept]]]
    line = np.append(locations.line_number, 0)[row[kept]]
    location = row_numbers(np.diff(offsets))[kept]
    return FunctionFrames(location, function[kept], as_int64(file), as_int64(line), is_innermost[kept])


def line_sums(profile: Profile, frames: FunctionFrames, stacks: StackWeights) -> LineSums:
    """Return self and total of each line; a stack that has a line twice counts once in its total."""
    first, kind = group_rows([frames.function, frames.file, frames.line])
    own, total = sums_by_kind(profile, frames, stacks, kind, len(first))
    return LineSums(frames.function[first], frames.file[first], frames.line[first], own, total)


def sums_by_kind(
    profile: Profile, frames: FunctionFrames, stacks: StackWeights, kind: I64, count: int
) -> tuple[I64, I64]:
    """Return self and total of each kind of frames, such as functions: (count, measures) each.

    ``kind`` (rows of ``frames``,) is the kind of each frame, from 0 to ``count`` − 1.
    """
    innermost = flatnonzero(frames.is_innermost)
    own = sum_at(kind[innermost], own_by_location(profile, stacks)[frames.location[innermost]], count)
    kinds = ListArray(offsets_of(bincount(frames.location, len(profile.locations))), kind)
    return own, total_by_kind(profile, stacks, kinds, count)
