"""Line programs as columns: the instructions of a piece of a program are decoded side by side.

The end of a sequence resets the machine's registers, so a program is read in pieces of whole sequences. Within one,
addresses and lines are running sums; files and discriminators are the ones set last. Source of truth: DWARF 5, section
6.2.5. op_index, which only VLIW machines use, is ignored; Linux runs on none of them.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    AnyArray,
    Bools,
    Frozen,
    arange,
    argsort,
    as_int32,
    as_int64,
    as_uint64,
    cumsum,
    flatnonzero,
    join_tables,
    no_rows,
    repeat,
    searchsorted,
    take_rows_of,
    zeros,
)
from perf2x.base.columnar.byte_streams import extended, number_ends, numbers, reached
from perf2x.errors import ObjectError

PIECE = 1 << 20
"""Bytes of a program to decode together; more if a sequence is longer."""
_MAX_OPERANDS = 4
"""Maximum number of operands of an opcode that DWARF does not define; a header could state 255."""
_COPY, _ADVANCE, _LINE, _FILE, _COLUMN, _CONSTANT, _FIXED, _ISA = 1, 2, 3, 4, 5, 8, 9, 12
_END, _ADDRESS, _DISCRIMINATOR = 1, 2, 4
"""Extended opcodes."""
_PADDING = np.zeros(9, np.uint8)


class Machine(Frozen):
    """The part of a line table's header that determines how its program runs."""

    byte_order: str
    address_size: int
    step: int
    """Bytes of the shortest instruction."""
    line_base: int
    line_range: int
    opcode_base: int
    """The first special opcode."""
    operands: bytes
    """Operand counts of the opcodes, from opcode 1 on."""


class LineRows(Frozen):
    """Rows in program order."""

    address: U64
    file: I64
    line: I64
    """File and line numbers beyond 31 bits are 0."""
    is_end: Bools
    """The row ends a sequence: addresses after it are unknown."""
    discriminator: I64
    """Distinguishes code on the same line; 0 for most."""


def run_line_program(machine: Machine, program: bytes) -> LineRows:
    """Run a line program, skipping unterminated sequences and those of discarded code.

    Raises ObjectError for an address of more than eight bytes, and for opcodes with absurdly many operands.
    """
    (rows,) = run_line_programs(machine, [program])
    return rows


def run_line_programs(machine: Machine, programs: Sequence[bytes]) -> list[LineRows]:
    """Run programs of whole sequences together, as `run_line_program` does.

    The last one may end in a partial sequence.
    """
    rows, after = _run(machine, b"".join(programs))
    cuts = searchsorted(after, cumsum([len(program) for program in programs]), "right")
    return [take_rows_of(rows, slice(start, end)) for start, end in pairwise([0, *cuts.tolist()])]


def _run(machine: Machine, program: bytes) -> tuple[LineRows, I64]:
    """Return the rows of a program, and (rows,) the offset after the instruction that produced each."""
    opcodes, code = _opcodes(machine), np.frombuffer(program, np.uint8)
    pieces, after = [no_rows(LineRows)], [zeros(0)]
    at, size = 0, PIECE
    while at < len(code):
        found = _instructions(opcodes, code[at : at + size])
        if len(found.end):
            rows, ends = _rows(machine, opcodes, found)
            linked = _linked(machine, rows)
            pieces.append(take_rows_of(rows, linked))
            after.append(ends[linked] + at)
            at, size = at + int(found.end[-1]), PIECE
        elif at + size < len(code):
            size *= 4
        else:
            break
    return join_tables(pieces), np.concatenate(after)


