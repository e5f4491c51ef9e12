"""Instructions of many call frame programs side by side, one row each.

The bytes of all programs lie end to end, the CIE's in front of the FDE's, with a zero (DW_CFA_nop) before, between and
behind them. Every byte is read as if an instruction began there, so that its end is known::

    bytes      0 0c 07 08 90 01 0 41 0e 10 0       follows      1 4 · · 6 · 7 8 10 · 11
    marked     x  x        x    x  x  x    x       (a byte within an instruction never gets a mark)

Programs with anything else than the usual instructions (expressions, addresses, unknown ones), or that end within an
instruction, are left to `run_instructions.rule_rows`.
"""

import numpy as np

from perf2x.base.binaries.cfi.opcodes import PACKED, by_code
from perf2x.base.columnar import (
    I64,
    U8,
    U64,
    Bools,
    Frozen,
    arange,
    as_int32,
    as_int64,
    as_uint64,
    bincount,
    cumsum,
    flatnonzero,
    ranges,
    repeat,
    searchsorted,
    take,
)
from perf2x.base.columnar.byte_streams import extended, number_ends, numbers, reached

_PACKED_FROM = 0x40
_PARTS = 5
"""A program is laid out as a nop, the CIE's instructions, a nop, the FDE's, a nop."""
_LONGEST = 10
"""Bytes of a LEB128 number of 64 bits."""
_PADDING = np.zeros(_LONGEST + 2, np.uint8)
_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}
_BYTE = arange(256)
_CODE = np.where(_BYTE & PACKED, _BYTE & PACKED, _BYTE)
"""(256,) the instruction that begins with each byte; its low six bits may be an operand."""
_FIXED_OF = by_code(lambda opcode: _SIZES.get(opcode.operands, 0))[_CODE]
"""Bytes of an operand of fixed size."""
_NUMBERS_OF = by_code(lambda opcode: opcode.operands.count("u") + opcode.operands.count("s"))[_CODE]
"""Number of LEB128 operands."""
_IS_USUAL = by_code(lambda opcode: not set(opcode.operands) & {"e", "p"})[_CODE] != 0
_IS_SIGNED = by_code(lambda opcode: opcode.operands.endswith("s")) != 0


class Bodies(Frozen):
    """Byte ranges of the programs of ``n`` functions in one section."""

    cie_start: I64
    cie_stop: I64
    start: I64
    stop: I64


class CfiInstructions(Frozen):
    """``i`` instructions of ``n`` programs, each of which begins and ends with a nop."""

    code: I64
    """(i,) DW_CFA_*, without the bits of an operand"""
    first: U64
    """(i,) operand: the low six bits of an instruction that has one there, or else its first number; 0 without"""
    last: I64
    """(i,) the last number, two's complement; 0 without. The distance of an instruction that advances."""
    program: I64
    """(i,) number of the program"""
    begin: I64
    """(n,) the nop before the CIE's instructions"""
    middle: I64
    """(n,) the nop between the CIE's and the FDE's"""
    end: I64
    """(n,) the nop behind the FDE's"""
    is_usual: Bools
    """(n,) False: the rows of this program mean nothing."""


def read_instructions(data: U8, bodies: Bodies) -> CfiInstructions:
    """Read the instructions of programs in little-endian bytes."""
    code, ends, part = _lay_end_to_end(data, bodies)
    number_end = number_ends(code)
    follows, limit = _follows(code, number_end), take(ends, part)
    nops = np.append(0, ends[:-1]).reshape(-1, _PARTS)[:, ::2]
    at = reached(as_int32(np.minimum(follows, limit) - arange(len(code))))
    program, byte = take(part, at) // _PARTS, take(code, at)
    first, last = _operands(np.append(code, _PADDING), at, number_end)
    strange = ~take(_IS_USUAL, byte) | (take(follows, at) > take(limit, at))
    is_usual = bincount(program[strange], len(nops)) == 0
    begin, middle, end = searchsorted(at, nops.T)
    return CfiInstructions(take(_CODE, byte), first, last, program, begin, middle, end, is_usual)


def _lay_end_to_end(data: U8, bodies: Bodies) -> tuple[U8, I64, I64]:
    """Return the bytes of all programs, the end of each part (nop, CIE, nop, FDE, nop), and the part of each byte."""
    starts = np.stack([bodies.cie_start, bodies.start], 1)
    inside = np.stack([bodies.cie_stop, bodies.stop], 1) - starts
    lengths = np.ones((len(starts), _PARTS), np.int64)
    lengths[:, 1::2] = inside
    ends = cumsum(lengths)
    code = np.zeros(ends[-1], np.uint8)
    places = ranges((ends - lengths.ravel()).reshape(-1, _PARTS)[:, 1::2].ravel(), inside.ravel())
    code[places] = data[ranges(starts.ravel(), inside.ravel())]
    return code, ends, repeat(arange(len(ends)), lengths.ravel())


def _follows(code: U8, number_end: I64) -> I64:
    """(b,) the byte behind an instruction that begins at each byte, as far as there are bytes."""
    end = np.append(number_end, [len(code) + 1] * 5)
    follows = arange(1, len(code) + 1) + _FIXED_OF[code]
    for count in (1, 2):
        follows = np.where(_NUMBERS_OF[code] >= count, end[np.minimum(follows, len(code))], follows)
    return follows


def _operands(code: U8, at: I64, number_end: I64) -> tuple[U64, I64]:
    """Return ``first`` and ``last`` of `CfiInstructions`."""
    byte, end = code[at], np.append(number_end, len(number_end))
    count, is_packed = _NUMBERS_OF[byte], byte >= _PACKED_FROM
    first = as_uint64(np.where(is_packed, byte & np.uint8(~PACKED & 0xFF), np.uint8(0)))
    last = first.view(np.int64).copy()
    spelled = flatnonzero((count > 0) & ~is_packed)
    first[spelled] = numbers(code, at[spelled] + 1, end[at[spelled] + 1])
    numbered = flatnonzero(count)
    place = at[numbered] + 1
    place = np.where(count[numbered] == 2, end[place], place)
    length = end[place] - place
    value = numbers(code, place, end[place])
    last[numbered] = extended(value, code[end[place] - 1], length, _IS_SIGNED[byte[numbered]])
    fixed = _FIXED_OF[byte]
    for nth in range(int(fixed.max())):
        rows = flatnonzero(fixed > nth)
        last[rows] |= as_int64(code[at[rows] + 1 + nth]) << 8 * nth
    return first, last
