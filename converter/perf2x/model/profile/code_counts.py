"""Counts of branches and samples in the code of one object, for compilers and optimizers, and their sums."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, U64, ColumnTable
from perf2x.base.columnar.ragged import join_tables
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import SettingError
from perf2x.model.profile.line_counts import FunctionCounts

EXTERNAL = np.uint64(2**64 - 1)
"""In place of an address: somewhere outside the object."""
NOT_RECORDED = np.uint64(2**64 - 2)
"""In place of an address: nobody recorded it."""
COUNTS_CODE = "branches of one program are counted, not stacks"
"""Why what is made of such counts takes no options about stacks and names."""
KERNEL_HALF = np.uint64(0xFFFF_8000_0000_0000)
"""The lowest address of the kernel's half, which no code of programs reaches."""


class CodeRequest(Struct, frozen=True):
    """What an output format asks for: counts of one object's code."""

    object: str = ""
    """Name, path or build id; empty: the one that most samples were taken in."""
    steps_over: Literal["kernel", "external"] = "kernel"
    """Branches to leave out before the others become neighbours: those from or to the kernel, or all outside."""
    lines: bool = False
    """Also count lines of functions, which needs debug information."""


class BranchCounts(ColumnTable, frozen=True):
    """Taken branches: from an address to another, and up to which next branch code ran on from there."""

    source: U64
    target: U64
    next: U64
    """The next branch taken, so that code ran from ``target`` to it; NOT_RECORDED or outside the object: unknown."""
    count: I64
    mispredicted: I64


class AddressCounts(ColumnTable, frozen=True):
    """Samples taken at addresses."""

    address: U64
    count: I64


class CodeCounts(Struct, frozen=True):
    """Branches and samples in one object."""

    filename: str
    build_id: str
    """Lower-case hexadecimal, "" where unknown."""
    branches: BranchCounts
    samples: AddressCounts
    functions: tuple[FunctionCounts, ...] = ()
    """Counts of lines, by name, where they are asked for."""


def merged_code(parts: Sequence[CodeCounts]) -> CodeCounts:
    """Add the counts of several recordings up; OptionError when they are of different objects."""
    for part in parts[1:]:
        if (part.filename, part.build_id) != (parts[0].filename, parts[0].build_id):
            names = " and ".join(f"{each.filename} {each.build_id}".strip() for each in (parts[0], part))
            raise SettingError(f"these recordings have different objects, {names}: name one (", "object", ")")
    branches, samples = [part.branches for part in parts], [part.samples for part in parts]
    functions: dict[str, FunctionCounts] = {}
    for each in (function for part in parts for function in part.functions):
        functions.setdefault(each.name, FunctionCounts(each.name)).add(each)
    summed = tuple(functions[name] for name in sorted(functions))
    return replace(parts[0], branches=sum_branches(branches), samples=sum_addresses(samples), functions=summed)


def sum_branches(parts: list[BranchCounts]) -> BranchCounts:
    """Add counts of equal rows up, sorted by content."""
    rows = join_tables(parts)
    first, group = group_rows([rows.source, rows.target, rows.next])
    sums = (_sums(column, group, len(first)) for column in (rows.count, rows.mispredicted))
    return BranchCounts(rows.source[first], rows.target[first], rows.next[first], *sums)


def sum_addresses(parts: list[AddressCounts]) -> AddressCounts:
    """Add counts of equal addresses up, sorted."""
    rows = join_tables(parts)
    first, group = group_rows([rows.address])
    return AddressCounts(rows.address[first], _sums(rows.count, group, len(first)))


def _sums(values: I64, group: I64, groups: int) -> I64:
    total = np.zeros(groups, np.int64)
    np.add.at(total, group, values)
    return total