class _Opcodes:
    """The effect of each of the 256 opcodes of a program: arrays of shape (256,)."""

    def __init__(self, machine: Machine) -> None:
        base, span = max(machine.opcode_base, 1), machine.line_range or 1
        beyond = arange(256) - base
        self.is_special = beyond >= 0
        self.operands = np.zeros(256, np.uint8)
        self.operands[[_ADVANCE, _LINE, _FILE, _COLUMN, _ISA]] = 1
        unknown = np.frombuffer(machine.operands[_ISA:], np.uint8)
        if unknown.max(initial=0) > _MAX_OPERANDS:
            raise ObjectError(f"debug info: a line table gives an opcode {unknown.max()} operands")
        self.operands[_ISA + 1 : _ISA + 1 + len(unknown)] = unknown
        self.operands[self.is_special] = 0
        advance = beyond // span * machine.step
        advance[~self.is_special] = 0
        if base > _CONSTANT:
            advance[_CONSTANT] = (255 - base) // span * machine.step
        self.advance = as_uint64(advance)
        self.line = np.where(self.is_special, machine.line_base + beyond % span, 0)

    def are(self, code: U8, opcode: int) -> I64:
        """Return the rows with a standard opcode."""
        return flatnonzero(code == opcode) if not self.is_special[opcode] else flatnonzero(code[:0])


_opcodes = lru_cache(maxsize=8)(_Opcodes)
"""Cached, because most programs of a file have the same opcodes."""


class _LineInstructions(Frozen):
    """The ``n`` instructions of some whole sequences."""

    code: U8
    """Their bytes, followed by some zeros."""
    number_end: I32
    """For each byte, the offset after the LEB128 number that begins there."""
    opcode: U8
    kind: U8
    """Extended opcode, 0 for others."""
    operand: I64
    """Offset of the first operand."""
    end: I64
    """Offset after the instruction."""

    def numbers(self, rows: I64) -> U64:
        """Return the first operands of instructions, as LEB128 numbers."""
        at = self.operand[rows]
        return numbers(self.code, at, as_int64(self.number_end[at]))

    def integers(self, rows: I64, order: str) -> U64:
        """Return the fixed-size operands that fill the rest of instructions.

        Raises ObjectError for more than 8 bytes.
        """
        at, size = self.operand[rows], self.end[rows] - self.operand[rows]
        longest = int(size.max(initial=0))
        if longest > 8:
            raise ObjectError(f"debug info: a line table has an address of {longest} bytes")
        value = np.zeros(len(rows), np.uint64)
        for byte in range(longest):
            place = at + byte if order == ">" else at + size - 1 - byte
            value = np.where(size > byte, value << np.uint64(8) | self.code[place], value)
        return value


def _instructions(opcodes: _Opcodes, piece: U8) -> _LineInstructions:
    """Find the instructions up to the last end of a sequence."""
    count = len(piece)
    code = np.append(piece, _PADDING)
    number_end = np.append(as_int32(number_ends(piece)), np.full(len(_PADDING), count + 1, np.int32))
    follows = _follows(opcodes, code, number_end, count)
    at = reached(np.minimum(follows, count) - np.arange(count, dtype=np.int32))
    opcode, operand, end = piece[at], at + 1, as_int64(follows[at])
    kind = np.zeros(len(at), np.uint8)
    spelled = flatnonzero(opcode == 0)
    size_end = as_int64(number_end[operand[spelled]])  # the size of an extended instruction, in bytes
    has_kind = size_end < np.minimum(end[spelled], count)
    kind[spelled] = np.where(has_kind, code[np.minimum(size_end, count)], np.uint8(0))
    operand[spelled] = size_end + has_kind
    last = flatnonzero((kind == _END) & (end <= count))
    whole = slice(0, int(last[-1]) + 1 if len(last) else 0)
    return _LineInstructions(code, number_end, opcode[whole], kind[whole], operand[whole], end[whole])


def _follows(opcodes: _Opcodes, code: U8, number_end: I32, count: int) -> I32:
    """Return (``count``,) for each byte the offset after an instruction that begins there.

    The offset is larger than ``count`` if the instruction is cut off.
    """
    piece = code[:count]
    follows = np.arange(1, count + 1, dtype=np.int32)
    follows[opcodes.are(piece, _FIXED)] += 2
    operands = opcodes.operands[piece]
    for number in range(1, int(operands.max(initial=0)) + 1):
        follows = np.where(operands >= number, number_end[np.minimum(follows, count)], follows)
    at = flatnonzero(piece == 0)
    size_end = as_int64(number_end[at + 1])
    size = as_int64(np.minimum(numbers(code, at + 1, size_end), np.uint64(count)))
    follows[at] = size_end + size
    return follows


