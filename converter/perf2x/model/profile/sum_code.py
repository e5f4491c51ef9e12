"""Adds counts of one object's code up: rows of batches, and those of several recordings."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import OptionError
from perf2x.model.profile.code_counts import AddressCounts, BranchCounts, CodeCounts
from perf2x.model.profile.line_counts import FunctionCounts


def merged_code(parts: Sequence[CodeCounts]) -> CodeCounts:
    """Add the counts of several recordings up; OptionError when they are of different objects."""
    for part in parts[1:]:
        if (part.filename, part.build_id) != (parts[0].filename, parts[0].build_id):
            names = " and ".join(f"{each.filename} {each.build_id}".strip() for each in (parts[0], part))
            raise OptionError(f"these recordings have different objects, {names}: name one (--object)")
    branches, samples = [part.branches for part in parts], [part.samples for part in parts]
    functions: dict[str, FunctionCounts] = {}
    for each in (function for part in parts for function in part.functions):
        functions.setdefault(each.name, FunctionCounts(each.name)).add(each)
    summed = tuple(functions[name] for name in sorted(functions))
    return replace(parts[0], branches=sum_branches(branches), samples=sum_addresses(samples), functions=summed)


def sum_branches(parts: list[BranchCounts]) -> BranchCounts:
    """Add counts of equal rows up, sorted by content."""
    source, target, following, count, missed = (
        np.concatenate([getattr(part, name) for part in parts]) for name in BranchCounts.__struct_fields__
    )
    first, group = group_rows([source, target, following])
    return BranchCounts(
        source[first],
        target[first],
        following[first],
        _sums(count, group, len(first)),
        _sums(missed, group, len(first)),
    )


def sum_addresses(parts: list[AddressCounts]) -> AddressCounts:
    """Add counts of equal addresses up, sorted."""
    address = np.concatenate([part.address for part in parts])
    first, group = group_rows([address])
    return AddressCounts(address[first], _sums(np.concatenate([part.count for part in parts]), group, len(first)))


def _sums(values: I64, group: I64, groups: int) -> I64:
    total = np.zeros(groups, np.int64)
    np.add.at(total, group, values)
    return total
