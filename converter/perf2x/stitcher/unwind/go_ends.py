"""Ends of chains in Go programs, whose runtime starts threads and switches stacks in assembly.

There is no return address above these frames, even if their call frame information states one::

    start     main.main.func1, runtime.goexit                complete: newproc put goexit above the function
    switch    runtime.gcDrain, …, runtime.systemstack        the caller is on the goroutine's stack

The word above a switch is often a stale return address, which looks like a caller.

Source of truth: src/runtime/asm_amd64.s, sys_linux_amd64.s, time_linux_amd64.s and proc.go of the Go distribution.
"""

import re

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.go.pclntab import GoFunctions
from perf2x.base.columnar import U8, U64, Bools, unique_inverse
from perf2x.stitcher.unwind.unwound_chains import End

_STARTS = frozenset({
    "runtime.goexit",  # newproc puts its address above the goroutine's first function
    "runtime.mstart",  # a thread's first function, on an empty stack
    "runtime.clone",  # the new thread's side, on the same stack
    "runtime.rt0_go", "_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux", "_rt0_386", "_rt0_386_linux",  # the entry
})  # fmt: skip
_SWITCHES = frozenset({
    "runtime.systemstack", "runtime.mcall", "runtime.morestack", "runtime.asmcgocall",  # to the thread's own stack
    "runtime.nanotime1", "runtime.walltime", "time.now",  # likewise, for the vDSO
})  # fmt: skip
_CALLED_AFTER_SWITCH = frozenset({"runtime.systemstack", "runtime.mcall"})
"""They call through a register, and only after switching stacks."""
_ON_ANY_STACK = frozenset({"runtime.nanotime1", "runtime.walltime", "time.now"})
"""They switch stacks unless they already are on the thread's own, and keep the caller's stack pointer and rbp."""
_KEEPS_STACK, _COMES_BACK = bytes.fromhex("4989e4"), bytes.fromhex("4c89e4")
"""mov %rsp, %r12, and the reverse."""
_LONGEST = 4096
"""Bytes of one of these functions to scan; they have about two hundred."""
_CALL = re.compile(rb"\xff[\xd0-\xd7]")
_SETTLED = np.array([End.COMPLETE, End.TRUNCATED, End.NO_UNWIND_INFO, End.BROKEN, End.NOT_MAPPED], np.uint8)
_AS_IT_IS = 255


def leaves_stack(functions: GoFunctions, elf: ElfObject, row: int, svma: int) -> bool:
    """Return whether an instruction's last byte is that of a call after a switch of stacks."""
    return _name(functions, row) in _CALLED_AFTER_SWITCH and _CALL.match(elf.code_at(svma - 1, 2)) is not None


def is_on_any_stack(functions: GoFunctions, elf: ElfObject, row: int, svma: int) -> bool:
    """Return whether the stack pointer may be on another stack, so only the frame pointer leads to the caller."""
    function = (
        functions.function(row) if elf.machine == "EM_X86_64" and _name(functions, row) in _ON_ANY_STACK else None
    )
    if function is None:
        return False
    before = elf.code_at(function.entry, min(svma - function.entry, _LONGEST))
    return before.rfind(_KEEPS_STACK) > before.rfind(_COMES_BACK)


def may_be_settled(end: U8) -> Bools:
    """Return (n,) bool: whether the outermost function may refine why a chain ends."""
    return np.isin(end, _SETTLED)


def go_ends(functions: GoFunctions, svma: U64, end: U8) -> U8:
    """Return (n,) ends of chains with outermost frames at ``svma``, given their ends by unwind rules alone."""
    rows, place = unique_inverse(functions.find(svma))
    ends = np.array([_end_in(functions, row) for row in rows.tolist()], np.uint8)[place]
    return np.where(ends == _AS_IT_IS, end, ends)


def _end_in(functions: GoFunctions, row: int) -> int:
    name = _name(functions, row)
    if name in _STARTS:
        return End.COMPLETE
    return End.OTHER_STACK if name in _SWITCHES else _AS_IT_IS


def _name(functions: GoFunctions, row: int) -> str:
    function = functions.function(row) if row >= 0 else None
    return "" if function is None else function.name.removesuffix(".abi0")
