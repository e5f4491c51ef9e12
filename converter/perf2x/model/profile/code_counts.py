"""Counts of branches and samples in the code of one object, for compilers and optimizers.

Addresses are those that the object states (svma), the same in every process. Rows are distinct and sorted by content.
"""

from typing import Literal

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64
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
    """An output format's wish for counts of one object's code."""

    object: str = ""
    """Name, path or build id; empty: the one that most samples were taken in."""
    steps_over: Literal["kernel", "external"] = "kernel"
    """Branches to leave out before the others become neighbours: those from or to the kernel, or all outside."""
    lines: bool = False
    """Also count lines of functions, which needs debug information."""


class BranchCounts(Struct, frozen=True):
    """Taken branches: from an address to another, and up to which next branch code ran on from there."""

    source: U64
    target: U64
    next: U64
    """The next branch taken, so that code ran from ``target`` to it; NOT_RECORDED or outside the object: unknown."""
    count: I64
    mispredicted: I64

    def __len__(self) -> int:
        return len(self.source)


class AddressCounts(Struct, frozen=True):
    """Samples taken at addresses."""

    address: U64
    count: I64

    def __len__(self) -> int:
        return len(self.address)


class CodeCounts(Struct, frozen=True):
    """Branches and samples in one object."""

    filename: str
    build_id: str
    """Lower-case hexadecimal, "" where unknown."""
    branches: BranchCounts
    samples: AddressCounts
    functions: tuple[FunctionCounts, ...] = ()
    """Counts of lines, by name, where they are asked for."""
