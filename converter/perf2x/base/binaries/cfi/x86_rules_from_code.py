"""Derives unwind rules from x86 code that no call frame information covers.

Examples are hand-written SIMD, C libraries built without tables and the 32-bit vDSO. A function pops what it pushed, so
the path from an instruction to ``ret`` shows where the return address and the saved registers are::

    sampled   movups %xmm0, (%rdi)    CFA = rsp + 24, rbx at CFA − 16
              add $8, %rsp
              pop %rbx
              ret

The ends of all paths must agree on the CFA. If they disagree, or no path reaches a ``ret``, we follow paths from the
function's start to the instruction, provided that a symbol states the start.

Registers have the numbers of machine code, except in rules, where they have DWARF's.
"""

from collections.abc import Mapping
from itertools import islice

from perf2x.base.abi.cfi_numbers import Operator
from perf2x.base.binaries.cfi.dwarf_expressions import Operation
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, RegisterRule, Rule, RuleKind, RuleTable
from perf2x.base.binaries.cfi.x86_paths import FRAME, STACK, KnownValue, PathState, Value, path_ends
from perf2x.base.binaries.elf.x86_code import ANYWHERE, X86Code

_MAX_PATH_ENDS = 4
# rbx, rbp, r12 to r15 in 64-bit code (True); ebx, ebp, esi, edi in 32-bit code (False).
_CALLEE_SAVED = {True: (3, FRAME, 12, 13, 14, 15), False: (3, FRAME, 6, 7)}
# Numbers of registers in 64-bit code → DWARF's, where they differ.
_TO_DWARF = {1: 2, 2: 1, 4: 7, 5: 6, 6: 4, 7: 5}


def rule_by_code(code: X86Code, svma: int, table: RuleTable, *, is_exact: bool) -> Rule | None:
    """Return the rule at ``svma``, or None if the code does not determine it.

    ``is_exact``: ``svma`` is the sampled instruction. Otherwise it is a return address, in the function of the call
    before it.
    """
    extent = code.function_extent(svma if is_exact else svma - 1)
    ends = list(islice(path_ends(code, svma, extent), _MAX_PATH_ENDS))
    cfas = {(end.cfa, end.popped_size) for end in ends}
    cfa, popped_size = cfas.pop() if len(cfas) == 1 else (None, 0)
    if cfa is not None:
        # a register on which the ends disagree becomes undefined
        values = {register: {end.state.registers[register] for end in ends} for register in _CALLEE_SAVED[code.is_64]}
        agreed = {register: distinct.pop() for register, distinct in values.items() if len(distinct) == 1}
        return _rule(code.is_64, cfa, popped_size, agreed, table)
    return _rule_from_start(code, extent, svma, table) if extent != ANYWHERE and extent[0] <= svma else None


def _rule_from_start(code: X86Code, extent: tuple[int, int], svma: int, table: RuleTable) -> Rule | None:
    """Derive the rule from a path from the function's start to ``svma``.

    A path is ignored if the return address is no longer where the call pushed it: V8's builtins push it elsewhere.
    """
    return_address: KnownValue = (STACK, 0)  # the stack pointer at the function's start points to it
    for end in path_ends(code, extent[0], extent, until=svma):
        if end.state.load(return_address) != (return_address, 0):
            continue
        # The frame pointer comes first: callees may pop their arguments, which the path does not know. An end that pops
        # bytes is a ``ret``, not ``svma``.
        for register in () if end.popped_size else (FRAME, STACK):
            value = end.state.registers[register]
            if value is not None and value[0] == STACK and value[1] <= 0:
                word_size = end.state.word_size
                cfa = (register, word_size - value[1])
                return _rule(code.is_64, cfa, word_size, _saved_values(code.is_64, end.state, cfa), table)
    return None


def _saved_values(is_64: bool, state: PathState, cfa: tuple[int, int]) -> dict[int, Value]:
    """Return where the caller's values of callee-saved registers are after a path from the function's start.

    ``state`` is in terms of registers at the start of the path, ``cfa`` and the result in terms of those at its end.
    """
    values: dict[int, Value] = {}
    for register in _CALLEE_SAVED[is_64]:
        distances = [slot[1] for slot, value in state.memory.items() if value == (register, 0) and slot[0] == STACK]
        if state.registers[register] == (register, 0):
            values[register] = (register, 0)
        elif distances:
            values[register] = ((cfa[0], cfa[1] - state.word_size + distances[0]), 0)
    return values


def _rule(is_64: bool, cfa: KnownValue, popped_size: int, saved: Mapping[int, Value], table: RuleTable) -> Rule | None:
    """Build a rule from values in terms of registers and memory at the address of the rule.

    The return address is ``popped_size`` bytes below the ``cfa``. ``saved`` has the caller's values of callee-saved
    registers. Returns None if a rule cannot state the CFA.
    """
    base, distance = cfa
    return_register = 16 if is_64 else 8  # DWARF's numbers for rip and eip
    registers = [(return_register, RegisterRule(RuleKind.OFFSET, -popped_size))]
    for register in _CALLEE_SAVED[is_64]:
        value = saved.get(register)
        if value == (register, 0):
            continue
        address = value[0] if value is not None and value[1] == 0 else None
        rule = RegisterRule(RuleKind.UNDEFINED, 0)
        if isinstance(address, tuple) and address[0] == base:
            rule = RegisterRule(RuleKind.OFFSET, address[1] - distance)
        registers.append((_dwarf_number(is_64, register), rule))
    if base in (STACK, FRAME):
        return Rule(_dwarf_number(is_64, base), distance, return_register, False, tuple(registers))
    # the CFA counts from another register, or from a word in memory that a register points to
    pointer = base[0] if isinstance(base, tuple) else base
    if not isinstance(pointer, int):
        return None
    push_pointer = Operation(Operator.BREGX, base[1] if isinstance(base, tuple) else 0, _dwarf_number(is_64, pointer))
    load = (Operation(Operator.DEREF),) if isinstance(base, tuple) else ()
    expression = table.expression_number((push_pointer, *load, Operation(Operator.PLUS_UCONST, distance)))
    return Rule(CFA_BY_EXPRESSION, expression, return_register, False, tuple(registers))


def _dwarf_number(is_64: bool, register: int) -> int:
    return _TO_DWARF.get(register, register) if is_64 else register
