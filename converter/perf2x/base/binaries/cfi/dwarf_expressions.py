"""Parses DWARF expressions of call frame information once, and evaluates them for many samples at once.

An expression is a program for a stack machine; here, each entry of its stack is an array with a value per sample.

Linkers write one expression for the procedure linkage table, where the CFA depends on how far into an entry the program
counter is; C libraries write one per register for signal frames; functions that realign the stack have some, too.
None of these expressions has branches; an expression with a branch is rejected. Source: DWARF 5, section 2.5.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from perf2x.base.abi.cfi_numbers import Operator
from perf2x.base.binaries.cfi.byte_cursor import MAX_U64, CfiCursor
from perf2x.base.columnar import I64, U64, AnyArray, Bools, as_uint64, falses, trues
from perf2x.errors import ObjectError

# Maximum number of operators in an expression.
#
# Real expressions have about a dozen; a hostile one would be evaluated for every sample at every depth.
_MAX_OPERATIONS = 256


class Operation(NamedTuple):
    """One operator with its operands.

    The parser turns all operators that push a constant into CONSTU, and those that push a register plus an offset into
    BREGX.
    """

    operator: Operator
    value: int = 0
    """The constant, offset, size or stack index; 0 for an operator without such an operand."""
    register: int = -1
    """DWARF's number of the register; −1 for an operator without a register."""


Expression = tuple[Operation, ...]


class ExpressionContext(Protocol):
    """Registers and memory of the samples that an expression is evaluated for."""

    def register(self, number: int) -> tuple[U64, Bools]:
        """Return the value of a register for each sample, and which values are known: (n,) each.

        The values are those in the callee's frame: the expression computes a value of its caller.
        """
        ...

    def load(self, address: U64, size: int) -> tuple[U64, Bools]:
        """Return the number of ``size`` bytes at each address, and which numbers were recorded: (n,) each.

        If ``size`` is 0, the numbers are as large as addresses.
        """
        ...


# {operator with an operand: how to read it}, as a letter for `CfiCursor.operand`; BREG0 to BREGX are not included.
_OPERANDS: dict[int, str] = {
    Operator.ADDR: "a", Operator.CONST1U: "B", Operator.CONST1S: "b", Operator.CONST2U: "H", Operator.CONST2S: "h",
    Operator.CONST4U: "I", Operator.CONST4S: "i", Operator.CONST8U: "Q", Operator.CONST8S: "q",
    Operator.CONSTU: "u", Operator.CONSTS: "s",
    Operator.PICK: "B", Operator.PLUS_UCONST: "u", Operator.DEREF_SIZE: "B",
}  # fmt: skip
# The operators of _OPERANDS that push their operand.
_CONSTANTS = frozenset(code for code in _OPERANDS if code <= Operator.CONSTS)


def parse_expression(block: bytes, address_size: int, byte_order: str) -> Expression:
    """Parse an expression. Raises ObjectError if it is cut off, too long, or has an operator that is not supported."""
    cursor = CfiCursor(block, 0, len(block), byte_order, address_size)
    operations = []
    while cursor.position < cursor.end:
        operations.append(_parse_operation(cursor.u8(), cursor))
        if len(operations) > _MAX_OPERATIONS:
            raise ObjectError(f"call frame information: an expression has more than {_MAX_OPERATIONS} steps")
    return tuple(operations)


def _parse_operation(code: int, cursor: CfiCursor) -> Operation:
    """Make an operation from an operator's code, and read its operands."""
    if Operator.LIT0 <= code <= Operator.LIT31:
        return Operation(Operator.CONSTU, code - Operator.LIT0)
    if Operator.BREG0 <= code <= Operator.BREG31:
        return Operation(Operator.BREGX, cursor.sleb(), code - Operator.BREG0)
    if code == Operator.BREGX:
        register = cursor.uleb()
        return Operation(Operator.BREGX, cursor.sleb(), register)
    if code in _CONSTANTS:
        return Operation(Operator.CONSTU, cursor.operand(_OPERANDS[code]) & MAX_U64)
    if code in _OPERANDS:
        return Operation(Operator(code), cursor.operand(_OPERANDS[code]))
    if code in _WITHOUT_OPERAND:
        return Operation(Operator(code))
    raise ObjectError(f"call frame information: unknown operator {code:#x} in an expression")


def _divide(left: U64, right: U64) -> U64:
    """Divide signed numbers, rounding towards zero; a division by zero, whose result is meaningless, gives 0."""
    numerator, divisor = left.view(np.int64), right.view(np.int64)
    nonzero_divisor = np.where(divisor == 0, 1, divisor)
    # as unsigned numbers, because the absolute value of -2**63 does not fit into a signed one
    magnitude = np.abs(numerator).view(np.uint64) // np.abs(nonzero_divisor).view(np.uint64)
    quotient = np.where((numerator < 0) != (nonzero_divisor < 0), -magnitude.view(np.int64), magnitude.view(np.int64))
    return np.where(divisor == 0, 0, quotient).view(np.uint64)


