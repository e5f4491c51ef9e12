"""Counts of branches and samples in the code of one object.

Optimizers of binaries (BOLT) take counts by address: `BranchCounts`, `AddressCounts`. Compilers (LLVM's and GCC's
AutoFDO) take counts by source line: a tree of `FunctionCounts`.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.columnar import I64, U64, ColumnTable, Frozen, join_tables, sum_of, sum_rows
from perf2x.errors import SettingError

# LLVM's class of this name: the line, relative to the function's declaration, modulo 2¹⁶; and the base discriminator.
LineLocation = tuple[int, int]


class LineCount(Struct):
    """Execution count of a line, and its calls of each function."""

    count: int = 0
    calls: dict[str, int] = field(default_factory=dict)

    def sorted_calls(self) -> list[tuple[str, int]]:
        """The called functions with their counts, most frequent first."""
        return sorted(self.calls.items(), key=lambda call: (-call[1], call[0]))


class FunctionCounts(Struct):
    """Counts of a function, or of an instance inlined into another function."""

    name: str
    """Linkage name."""
    total: int = 0
    """If branches were recorded: execution counts, summed over all bytes of the code; otherwise the number of samples.

    Includes the code of functions that were inlined into this one.
    """
    entered: int = 0
    """Number of branches to the function's start; 0 for inlined instances."""
    lines: dict[LineLocation, LineCount] = field(default_factory=dict)
    inlined: dict[LineLocation, dict[str, "FunctionCounts"]] = field(default_factory=dict)
    """Inlined instances by the location of the call, then by name."""

    def line(self, location: LineLocation) -> LineCount:
        """Return the counts of a line; a line without counts is added."""
        return self.lines.setdefault(location, LineCount())

    def instance(self, location: LineLocation, name: str) -> "FunctionCounts":
        """Return the instance of ``name`` inlined at ``location``; a missing one is added."""
        return self.inlined.setdefault(location, {}).setdefault(name, FunctionCounts(name))

    def walk(self) -> Iterator[tuple[int, LineLocation, "FunctionCounts"]]:
        """Yield this function and all inlined ones, depth first, each with its depth and location.

        The instances in one function are sorted by location, then name. The function itself has depth 0 and location
        (0, 0).
        """
        unvisited = [(0, (0, 0), self)]
        while unvisited:
            depth, location, function = unvisited.pop()
            yield depth, location, function
            inlined = sorted((call, name) for call, instances in function.inlined.items() for name in instances)
            unvisited += ((depth + 1, call, function.inlined[call][name]) for call, name in reversed(inlined))

    def add(self, other: "FunctionCounts") -> None:
        """Add the counts of the same function in another recording."""
        path: list[FunctionCounts] = []  # functions from the root to the one being added to
        for depth, call, theirs in other.walk():
            mine = path[depth - 1].instance(call, theirs.name) if depth else self
            path[depth:] = [mine]
            mine.total += theirs.total
            mine.entered += theirs.entered
            for location, counts in theirs.lines.items():
                line = mine.line(location)
                line.count += counts.count
                for name, calls in counts.calls.items():
                    line.calls[name] = line.calls.get(name, 0) + calls


# Stands for any address outside the object.
EXTERNAL = np.uint64(2**64 - 1)
# Stands for an address that was not recorded.
NOT_RECORDED = np.uint64(2**64 - 2)
# The reason, in messages, why these formats support no options for stacks and names.
COUNTS_NOT_STACKS = "branches of one program are counted, not stacks"
# The lowest kernel address on x86-64; user code is always below.
KERNEL_HALF = np.uint64(0xFFFF_8000_0000_0000)


class BranchCounts(ColumnTable):
    """Counts of taken branches, by source, target and source of the next taken branch.

    Code runs straight on from a target to the next source.
    """

    source: U64
    target: U64
    next: U64
    """Source of the next taken branch; NOT_RECORDED or EXTERNAL if the end of the code that ran is unknown."""
    count: I64
    mispredicted: I64
    """Mispredicted ones among ``count``."""


class AddressCounts(ColumnTable):
    """Numbers of samples at each address."""

    address: U64
    count: I64


class CodeCounts(Frozen):
    """Branches and samples in one object."""

    filename: str
    build_id: str
    """Lower-case hexadecimal, "" if unknown."""
    branches: BranchCounts
    samples: AddressCounts
    functions: tuple[FunctionCounts, ...] = ()
    """Counts by line of all functions, sorted by name; empty unless requested."""
    files: dict[str, set[str]] = field(default_factory=dict)
    """Base names of the source files that declare a function, by the function's name; "" for an unknown file."""


def describe_counts(code: CodeCounts, use: str = "") -> str:
    """Describe what was counted: ``1,234 branches``, or samples if no branches were recorded.

    ``use``, the command that can use samples alone, follows the number of samples.
    """
    if len(code.branches):
        return f"{sum_of(code.branches.count):,} branches"
    return f"{sum_of(code.samples.count):,} samples{use}, as no branches were recorded (perf record -b)"


def merge_code_counts(parts: Sequence[CodeCounts]) -> CodeCounts:
    """Add the counts of several recordings. Raises SettingError if they are of different objects."""
    for part in parts[1:]:
        if (part.filename, part.build_id) != (parts[0].filename, parts[0].build_id):
            names = " and ".join(f"{code.filename} {code.build_id}".strip() for code in (parts[0], part))
            raise SettingError(f"these recordings have different objects, {names}: name one (", "object", ")")
    branches, samples = [part.branches for part in parts], [part.samples for part in parts]
    functions: dict[str, FunctionCounts] = {}
    for function in (function for part in parts for function in part.functions):
        functions.setdefault(function.name, FunctionCounts(function.name)).add(function)
    sorted_functions = tuple(functions[name] for name in sorted(functions))
    files = {
        name: set[str]().union(*(part.files.get(name, ()) for part in parts)) for part in parts for name in part.files
    }
    sums = replace(parts[0], branches=sum_branches(branches), samples=sum_addresses(samples))
    return replace(sums, functions=sorted_functions, files=files)


def sum_branches(parts: list[BranchCounts]) -> BranchCounts:
    """Sum equal branches of several tables, sorted by content."""
    rows = join_tables(parts)
    keys, sums = sum_rows([rows.source, rows.target, rows.next], [rows.count, rows.mispredicted])
    return BranchCounts(*keys, *sums)


def sum_addresses(parts: list[AddressCounts]) -> AddressCounts:
    """Sum equal addresses of several tables, ascending."""
    rows = join_tables(parts)
    keys, sums = sum_rows([rows.address], [rows.count])
    return AddressCounts(*keys, *sums)