def _rows(machine: Machine, opcodes: _Opcodes, found: _LineInstructions) -> tuple[LineRows, I64]:
    """Return the rows that instructions produce, discarded code included, and the end of each instruction."""
    opcode, ends = found.opcode, flatnonzero(found.kind == _END)
    is_row = opcodes.is_special[opcode]
    is_row[opcodes.are(opcode, _COPY)] = True
    is_row[ends] = True
    row = flatnonzero(is_row)
    files = opcodes.are(opcode, _FILE)
    file = _in_effect(len(opcode), [(files, found.numbers(files)), (ends, np.ones(len(ends), np.uint64))], 1)[row]
    mark = np.zeros(len(row), np.uint64)
    marks = flatnonzero(found.kind == _DISCRIMINATOR)
    if len(marks):  # each row resets the discriminator
        mark = _in_effect(len(opcode), [(marks, found.numbers(marks)), (row, mark)], 0)[row]
    line = _lines(opcodes, found, ends)[row]
    rows = LineRows(
        _addresses(machine, opcodes, found, ends)[row],
        as_int64(np.where(file < 2**31, file, 0)),
        np.where((line >= 0) & (line < 2**31), line, 0),
        found.kind[row] == _END,
        as_int64(np.where((mark < 2**32) & (found.kind[row] != _END), mark, 0)),
    )
    return rows, found.end[row]


def _addresses(machine: Machine, opcodes: _Opcodes, found: _LineInstructions, ends: I64) -> U64:
    """Return (n,) the address after each instruction; for the end of a sequence, the address before the reset."""
    advance = opcodes.advance[found.opcode]
    rows = opcodes.are(found.opcode, _ADVANCE)
    advance[rows] = found.numbers(rows) * np.uint64(machine.step)
    rows = opcodes.are(found.opcode, _FIXED)
    advance[rows] = found.integers(rows, machine.byte_order)
    total = np.cumsum(advance, dtype=np.uint64)
    rows = flatnonzero(found.kind == _ADDRESS)
    operands = found.integers(rows, machine.byte_order)
    return total + _in_effect(len(total), [(rows, operands - total[rows]), (ends, -total[ends])], 0)


def _lines(opcodes: _Opcodes, found: _LineInstructions, ends: I64) -> I64:
    """Return (n,) the line after each instruction."""
    advance = opcodes.line[found.opcode]
    rows = opcodes.are(found.opcode, _LINE)
    at = found.operand[rows]
    end = as_int64(found.number_end[at])
    advance[rows] = extended(found.numbers(rows), found.code[end - 1], end - at)
    total = cumsum(advance)
    return total + _in_effect(len(total), [(ends, 1 - total[ends])], 1)


def _in_effect(count: int, setters: list[tuple[I64, AnyArray]], default: int) -> AnyArray:
    """Return (``count``,) the value last set before each instruction; ``setters`` are pairs of rows and values."""
    row, value = (np.concatenate(column) for column in zip(*setters, strict=True))
    order = argsort(row)
    lengths = np.diff(row[order] + 1, prepend=0, append=count)
    return repeat(np.append(np.array([default], value.dtype), value[order]), lengths)


def _linked(machine: Machine, rows: LineRows) -> slice | Bools:
    """Select the rows of linked code: sequences of discarded code begin at address 0, 1 or one of the highest."""
    last = flatnonzero(rows.is_end)
    first = np.append(0, last[:-1] + 1)
    address = rows.address[first]
    highest = min(max((1 << 8 * machine.address_size) - 2, 0), 2**64 - 1)
    is_linked = (address > 1) & (address < np.uint64(highest))
    return slice(None) if is_linked.all() else repeat(is_linked, last + 1 - first)
