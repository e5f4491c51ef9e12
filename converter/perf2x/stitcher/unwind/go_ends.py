"""Finds where stacks of Go programs end: at those functions of Go's runtime that start threads or switch stacks.

These two kinds of functions have no return address above their frames, even if their call frame information states one.
The word there is often a stale return address, which looks like a caller. Innermost frames first::

    starts     main.main.func1, runtime.goexit             complete: newproc put goexit above the goroutine's function
    switches   runtime.gcDrain, …, runtime.systemstack     incomplete: the caller is on the goroutine's own stack

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
    "runtime.clone",  # in the new thread, where it calls mstart
    "runtime.rt0_go", "_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux", "_rt0_386", "_rt0_386_linux",  # the entry
})  # fmt: skip
_SWITCHES = frozenset({
    "runtime.systemstack", "runtime.mcall", "runtime.morestack", "runtime.asmcgocall",  # to the thread's own stack
    "runtime.nanotime1", "runtime.walltime", "time.now",  # likewise, for the vDSO
})  # fmt: skip
# They call through a register, and only after switching stacks.
_CALL_AFTER_SWITCH = frozenset({"runtime.systemstack", "runtime.mcall"})
_SWITCH_IF_NEEDED = frozenset({"runtime.nanotime1", "runtime.walltime", "time.now"})
"""They switch stacks, unless the thread is on its own stack already; rbp still points to their frame on the old stack.
"""
# mov %rsp, %r12 and mov %r12, %rsp.
_SAVES_STACK_POINTER, _RESTORES_STACK_POINTER = bytes.fromhex("4989e4"), bytes.fromhex("4c89e4")
# How many bytes of one of these functions are searched at most; they have about two hundred.
_MAX_SEARCHED = 4096
_CALL_THROUGH_REGISTER = re.compile(rb"\xff[\xd0-\xd7]")
_CORRECTABLE = np.array([End.COMPLETE, End.TRUNCATED, End.NO_UNWIND_INFO, End.BROKEN, End.NOT_MAPPED], np.uint8)
_UNCHANGED = 255  # in place of an End


def is_call_after_switch(functions: GoFunctions, elf: ElfObject, row: int, svma: int) -> bool:
    """Return whether a call that the function makes only after switching stacks ends with the byte at ``svma``.

    ``row`` is the function's row in ``functions``, −1 for none; ``svma`` is the lookup address of a return address.
    """
    calls_after_switch = _name(functions, row) in _CALL_AFTER_SWITCH
    return calls_after_switch and _CALL_THROUGH_REGISTER.match(elf.bytes_at(svma - 1, 2)) is not None


def may_have_switched(functions: GoFunctions, elf: ElfObject, row: int, svma: int) -> bool:
    """Return whether the function may have switched stacks before ``svma``, so that only rbp leads to the caller.

    It may have done so between the instruction that saves the stack pointer and the one that restores it.
    """
    function = (
        functions.function(row) if elf.machine == "EM_X86_64" and _name(functions, row) in _SWITCH_IF_NEEDED else None
    )
    if function is None:
        return False
    code_before = elf.bytes_at(function.entry, min(svma - function.entry, _MAX_SEARCHED))
    return code_before.rfind(_SAVES_STACK_POINTER) > code_before.rfind(_RESTORES_STACK_POINTER)


def may_be_corrected(end: U8) -> Bools:
    """Return (n,) bool: whether ``go_ends`` may change an end; other ends do not depend on the function."""
    return np.isin(end, _CORRECTABLE)


def go_ends(functions: GoFunctions, svma: U64, end: U8) -> U8:
    """Return (n,) why each chain ends, corrected by the function of its outermost frame.

    ``svma`` (n,) are the lookup addresses of the outermost frames, ``end`` (n,) the reasons by unwind rules alone.
    """
    rows, index = unique_inverse(functions.find(svma))
    ends = np.array([_end_in(functions, row) for row in rows.tolist()], np.uint8)[index]
    return np.where(ends == _UNCHANGED, end, ends)


def _end_in(functions: GoFunctions, row: int) -> int:
    """Return the ``End`` of chains whose outermost frame is in a function, or _UNCHANGED."""
    name = _name(functions, row)
    if name in _STARTS:
        return End.COMPLETE
    return End.OTHER_STACK if name in _SWITCHES else _UNCHANGED


def _name(functions: GoFunctions, row: int) -> str:
    """Return a function's name, without the suffix of the assembly's ABI; "" for row −1."""
    function = functions.function(row) if row >= 0 else None
    return "" if function is None else function.name.removesuffix(".abi0")
