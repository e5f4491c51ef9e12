"""Requests of formats for compilers and optimizers."""

from typing import Literal

from perf2x.base.frozen import Frozen


class CodeRequest(Frozen):
    """Counts of one object's code that an output format asks for."""

    object: str = ""
    """Name, path or build id; empty: the one that most samples were taken in."""
    steps_over: Literal["kernel", "external"] = "kernel"
    """Branches to leave out before the others become neighbours: those from or to the kernel, or all outside."""
    lines: bool = False
    """Also count lines of functions, which needs debug information."""
    gcc: int = 0
    """The version of GCC that lines are counted for, 12 to 16; 0: LLVM."""
