"""Every operator of an expression, and every way to store a number, by example."""

import struct

import numpy as np
import pytest

from perf2x.base.binaries.cfi.byte_cursor import CfiCursor
from perf2x.base.binaries.cfi.dwarf_expressions import evaluate, parse_expression
from perf2x.errors import ObjectError
from tests.support.frame_writer import sleb, uleb

TOP = 2**64
LIT = 0x30
"""DW_OP_lit0"""


class Machine:
    """One sample: register r holds 100 + r, register 9 is unknown; a word of memory holds 0x8877…11 + its address."""

    def register(self, number) -> tuple[np.ndarray, np.ndarray]:
        return np.array([100 + number], np.uint64), np.array([number != 9])

    def load(self, address, size) -> tuple[np.ndarray, np.ndarray]:
        value = 0x8877665544332211 & ((1 << 8 * (size or 8)) - 1)
        return np.array([value + int(address[0])], np.uint64), address != np.uint64(13)


def run(code, first=()) -> tuple[int, bool]:
    """(value, whether it is good) of an expression that finds ``first`` on its stack."""
    stack = [np.array([value % TOP], np.uint64) for value in first]
    value, good = evaluate(parse_expression(code, 8, "<"), Machine(), stack, 1)
    return int(value[0]), bool(good[0])


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (bytes([LIT]), 0),
        (bytes([LIT + 31]), 31),
        (b"\x03" + struct.pack("<Q", 2**63), 2**63),
        (b"\x08\xff", 255),
        (b"\x09\xff", TOP - 1),
        (b"\x0a\xff\xfe", 0xFEFF),
        (b"\x0b\xff\xfe", TOP - 257),
        (b"\x0c\xff\xff\xff\xfe", 0xFEFFFFFF),
        (b"\x0d\xff\xff\xff\xfe", TOP - 0x1000001),
        (b"\x0e" + bytes([1] * 8), 0x0101010101010101),
        (b"\x0f" + struct.pack("<q", -5), TOP - 5),
        (b"\x10" + uleb(300), 300),
        (b"\x11" + sleb(-300), TOP - 300),
        (b"\x70" + sleb(-1), 99),
        (bytes([0x70 + 31]) + sleb(5), 136),
        (b"\x92" + uleb(40) + sleb(-40), 100),
    ],
)
def test_operators_that_push(code, value) -> None:
    assert run(code) == (value, True)
    assert run(code, [1, 2, 3]) == (value, True)


def test_the_value_of_an_unknown_register_is_not_good() -> None:
    assert run(b"\x79\x00")[1] is False
    assert run(b"\x79\x00" + bytes([LIT + 1]))[1] is False  # even where it is not what is left


@pytest.mark.parametrize(
    ("code", "stack", "value"),
    [
        (b"\x12\x22", [7], 14),  # dup, plus
        (b"\x13", [7, 8], 7),  # drop
        (b"\x14", [7, 8], 7),  # over
        (b"\x14\x13", [7, 8], 8),
        (b"\x15\x00", [7, 8, 9], 9),  # pick
        (b"\x15\x02", [7, 8, 9], 7),
        (b"\x16", [7, 8], 7),  # swap
        (b"\x16\x13", [7, 8], 8),
        (b"\x17", [7, 8, 9], 8),  # rot: the first becomes the third
        (b"\x17\x13", [7, 8, 9], 7),
        (b"\x17\x13\x13", [7, 8, 9], 9),
        (b"\x96", [7], 7),  # nop
        (b"\x23" + uleb(300), [7], 307),  # plus_uconst
        (b"\x06", [5], 0x8877665544332216),  # deref
        (b"\x94\x01", [5], 0x16),  # deref_size
        (b"\x94\x04", [5], 0x44332216),
        (b"\x19", [-7], 7),  # abs
        (b"\x1f", [7], TOP - 7),  # neg
        (b"\x20", [0], TOP - 1),  # not
        (b"\x1a", [0b1100, 0b1010], 0b1000),
        (b"\x21", [0b1100, 0b1010], 0b1110),
        (b"\x27", [0b1100, 0b1010], 0b0110),
        (b"\x22", [TOP - 1, 3], 2),
        (b"\x1c", [3, 5], TOP - 2),
        (b"\x1e", [6, 7], 42),
        (b"\x1b", [-7, 2], TOP - 3),  # div is signed, towards zero
        (b"\x1b", [7, -2], TOP - 3),
        (b"\x1b", [-7, -2], 3),
        (b"\x1b", [7, 0], 0),
        (b"\x1d", [7, 4], 3),
        (b"\x1d", [7, 0], 0),
        (b"\x24", [1, 63], 2**63),
        (b"\x24", [1, 64], 0),
        (b"\x25", [TOP - 1, 63], 1),
        (b"\x25", [TOP - 1, 64], 0),
        (b"\x26", [-8, 1], TOP - 4),
        (b"\x26", [-8, 64], TOP - 1),
        (b"\x26", [8, 64], 0),
    ],
)
def test_operators_leave_their_result(code, stack, value) -> None:
    assert run(code, stack) == (value, True)


@pytest.mark.parametrize(
    ("code", "answers"),
    [
        (0x29, (0, 1, 0)), (0x2A, (0, 1, 1)), (0x2B, (0, 0, 1)),
        (0x2C, (1, 1, 0)), (0x2D, (1, 0, 0)), (0x2E, (1, 0, 1)),
    ],
)  # fmt: skip
def test_comparisons_are_signed(code, answers) -> None:
    assert tuple(run(bytes([code]), [left, 3])[0] for left in (-1, 3, 4)) == answers