def _signed(operate: Callable[[I64, I64], AnyArray]) -> Callable[[U64, U64], U64]:
    """Turn an operation on signed numbers into one on stack entries, which are unsigned."""
    return lambda left, right: as_uint64(operate(left.view(np.int64), right.view(np.int64)))


_BINARY: dict[Operator, Callable[[U64, U64], U64]] = {
    Operator.AND: np.bitwise_and,
    Operator.OR: np.bitwise_or,
    Operator.XOR: np.bitwise_xor,
    Operator.PLUS: np.add,
    Operator.MINUS: np.subtract,
    Operator.MUL: np.multiply,
    Operator.DIV: _divide,
    Operator.MOD: lambda a, b: a % np.where(b == 0, np.uint64(1), b),
    Operator.SHL: np.left_shift,
    Operator.SHR: np.right_shift,
    Operator.SHRA: _signed(np.right_shift),
    Operator.EQ: _signed(np.equal),
    Operator.NE: _signed(np.not_equal),
    Operator.GE: _signed(np.greater_equal),
    Operator.GT: _signed(np.greater),
    Operator.LE: _signed(np.less_equal),
    Operator.LT: _signed(np.less),
}
_UNARY: dict[Operator, Callable[[U64], U64]] = {
    Operator.ABS: lambda a: np.abs(a.view(np.int64)).view(np.uint64),
    Operator.NEG: lambda a: np.uint64(0) - a,
    Operator.NOT: np.invert,
    Operator.NOP: lambda a: a,
}
# {operator that only copies, drops or reorders stack entries: how many it needs}. PICK is not included: its operand
# says how many.
_ENTRIES_NEEDED = {Operator.DUP: 1, Operator.OVER: 2, Operator.SWAP: 2, Operator.ROT: 3, Operator.DROP: 1}
# Operators without an operand.
_WITHOUT_OPERAND = {Operator.DEREF, *_BINARY, *_UNARY, *_ENTRIES_NEEDED}


def evaluate(expression: Expression, context: ExpressionContext, stack: list[U64], count: int) -> tuple[U64, Bools]:
    """Return the result for each sample, and which results are known; both have the shape (count,).

    ``stack`` is the stack at the beginning: empty for a CFA, and [CFA] for a register (DWARF 5, section 6.4.2).
    """
    is_known = trues(count)
    stack = list(stack)
    for operation in expression:
        if not _apply_operation(operation, context, stack, is_known, count):
            return np.zeros(count, np.uint64), falses(count)
    if not stack:
        return np.zeros(count, np.uint64), falses(count)
    return stack[-1], is_known


def _apply_operation(
    operation: Operation, context: ExpressionContext, stack: list[U64], is_known: Bools, count: int
) -> bool:
    """Apply one operation to ``stack`` and ``is_known`` in place; return False if the stack has too few entries."""
    operator = operation.operator
    if operator is Operator.CONSTU:
        stack.append(np.full(count, operation.value, np.uint64))
    elif operator is Operator.BREGX:
        value, is_register_known = context.register(operation.register)
        is_known &= is_register_known
        stack.append(value + np.uint64(operation.value & MAX_U64))
    elif operator in _BINARY:
        if len(stack) < 2:
            return False
        right = stack.pop()
        stack.append(_BINARY[operator](stack.pop(), right))
    elif operator in _ENTRIES_NEEDED or operator is Operator.PICK:
        return _move_entries(operation, stack)
    elif not stack:  # all other operators need an entry
        return operator is Operator.NOP
    elif operator is Operator.PLUS_UCONST:
        stack.append(stack.pop() + np.uint64(operation.value))
    elif operator in _UNARY:
        stack.append(_UNARY[operator](stack.pop()))
    else:  # DEREF or DEREF_SIZE
        value, is_recorded = context.load(stack.pop(), operation.value if operator is Operator.DEREF_SIZE else 0)
        is_known &= is_recorded
        stack.append(value)
    return True


def _move_entries(operation: Operation, stack: list[U64]) -> bool:
    """Copy, drop or reorder stack entries in place; return False if the stack has too few."""
    operator = operation.operator
    if len(stack) < _ENTRIES_NEEDED.get(operator, operation.value + 1):
        return False
    if operator is Operator.DROP:
        stack.pop()
    elif operator is Operator.SWAP:
        stack[-1], stack[-2] = stack[-2], stack[-1]
    elif operator is Operator.ROT:
        stack[-1], stack[-2], stack[-3] = stack[-2], stack[-3], stack[-1]
    else:  # copy an entry to the top; ``depth`` is 1 for the top entry, the operand of PICK 0
        depth = {Operator.DUP: 1, Operator.OVER: 2}.get(operator, operation.value + 1)
        stack.append(stack[-depth])
    return True
