"""Finds where stacks of Go programs end: at functions of Go's runtime that start threads or switch stacks.

The word above such a frame is often a stale return address, whatever the unwind information says. Innermost first::

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
    "runtime.goexit",
    "runtime.mstart",  # a thread's first function, on an empty stack
    "runtime.clone",  # in the new thread, where it calls mstart
    "runtime.rt0_go", "_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux", "_rt0_386", "_rt0_386_linux",
})  # fmt: skip
_SWITCHES = frozenset({
    "runtime.systemstack", "runtime.mcall", "runtime.morestack", "runtime.asmcgocall",  # to the thread's own stack
    "runtime.nanotime1", "runtime.walltime", "time.now",  # the same, in order to call the vDSO
})  # fmt: skip
# They call through a register, and only after switching stacks.
_CALL_AFTER_SWITCH = frozenset({"runtime.systemstack", "runtime.mcall"})
_SWITCH_IF_NEEDED = frozenset({"runtime.nanotime1", "runtime.walltime", "time.now"})
"""They do not switch if the thread is on its own stack already. rbp points to their frame on the old stack."""
_SAVES_STACK_POINTER, _RESTORES_STACK_POINTER = bytes.fromhex("4989e4"), bytes.fromhex("4c89e4")
# Maximum bytes of a function to search for a switch; these functions have about two hundred.
_MAX_SEARCHED = 4096
_CALL_THROUGH_REGISTER = re.compile(rb"\xff[\xd0-\xd7]")
_CORRECTABLE = np.array([End.COMPLETE, End.TRUNCATED, End.NO_UNWIND_INFO, End.BROKEN, End.NOT_MAPPED], np.uint8)
_UNCHANGED = 255  # in place of an End


def is_call_after_switch(functions: GoFunctions, elf: ElfObject, row: int, svma: int) -> bool:
    """Return whether the byte at ``svma`` ends a call that the function makes only after switching stacks.

    ``row`` is −1 for no function. ``svma`` is the lookup address of a return address.
    """
    calls_after_switch = _name(functions, row) in _CALL_AFTER_SWITCH
    return calls_after_switch and _CALL_THROUGH_REGISTER.match(elf.bytes_at(svma - 1, 2)) is not None


def may_have_switched(functions: GoFunctions, elf: ElfObject, row: int, svma: int) -> bool:
    """Return whether the function may have switched stacks before ``svma``; then only rbp leads to the caller."""
    function = (
        functions.function(row) if elf.machine == "EM_X86_64" and _name(functions, row) in _SWITCH_IF_NEEDED else None
    )
    if function is None:
        return False
    code_before = elf.bytes_at(function.entry, min(svma - function.entry, _MAX_SEARCHED))
    return code_before.rfind(_SAVES_STACK_POINTER) > code_before.rfind(_RESTORES_STACK_POINTER)


def may_be_corrected(end: U8) -> Bools:
    """Return (n,) bool: whether ``go_ends`` may change an end."""
    return np.isin(end, _CORRECTABLE)


def go_ends(functions: GoFunctions, svma: U64, end: U8) -> U8:
    """Return (n,) why each chain ends, corrected by the function of its outermost frame.

    ``svma`` (n,) are lookup addresses, ``end`` (n,) the reasons by unwind rules alone.
    """
    rows, index = unique_inverse(functions.find(svma))
    ends = np.array([_end_in(functions, row) for row in rows.tolist()], np.uint8)[index]
    return np.where(ends == _UNCHANGED, end, ends)


def _end_in(functions: GoFunctions, row: int) -> int:
    name = _name(functions, row)
    if name in _STARTS:
        return End.COMPLETE
    return End.OTHER_STACK if name in _SWITCHES else _UNCHANGED


def _name(functions: GoFunctions, row: int) -> str:
    function = functions.function(row) if row >= 0 else None
    return "" if function is None else function.name.removesuffix(".abi0")
