"""Expressions over columns agree with the same ones worked out value by value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.cfi.dwarf_expressions import evaluate, parse_expression
from perf2x.errors import ObjectError
from tests.support.frame_writer import sleb, uleb

MASK = 2**64 - 1
MEMORY = {8 * place: (place * 0x9E3779B97F4A7C15) & MASK for place in range(64)}


class Columns:
    """Three samples whose registers are 8 × number + sample."""

    count = 3

    def register(self, number) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(self.count, dtype=np.uint64) + np.uint64(8 * number), np.full(self.count, number != 5)

    def load(self, address, size) -> tuple[np.ndarray, np.ndarray]:
        values = [MEMORY.get(int(at), 0) & ((1 << 8 * (size or 8)) - 1) for at in address]
        return np.array(values, np.uint64), np.array([int(at) in MEMORY for at in address])


def signed(value) -> int:
    return value - 2**64 if value >> 63 else value


def divide(a, b) -> int:
    if b == 0:
        return 0
    quotient = abs(signed(a)) // abs(signed(b))
    return quotient if (signed(a) < 0) == (signed(b) < 0) else -quotient


BINARY = {
    0x1A: lambda a, b: a & b, 0x1B: divide, 0x1C: lambda a, b: a - b, 0x1D: lambda a, b: a % (b or 1),
    0x1E: lambda a, b: a * b, 0x21: lambda a, b: a | b, 0x22: lambda a, b: a + b,
    0x24: lambda a, b: a << b if b < 64 else 0, 0x25: lambda a, b: a >> b if b < 64 else 0,
    0x26: lambda a, b: signed(a) >> min(b, 63), 0x27: lambda a, b: a ^ b,
    0x29: lambda a, b: a == b, 0x2A: lambda a, b: signed(a) >= signed(b), 0x2B: lambda a, b: signed(a) > signed(b),
    0x2C: lambda a, b: signed(a) <= signed(b), 0x2D: lambda a, b: signed(a) < signed(b), 0x2E: lambda a, b: a != b,
}  # fmt: skip
UNARY = {0x19: lambda a: abs(signed(a)), 0x1F: lambda a: -a, 0x20: lambda a: ~a}


def scalar(tokens, sample, first) -> tuple[int, bool]:  # noqa: C901 - one branch for each kind of operator
    """Evaluate a program for one sample: (value, good), (0, False) where the stack has too few entries."""
    stack, good = list(first), True
    for code, *operands in tokens:
        if code == "const":
            stack.append(operands[0] & MASK)
        elif code == "breg":
            stack.append((8 * operands[0] + sample + operands[1]) & MASK)
            good &= operands[0] != 5
        elif code in BINARY:
            if len(stack) < 2:
                return 0, False
            right, left = stack.pop(), stack.pop()
            stack.append(int(BINARY[code](left, right)) & MASK)
        elif code in UNARY:
            if not stack:
                return 0, False
            stack.append(UNARY[code](stack.pop()) & MASK)
        elif code == "deref":
            if not stack:
                return 0, False
            at = stack.pop()
            good &= at in MEMORY
            stack.append(MEMORY.get(at, 0))
        elif code == "rot":
            if len(stack) < 3:
                return 0, False
            stack[-3:] = [stack[-1], stack[-3], stack[-2]]
        elif code == "pick":
            if len(stack) <= operands[0]:
                return 0, False
            stack.append(stack[-1 - operands[0]])
    return (stack[-1], good) if stack else (0, False)


def encoded(token) -> bytes:
    code, *operands = token
    if code == "const":
        return b"\x10" + uleb(operands[0])
    if code == "breg":
        return bytes([0x70 + operands[0]]) + sleb(operands[1])
    if code == "pick":
        return b"\x15" + bytes(operands)
    return bytes([{"deref": 0x06, "rot": 0x17}.get(code, code)])


TOKENS = st.lists(
    st.one_of(
        st.tuples(st.just("const"), st.one_of(st.integers(0, 70), st.integers(0, MASK))),
        st.tuples(st.just("breg"), st.integers(0, 16), st.integers(-(2**40), 2**40)),
        st.tuples(st.sampled_from([*BINARY, *UNARY, "deref", "rot"])),
        st.tuples(st.just("pick"), st.integers(0, 3)),
    ),
    max_size=20,
)


@settings(deadline=None)
@given(TOKENS)
def test_columns_agree_with_scalars(tokens) -> None:
    expression = parse_expression(b"".join(encoded(token) for token in tokens), 8, "<")
    first = np.array([3, 2**63 + 8, 16], np.uint64)
    value, good = evaluate(expression, Columns(), [first], 3)
    for sample in range(3):
        expected, sound = scalar(tokens, sample, [int(first[sample])])
        assert bool(good[sample]) == sound
        assert not sound or int(value[sample]) == expected


def test_the_expression_of_the_procedure_linkage_table() -> None:
    """rsp + 8 + ((rip & 15) >= 11) * 8, as linkers write it."""
    expression = parse_expression(bytes.fromhex("770880003f1a3b2a332422"), 8, "<")

    class Entry:
        def register(self, number) -> tuple[np.ndarray, np.ndarray]:
            values = {7: 0x7000, 16: 0x1030}[number]
            return np.array([values + (number == 16) * 6, values + (number == 16) * 11], np.uint64), np.ones(
                2, np.bool_
            )

    value, good = evaluate(expression, Entry(), [], 2)
    assert value.tolist() == [0x7008, 0x7010]
    assert good.all()


@pytest.mark.parametrize("block", [b"\x28\0\0", b"\x2f\0\0", b"\x9c", b"\xe0", b"\x0e\0", b"\x50"])
def test_other_operators_are_rejected(block) -> None:
    with pytest.raises(ObjectError):
        parse_expression(block, 8, "<")
