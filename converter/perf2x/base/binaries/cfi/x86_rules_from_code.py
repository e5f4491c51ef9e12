"""Derives unwind rules from x86 code that no call frame information covers.

This happens in hand-written SIMD, C libraries built without tables and the 32-bit vDSO. A function pops what it pushed,
so the path from an instruction to ``ret`` shows where the return address and the saved registers are::

    sampled   movups %xmm0, (%rdi)    CFA = rsp + 24, rbx at CFA − 16
              add $8, %rsp
              pop %rbx
              ret

If all paths end in calls that do not return, the path from the function's start to the instruction is used, if a symbol
gives the start. Paths that disagree give no rule.
"""

from collections.abc import Mapping
from itertools import islice

from perf2x.base.abi.cfi_numbers import Operator
from perf2x.base.binaries.cfi.dwarf_expressions import Operation
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, RegisterRule, Rule, RuleKind, RuleTable
from perf2x.base.binaries.cfi.x86_paths import FRAME, STACK, PathState, Place, Value, path_ends
from perf2x.base.binaries.elf.x86_code import ANYWHERE, X86Code

_ENOUGH = 4
"""At most this many path ends are compared; all of them must agree."""
_SAVED = {True: (3, FRAME, 12, 13, 14, 15), False: (3, FRAME, 6, 7)}
"""Callee-saved registers of 32-bit (False) and 64-bit code."""
_TO_DWARF = {1: 2, 2: 1, 4: 7, 5: 6, 6: 4, 7: 5}
"""Register numbers in 64-bit instructions → DWARF's, where they differ."""


def rule_by_code(code: X86Code, svma: int, table: RuleTable, *, is_exact: bool) -> Rule | None:
    """Return the rule at ``svma``, or None if the code does not determine it.

    ``is_exact``: ``svma`` is the sampled instruction; otherwise it is a return address, and its function is that of the
    call before it.
    """
    within = code.function(svma if is_exact else svma - 1)
    ends = list(islice(path_ends(code, svma, within), _ENOUGH))
    frames = {(ended.frame, ended.popped) for ended in ends}
    frame, popped = frames.pop() if len(frames) == 1 else (None, 0)
    if frame is not None:
        saved = {register: {one.state.registers[register] for one in ends} for register in _SAVED[code.is_64]}
        agreed = {register: values.pop() for register, values in saved.items() if len(values) == 1}
        return _rule(code.is_64, frame, popped, agreed, table)
    return _rule_from_start(code, within, svma, table) if within != ANYWHERE and within[0] <= svma else None


def _rule_from_start(code: X86Code, within: tuple[int, int], svma: int, table: RuleTable) -> Rule | None:
    """Derive the rule from a path from the function's start to an address.

    Returns None if the path stores something else in place of the return address: V8's builtins pop it and push it
    elsewhere.
    """
    caller: Place = (STACK, 0)
    for ended in path_ends(code, within[0], within, until=svma):
        if ended.state.load(caller) != (caller, 0):
            continue
        for register in () if ended.popped else (FRAME, STACK):  # callees may pop their arguments
            now = ended.state.registers[register]
            if now is not None and now[0] == STACK and now[1] <= 0:
                frame = (register, ended.state.word - now[1])
                return _rule(code.is_64, frame, ended.state.word, _saved_so_far(code.is_64, ended.state, frame), table)
    return None


def _saved_so_far(is_64: bool, state: PathState, frame: tuple[int, int]) -> dict[int, Value]:
    """Return where the caller's values of callee-saved registers are, given what the function has pushed so far."""
    found: dict[int, Value] = {}
    for register in _SAVED[is_64]:
        slots = [place[1] for place, value in state.memory.items() if value == (register, 0) and place[0] == STACK]
        if state.registers[register] == (register, 0):
            found[register] = (register, 0)
        elif slots:
            found[register] = ((frame[0], frame[1] - state.word + slots[0]), 0)
    return found


def _rule(is_64: bool, frame: Place, popped: int, saved: Mapping[int, Value], table: RuleTable) -> Rule | None:
    """Build the rule for a canonical frame address; registers without a known value become undefined."""
    base, distance = frame
    counter = 16 if is_64 else 8
    registers = [(counter, RegisterRule(RuleKind.OFFSET, -popped))]
    for register in _SAVED[is_64]:
        value = saved.get(register)
        if value == (register, 0):
            continue
        where = value[0] if value is not None and value[1] == 0 else None
        at = RegisterRule(RuleKind.UNDEFINED, 0)
        if isinstance(where, tuple) and where[0] == base:
            at = RegisterRule(RuleKind.OFFSET, where[1] - distance)
        registers.append((_dwarf(is_64, register), at))
    if base in (STACK, FRAME):
        return Rule(_dwarf(is_64, base), distance, counter, False, tuple(registers))
    first = base[0] if isinstance(base, tuple) else base
    if not isinstance(first, int):
        return None
    start = Operation(Operator.BREGX, base[1] if isinstance(base, tuple) else 0, _dwarf(is_64, first))
    read = (Operation(Operator.DEREF),) if isinstance(base, tuple) else ()
    number = table.expression_number((start, *read, Operation(Operator.PLUS_UCONST, distance)))
    return Rule(CFA_BY_EXPRESSION, number, counter, False, tuple(registers))


def _dwarf(is_64: bool, register: int) -> int:
    return _TO_DWARF.get(register, register) if is_64 else register
