"""Sums of samples by what stands in their stacks, a column for each measure."""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.ragged import Ragged, row_numbers
from perf2x.base.columnar.unique import unique, unique_inverse
from perf2x.model.profile.listings import Measure
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import location_rows

_LEAVES_AT_ONCE = 1 << 15


class StackWeights(Struct, frozen=True):
    """Distinct stacks and their weights."""

    leaf: I64
    """(stacks,) rows of Profile.stacks."""
    weight: I64
    """(stacks, measures)"""


def stack_weights(profile: Profile, measures: tuple[Measure, ...]) -> StackWeights:
    """Weights of all stacks that samples have; samples without one are left out."""
    samples = profile.samples
    leaf, place = unique_inverse(samples.stack.astype(np.int64))
    weight = np.zeros((len(leaf), len(measures)), np.int64)
    for column, measure in enumerate(measures):
        rows = np.flatnonzero(samples.event == measure.event)
        numbers = samples.count if measure.value == "samples" else samples.value
        np.add.at(weight[:, column], place[rows], numbers[rows])
    held = leaf >= 0
    return StackWeights(leaf[held], weight[held])


def own_by_location(profile: Profile, stacks: StackWeights) -> I64:
    """(locations, measures) weight of the samples taken at each location."""
    cost = np.zeros((len(profile.locations), stacks.weight.shape[1]), np.int64)
    np.add.at(cost, profile.stacks.location[stacks.leaf], stacks.weight)
    return cost


def total_by_kind(profile: Profile, stacks: StackWeights, kinds: Ragged, count: int) -> I64:
    """(count, measures) weight of the stacks that have a kind; one that has it twice counts once.

    ``kinds`` are those of each location, none or several, from 0 to ``count`` − 1.
    """
    cost = np.zeros((count, stacks.weight.shape[1]), np.int64)
    for start in range(0, len(stacks.leaf) if count else 0, _LEAVES_AT_ONCE):
        span = slice(start, start + _LEAVES_AT_ONCE)
        rows = location_rows(profile, stacks.leaf[span])
        found = kinds.take(rows.values)
        stack = row_numbers(rows.lengths)[row_numbers(found.lengths)]
        which, kind = np.divmod(unique(stack * count + found.values), count)
        np.add.at(cost, kind, stacks.weight[span][which])
    return cost