@pytest.mark.parametrize(
    ("code", "needed"),
    [(bytes([code]), 2) for code in (*range(0x1A, 0x1F), 0x21, 0x22, *range(0x24, 0x28), *range(0x29, 0x2F))]
    + [(bytes([code]), 1) for code in (0x06, 0x12, 0x19, 0x1F, 0x20)]
    + [(b"\x13", 2), (b"\x14", 2), (b"\x15\x00", 1), (b"\x15\x02", 3), (b"\x16", 2), (b"\x17", 3)]
    + [(b"\x23\x01", 1), (b"\x94\x08", 1)],
)
def test_too_few_entries_on_the_stack_give_nothing(code, needed) -> None:
    """To drop the last entry leaves no result."""
    assert run(code, [1] * needed)[1] is True
    assert run(code, [1] * (needed - 1)) == (0, False)


def test_memory_that_was_not_recorded_is_not_good() -> None:
    assert run(b"\x06", [13])[1] is False
    assert run(b"\x06\x13", [1, 13])[1] is False


def test_an_empty_expression_gives_nothing() -> None:
    assert run(b"") == (0, False)
    assert run(b"\x96") == (0, False)
    assert run(b"\x96" + bytes([LIT + 3])) == (3, True)


def test_expressions_have_at_most_256_steps() -> None:
    assert run(b"\x96" * 255 + bytes([LIT + 3])) == (3, True)
    with pytest.raises(ObjectError, match="more than 256 steps"):
        parse_expression(b"\x96" * 257, 8, "<")


STORED = {
    0x00: ("Q", 0x1122334455667788), 0x02: ("H", 0xFFFE), 0x03: ("I", 0xFFFFFFFE), 0x04: ("Q", TOP - 2),
    0x0A: ("h", -2), 0x0B: ("i", -2), 0x0C: ("q", -2),
}  # fmt: skip


def cursor(data, size=8, at=0, order="<") -> CfiCursor:
    return CfiCursor(data, at, len(data), order, size, 0x1000)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("form", STORED)
def test_pointers_of_fixed_size(form, order) -> None:
    code, value = STORED[form]
    data = b"\xaa\xbb" + struct.pack(order + code, value)
    assert cursor(data, at=2, order=order).pointer_value(form) == value
    assert cursor(data, at=2, order=order).pointer(form) == value % TOP
    assert cursor(data, at=2, order=order).pointer(form | 0x10) == (value + 0x1002) % TOP  # from where it stands
    assert cursor(data, at=2, order=order).pointer(form | 0x30, 0x500) == (value + 0x500) % TOP
    for unknown in (0x20, 0x40, 0x60, 0x80):  # of the text, of the function, unheard of, to be read from the process
        place = cursor(data, at=2, order=order)
        assert place.pointer(form | unknown) is None
        assert place.position == len(data)  # it is passed over all the same


def test_pointers_of_any_size() -> None:
    assert cursor(uleb(2**40)).pointer(0x01) == 2**40
    assert cursor(sleb(-2)).pointer(0x09) == TOP - 2
    omitted = cursor(b"\x01\x02")
    assert omitted.pointer(0xFF) is None and omitted.position == 0
    for form in (0x05, 0x08, 0x0D):
        with pytest.raises(ObjectError, match="unknown pointer encoding"):
            cursor(bytes(8)).pointer(form)


@pytest.mark.parametrize(("at", "begin"), [(0, 0), (1, 8), (7, 8), (8, 8)])
def test_aligned_pointers(at, begin) -> None:
    data = bytes(range(24))
    assert cursor(data, at=at).pointer(0x50) == int.from_bytes(data[begin : begin + 8], "little")


def test_addresses_of_four_bytes_wrap_around() -> None:
    data = struct.pack("<i", -0x1002)
    assert cursor(data, size=4).pointer(0x1B) == 2**32 - 2
    assert cursor(struct.pack("<I", 7), size=4).pointer(0x00) == 7
    assert cursor(bytes(4) + struct.pack("<I", 7), size=4, at=1).pointer(0x50) == 7


@pytest.mark.parametrize(
    ("data", "unsigned", "signed"),
    [
        (b"\x3f", 63, 63),
        (b"\x40", 64, -64),
        (b"\x80\x01", 128, 128),
        (b"\x80\x7f", 0x3F80, -128),
        (b"\xff" * 9 + b"\x01", TOP - 1, -1),
        (b"\xff" * 9 + b"\x7f", TOP - 1, -1),
        (b"\x80" * 9 + b"\x01", 2**63, -(2**63)),
        (b"\x80" * 12 + b"\x7f", 0, 0),  # beyond 64 bits nothing counts
        (b"\xff" * 8 + b"\x7f", 2**63 - 1, -1),
    ],
)
def test_numbers_of_any_size(data, unsigned, signed) -> None:
    assert (cursor(data).uleb(), cursor(data).sleb()) == (unsigned, signed)


@pytest.mark.parametrize("read", ["u8", "uleb", "sleb", "block", "word", "c_string"])
def test_nothing_is_read_after_an_entry(read) -> None:
    """The bytes are there, but belong to what comes next."""
    data = b"\x81\x01\x01" + bytes(8)
    for end in (0, 1):
        place = CfiCursor(data, 0, end)
        if (read, end) != ("u8", 1):
            with pytest.raises(ObjectError, match="call frame information"):
                getattr(place, read)()


def test_blocks_and_strings_end_within_their_entry() -> None:
    place = cursor(b"\x03abc\x00def\x00")
    assert (place.block(), place.u8(), place.c_string(), place.position) == (b"abc", 0, b"def", 9)
    with pytest.raises(ObjectError, match="a block of 4 bytes"):
        cursor(b"\x04abc").block()
