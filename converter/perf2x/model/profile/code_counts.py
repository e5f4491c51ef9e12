"""Counts of branches and samples in the code of one object, for compilers and optimizers, and sums of these counts.

Counts of lines, as compilers read them, are a tree of functions and of the functions inlined into them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.columnar import I64, U64, ColumnTable, Frozen, join_tables, sum_of, sum_rows
from perf2x.errors import SettingError

Place = tuple[int, int]
"""Line relative to the function's declaration (modulo 2¹⁶), and base discriminator."""


class LineCount(Struct):
    """Execution count of one line of a function, and the functions called from it with their counts."""

    count: int = 0
    calls: dict[str, int] = field(default_factory=dict)

    def sorted_calls(self) -> list[tuple[str, int]]:
        """Return the called functions with counts, most frequent first."""
        return sorted(self.calls.items(), key=lambda call: (-call[1], call[0]))


class FunctionCounts(Struct):
    """A function, or one inlined instance of it."""

    name: str
    """Linkage name."""
    total: int = 0
    """Execution counts, summed over the bytes of the code; for plain samples, their number."""
    entered: int = 0
    """Branches to its start; 0 for inlined instances."""
    lines: dict[Place, LineCount] = field(default_factory=dict)
    inlined: dict[Place, dict[str, "FunctionCounts"]] = field(default_factory=dict)

    def line(self, place: Place) -> LineCount:
        """Return the counts of a place; a new place is added."""
        return self.lines.setdefault(place, LineCount())

    def instance(self, place: Place, name: str) -> "FunctionCounts":
        """Return the instance inlined at a place; a new one is added."""
        return self.inlined.setdefault(place, {}).setdefault(name, FunctionCounts(name))

    def tree(self) -> Iterator[tuple[int, Place, "FunctionCounts"]]:
        """Yield the function and all functions inlined into it with depth and place, callers first, sorted by place."""
        waiting = [(0, (0, 0), self)]
        while waiting:
            depth, place, function = waiting.pop()
            yield depth, place, function
            inlined = sorted((at, name) for at, instances in function.inlined.items() for name in instances)
            waiting += ((depth + 1, at, function.inlined[at][name]) for at, name in reversed(inlined))

    def add(self, other: "FunctionCounts") -> None:
        """Add the counts of the same function in another recording."""
        path: list[FunctionCounts] = []
        for depth, at, theirs in other.tree():
            mine = path[depth - 1].instance(at, theirs.name) if depth else self
            path[depth:] = [mine]
            mine.total += theirs.total
            mine.entered += theirs.entered
            for place, count in theirs.lines.items():
                line = mine.line(place)
                line.count += count.count
                for name, calls in count.calls.items():
                    line.calls[name] = line.calls.get(name, 0) + calls


EXTERNAL = np.uint64(2**64 - 1)
"""Instead of an address: outside the object."""
NOT_RECORDED = np.uint64(2**64 - 2)
"""Instead of an address: not recorded."""
COUNTS_CODE = "branches of one program are counted, not stacks"
"""Why formats made from these counts support no options for stacks and names."""
KERNEL_HALF = np.uint64(0xFFFF_8000_0000_0000)
"""The lowest kernel address; user code is always below."""


class BranchCounts(ColumnTable):
    """Taken branches: source, target, and the source of the next branch, up to which code ran from the target."""

    source: U64
    target: U64
    next: U64
    """Source of the next taken branch; NOT_RECORDED or outside the object: unknown."""
    count: I64
    mispredicted: I64


class AddressCounts(ColumnTable):
    """Samples taken at addresses."""

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
    """Line counts by function, if requested."""
    files: dict[str, set[str]] = field(default_factory=dict)
    """Base names of the source files that declare each function; "" for an unknown one."""


def counted(code: CodeCounts, use: str = "") -> str:
    """Return a sentence on what was counted; ``use``: what samples are good for if there are no branches."""
    if len(code.branches):
        return f"{sum_of(code.branches.count):,} branches"
    return f"{sum_of(code.samples.count):,} samples{use}, as no branches were recorded (perf record -b)"


def merged_code(parts: Sequence[CodeCounts]) -> CodeCounts:
    """Add the counts of several recordings. Raises OptionError if they are of different objects."""
    for part in parts[1:]:
        if (part.filename, part.build_id) != (parts[0].filename, parts[0].build_id):
            names = " and ".join(f"{each.filename} {each.build_id}".strip() for each in (parts[0], part))
            raise SettingError(f"these recordings have different objects, {names}: name one (", "object", ")")
    branches, samples = [part.branches for part in parts], [part.samples for part in parts]
    functions: dict[str, FunctionCounts] = {}
    for each in (function for part in parts for function in part.functions):
        functions.setdefault(each.name, FunctionCounts(each.name)).add(each)
    summed = tuple(functions[name] for name in sorted(functions))
    files = {
        name: set[str]().union(*(part.files.get(name, ()) for part in parts)) for part in parts for name in part.files
    }
    sums = replace(parts[0], branches=sum_branches(branches), samples=sum_addresses(samples))
    return replace(sums, functions=summed, files=files)


def sum_branches(parts: list[BranchCounts]) -> BranchCounts:
    """Add the counts of equal rows, sorted by content."""
    rows = join_tables(parts)
    keys, sums = sum_rows([rows.source, rows.target, rows.next], [rows.count, rows.mispredicted])
    return BranchCounts(*keys, *sums)


def sum_addresses(parts: list[AddressCounts]) -> AddressCounts:
    """Add the counts of equal addresses, sorted."""
    rows = join_tables(parts)
    keys, sums = sum_rows([rows.address], [rows.count])
    return AddressCounts(*keys, *sums)
