"""Parses DWARF expressions of call frame information once, and evaluates them for many samples at once.

An expression is a program for a stack machine; each stack entry here is an array with a value per sample. Compilers
write no branches, so an expression with a branch is rejected. Source: DWARF 5, section 2.5.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from perf2x.base.abi.cfi_numbers import Operator
from perf2x.base.binaries.cfi.byte_cursor import MAX_U64, CfiCursor
from perf2x.base.columnar import I64, U64, AnyArray, Bools, as_uint64, falses, trues
from perf2x.errors import ObjectError

# Real expressions have about a dozen operators; a hostile one would be evaluated for every sample at every depth.
_MAX_OPERATIONS = 256


class Operation(NamedTuple):
    """One operator with its operands.

    The parser turns operators that push a constant into CONSTU, and those that push a register plus an offset into
    BREGX.
    """

    operator: Operator
    value: int = 0
    """The constant, offset, size or stack index; 0 if the operator has none."""
    register: int = -1
    """DWARF's number of the register; −1 if the operator has none."""


Expression = tuple[Operation, ...]


class ExpressionContext(Protocol):
    """Registers and memory of the samples that an expression is evaluated for."""

    def register(self, number: int) -> tuple[U64, Bools]:
        """Return a register's value in the callee's frame for each sample, and which are known: (n,) each."""
        ...

    def load(self, address: U64, size: int) -> tuple[U64, Bools]:
        """Return the number of ``size`` bytes at each address, and which were recorded: (n,) each.

        ``size`` 0 is the size of an address.
        """
        ...


# Format of each operator's operand: a letter for `CfiCursor.operand`.
_OPERANDS: dict[int, str] = {
    Operator.ADDR: "a", Operator.CONST1U: "B", Operator.CONST1S: "b", Operator.CONST2U: "H", Operator.CONST2S: "h",
    Operator.CONST4U: "I", Operator.CONST4S: "i", Operator.CONST8U: "Q", Operator.CONST8S: "q",
    Operator.CONSTU: "u", Operator.CONSTS: "s",
    Operator.PICK: "B", Operator.PLUS_UCONST: "u", Operator.DEREF_SIZE: "B",
}  # fmt: skip
_CONSTANTS = frozenset(code for code in _OPERANDS if code <= Operator.CONSTS)


def parse_expression(block: bytes, address_size: int, byte_order: str) -> Expression:
    """Parse an expression. Raises ObjectError if it is cut off, too long, or has an unsupported operator."""
    cursor = CfiCursor(block, 0, len(block), byte_order, address_size)
    operations = []
    while cursor.position < cursor.end:
        operations.append(_parse_operation(cursor.u8(), cursor))
        if len(operations) > _MAX_OPERATIONS:
            raise ObjectError(f"call frame information: an expression has more than {_MAX_OPERATIONS} steps")
    return tuple(operations)


def _parse_operation(code: int, cursor: CfiCursor) -> Operation:
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
    """Divide signed numbers, rounding towards zero; a division by zero gives 0."""
    numerator, divisor = left.view(np.int64), right.view(np.int64)
    nonzero_divisor = np.where(divisor == 0, 1, divisor)
    # as unsigned numbers, because the absolute value of -2**63 does not fit into a signed one
    magnitude = np.abs(numerator).view(np.uint64) // np.abs(nonzero_divisor).view(np.uint64)
    quotient = np.where((numerator < 0) != (nonzero_divisor < 0), -magnitude.view(np.int64), magnitude.view(np.int64))
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
# Number of stack entries that each operator needs; PICK needs one more than its operand.
_ENTRIES_NEEDED = {Operator.DUP: 1, Operator.OVER: 2, Operator.SWAP: 2, Operator.ROT: 3, Operator.DROP: 1}
_WITHOUT_OPERAND = {Operator.DEREF, *_BINARY, *_UNARY, *_ENTRIES_NEEDED}


def evaluate(expression: Expression, context: ExpressionContext, stack: list[U64], count: int) -> tuple[U64, Bools]:
    """Return the result for each sample, and which results are known; both (count,).

    ``stack`` is empty at the beginning for a CFA, and [CFA] for a register (DWARF 5, section 6.4.2).
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
    elif not stack:
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
    operator = operation.operator
    if len(stack) < _ENTRIES_NEEDED.get(operator, operation.value + 1):
        return False
    if operator is Operator.DROP:
        stack.pop()
    elif operator is Operator.SWAP:
        stack[-1], stack[-2] = stack[-2], stack[-1]
    elif operator is Operator.ROT:
        stack[-1], stack[-2], stack[-3] = stack[-2], stack[-3], stack[-1]
    else:  # copy an entry to the top; ``depth`` is 1 for the top entry
        depth = {Operator.DUP: 1, Operator.OVER: 2}.get(operator, operation.value + 1)
        stack.append(stack[-depth])
    return True
