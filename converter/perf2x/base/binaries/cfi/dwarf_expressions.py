"""Parses DWARF expressions of call frame information once, and evaluates them for many samples at once.

Linkers write one expression for the procedure linkage table, where the CFA depends on how far into an entry the program
counter is; C libraries write one per register for signal frames; hand-written assembly has some for realigned stacks.
Call frame information does not contain branches; an expression with a branch is rejected. Source: DWARF 5, section 2.5.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from perf2x.base.abi.cfi_numbers import Operator
from perf2x.base.binaries.cfi.byte_cursor import MASK, CfiCursor
from perf2x.base.columnar import I64, U64, AnyArray, Bools, as_uint64, falses, trues
from perf2x.errors import ObjectError

_MAX_OPERATIONS = 256
"""Maximum number of operators in an expression.

Real expressions have about a dozen; a hostile one would be evaluated for every sample at every depth.
"""


class Operation(NamedTuple):
    """One operator with its operands; ``register`` is −1 and ``value`` 0 for an operator that takes none."""

    operator: Operator
    value: int = 0
    register: int = -1


Expression = tuple[Operation, ...]


class ExpressionContext(Protocol):
    """Registers and memory of the samples that an expression is evaluated for."""

    def register(self, number: int) -> tuple[U64, Bools]:
        """Return (n,) the values of a register in the frame that is being left, and (n,) which values are known."""
        ...

    def load(self, address: U64, size: int) -> tuple[U64, Bools]:
        """Return (n,) the values of ``size`` bytes of memory (0: an address), and (n,) which of them were recorded."""
        ...


_OPERANDS: dict[int, str] = {
    Operator.ADDR: "a", Operator.CONST1U: "B", Operator.CONST1S: "b", Operator.CONST2U: "H", Operator.CONST2S: "h",
    Operator.CONST4U: "I", Operator.CONST4S: "i", Operator.CONST8U: "Q", Operator.CONST8S: "q",
    Operator.CONSTU: "u", Operator.CONSTS: "s",
    Operator.PICK: "B", Operator.PLUS_UCONST: "u", Operator.DEREF_SIZE: "B",
}  # fmt: skip
"""Operators with an operand, and how to read it (`CfiCursor.operand`)."""
_CONSTANTS = frozenset(code for code in _OPERANDS if code <= Operator.CONSTS)


def parse_expression(block: bytes, address_size: int, byte_order: str) -> Expression:
    """Parse an expression. Raises ObjectError for an operator that is not allowed in call frame information."""
    cursor = CfiCursor(block, 0, len(block), byte_order, address_size)
    steps = []
    while cursor.position < cursor.end:
        steps.append(_parse_operation(cursor.u8(), cursor))
        if len(steps) > _MAX_OPERATIONS:
            raise ObjectError(f"call frame information: an expression has more than {_MAX_OPERATIONS} steps")
    return tuple(steps)


def _parse_operation(code: int, cursor: CfiCursor) -> Operation:
    if Operator.LIT0 <= code <= Operator.LIT31:
        return Operation(Operator.CONSTU, code - Operator.LIT0)
    if Operator.BREG0 <= code <= Operator.BREG31:
        return Operation(Operator.BREGX, cursor.sleb(), code - Operator.BREG0)
    if code == Operator.BREGX:
        register = cursor.uleb()
        return Operation(Operator.BREGX, cursor.sleb(), register)
    if code in _CONSTANTS:
        return Operation(Operator.CONSTU, cursor.operand(_OPERANDS[code]) & MASK)
    if code in _OPERANDS:
        return Operation(Operator(code), cursor.operand(_OPERANDS[code]))
    if code in _PLAIN:
        return Operation(Operator(code))
    raise ObjectError(f"call frame information: unknown operator {code:#x} in an expression")


def _divide(left: U64, right: U64) -> U64:
    """Divide signed numbers, rounding towards zero; a division by zero, whose result is meaningless, gives 0."""
    numerator, divisor = left.view(np.int64), right.view(np.int64)
    safe = np.where(divisor == 0, 1, divisor)
    magnitude = np.abs(numerator).view(np.uint64) // np.abs(safe).view(np.uint64)
    quotient = np.where((numerator < 0) != (safe < 0), -magnitude.view(np.int64), magnitude.view(np.int64))
    return np.where(divisor == 0, 0, quotient).view(np.uint64)


def _signed(operate: Callable[[I64, I64], AnyArray]) -> Callable[[U64, U64], U64]:
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
_TAKES = {Operator.DUP: 1, Operator.OVER: 2, Operator.SWAP: 2, Operator.ROT: 3, Operator.DROP: 1}
"""The number of stack entries that each operator that moves stack entries needs."""
_PLAIN = {Operator.DEREF, *_BINARY, *_UNARY, *_TAKES}
"""Operators without an operand."""


def evaluate(expression: Expression, context: ExpressionContext, stack: list[U64], count: int) -> tuple[U64, Bools]:
    """Return (count,) the result for each sample, and (count,) which results are known.

    ``stack`` is the stack at the beginning: empty, or the value that DWARF pushes first (the CFA).
    """
    good = trues(count)
    stack = list(stack)
    for operation in expression:
        if not _apply_operation(operation, context, stack, good, count):
            return np.zeros(count, np.uint64), falses(count)
    if not stack:
        return np.zeros(count, np.uint64), falses(count)
    return stack[-1], good


def _apply_operation(
    operation: Operation, context: ExpressionContext, stack: list[U64], good: Bools, count: int
) -> bool:
    """Apply one operation to ``stack`` and ``good`` in place; return False if the stack has too few entries."""
    operator = operation.operator
    if operator is Operator.CONSTU:
        stack.append(np.full(count, operation.value, np.uint64))
    elif operator is Operator.BREGX:
        value, known = context.register(operation.register)
        good &= known
        stack.append(value + np.uint64(operation.value & MASK))
    elif operator in _BINARY:
        if len(stack) < 2:
            return False
        right = stack.pop()
        stack.append(_BINARY[operator](stack.pop(), right))
    elif operator in _TAKES or operator is Operator.PICK:
        return _move_entries(operation, stack)
    elif not stack:
        return operator is Operator.NOP
    elif operator is Operator.PLUS_UCONST:
        stack.append(stack.pop() + np.uint64(operation.value))
    elif operator in _UNARY:
        stack.append(_UNARY[operator](stack.pop()))
    else:
        value, read = context.load(stack.pop(), operation.value if operator is Operator.DEREF_SIZE else 0)
        good &= read
        stack.append(value)
    return True


def _move_entries(operation: Operation, stack: list[U64]) -> bool:
    operator = operation.operator
    if len(stack) < _TAKES.get(operator, operation.value + 1):
        return False
    if operator is Operator.DROP:
        stack.pop()
    elif operator is Operator.SWAP:
        stack[-1], stack[-2] = stack[-2], stack[-1]
    elif operator is Operator.ROT:
        stack[-1], stack[-2], stack[-3] = stack[-2], stack[-3], stack[-1]
    else:
        back = {Operator.DUP: 1, Operator.OVER: 2}.get(operator, operation.value + 1)
        stack.append(stack[-back])
    return True
