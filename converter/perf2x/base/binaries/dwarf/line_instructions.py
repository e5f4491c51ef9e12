"""Runs line programs without a Python loop over their instructions.

A line program is code for a machine whose registers are address, file, line and discriminator; some instructions copy
them into a row of the line table. Addresses and lines are running sums of what the instructions add; files and
discriminators are the values set last. DW_LNE_end_sequence resets the registers, so programs are run in pieces of whole
sequences.

Source of truth: DWARF 5, section 6.2.5. op_index, which only VLIW machines use, is ignored.
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
from perf2x.base.columnar.byte_streams import decode_leb128, instruction_starts, leb128_ends, sign_extended
from perf2x.errors import ObjectError

# Bytes of a program to decode together; a longer sequence is decoded as a whole.
PIECE_SIZE = 1 << 20
# Maximum number of operands of an opcode that DWARF does not define; a header could state 255.
_MAX_OPERANDS = 4
# DW_LNS_*: copy, advance_pc, advance_line, set_file, set_column; const_add_pc, fixed_advance_pc, set_isa
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN = 1, 2, 3, 4, 5
_CONST_ADD_PC, _FIXED_ADVANCE_PC, _SET_ISA = 8, 9, 12
# DW_LNE_*: end_sequence, set_address, set_discriminator
_END_SEQUENCE, _SET_ADDRESS, _SET_DISCRIMINATOR = 1, 2, 4
# Zeros after a piece let operands that the piece cuts off be read like any others.
_PADDING = np.zeros(9, np.uint8)


class Machine(Frozen):
    """The state machine that runs a line program, as the header of the line table describes it."""

    byte_order: str
    address_size: int
    """In bytes."""
    min_length: int
    """Bytes of the processor's shortest instruction; the address advances by multiples of this."""
    line_base: int
    line_range: int
    """A special opcode adds line_base + (opcode − opcode_base) % line_range to the line."""
    opcode_base: int
    """The first special opcode."""
    operand_counts: bytes
    """Number of operands of each opcode below opcode_base, from opcode 1 on."""


class LineRows(Frozen):
    """Rows of a line table, in the order in which the program produces them."""

    address: U64
    file: I64
    """0 if the number has more than 31 bits."""
    line: I64
    """0 if the number is negative or has more than 31 bits."""
    is_end: Bools
    """Whether the row ends a sequence: its address is the first one after the sequence."""
    discriminator: I64
    """Distinguishes code on the same line; 0 for most."""


def run_line_program(machine: Machine, program: bytes) -> LineRows:
    """Run a line program; leave out unterminated sequences and sequences of discarded code.

    Raises ObjectError for an address of more than eight bytes, and for opcodes with absurdly many operands.
    """
    (rows,) = run_line_programs(machine, [program])
    return rows


def run_line_programs(machine: Machine, programs: Sequence[bytes]) -> list[LineRows]:
    """Run programs together, each as `run_line_program` does; returns the rows of each.

    All programs but the last must consist of whole sequences; the last may end in a partial one.
    """
    rows, instruction_end = _run(machine, b"".join(programs))
    cuts = searchsorted(instruction_end, cumsum([len(program) for program in programs]), "right")
    return [take_rows_of(rows, slice(start, end)) for start, end in pairwise([0, *cuts.tolist()])]


def _run(machine: Machine, program: bytes) -> tuple[LineRows, I64]:
    """Return the rows, and the offset in ``program`` after the instruction that produced each row, shape (rows,)."""
    opcodes, code = _opcodes(machine), np.frombuffer(program, np.uint8)
    pieces, instruction_ends = [no_rows(LineRows)], [zeros(0)]
    start, size = 0, PIECE_SIZE
    while start < len(code):
        instructions = _instructions(opcodes, code[start : start + size])
        if len(instructions.end):
            rows, end = _rows(machine, opcodes, instructions)
            linked_rows = _select_linked(machine, rows)
            pieces.append(take_rows_of(rows, linked_rows))
            instruction_ends.append(end[linked_rows] + start)
            start, size = start + int(instructions.end[-1]), PIECE_SIZE
        elif start + size < len(code):  # the sequence is longer than the piece
            size *= 4
        else:
            break
    return join_tables(pieces), np.concatenate(instruction_ends)


class _Opcodes:
    """The effects of the 256 opcodes, in arrays of shape (256,).

    With opcode_base 10, the numbers 10 to 12 are special opcodes.
    """

    def __init__(self, machine: Machine) -> None:
        base, line_range = max(machine.opcode_base, 1), machine.line_range or 1
        adjusted = arange(256) - base
        self.is_special = adjusted >= 0
        # the number of LEB128 operands after each opcode
        self.operand_counts = np.zeros(256, np.uint8)
        self.operand_counts[[_ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN, _SET_ISA]] = 1
        # DWARF does not define the opcodes from 13 on; the header states how many operands they have
        undefined_counts = np.frombuffer(machine.operand_counts[_SET_ISA:], np.uint8)
        if undefined_counts.max(initial=0) > _MAX_OPERANDS:
            raise ObjectError(f"debug info: a line table gives an opcode {undefined_counts.max()} operands")
        self.operand_counts[_SET_ISA + 1 : _SET_ISA + 1 + len(undefined_counts)] = undefined_counts
        self.operand_counts[self.is_special] = 0
        advance = adjusted // line_range * machine.min_length
        advance[~self.is_special] = 0
        if base > _CONST_ADD_PC:
            advance[_CONST_ADD_PC] = (255 - base) // line_range * machine.min_length
        # what the opcode itself adds to address and line; its operands may add more
        self.address_advance = as_uint64(advance)
        self.line_advance = np.where(self.is_special, machine.line_base + adjusted % line_range, 0)

    def indexes_of(self, opcodes: U8, standard_opcode: int) -> I64:
        """Return where ``opcodes`` (n,) has a standard opcode; nowhere if its number is a special opcode here."""
        return flatnonzero((opcodes == standard_opcode) & ~self.is_special[standard_opcode])


_opcodes = lru_cache(maxsize=8)(_Opcodes)


class _LineInstructions(Frozen):
    """The ``n`` instructions of some whole sequences."""

    # The bytes of the piece, then zeros (_PADDING).
    code: U8
    # For each byte of ``code``, the offset after the LEB128 number that begins there.
    number_end: I32
    # (n,)
    opcode: U8
    # (n,) 0 for instructions that are not extended
    extended_opcode: U8
    # (n,) offset of the first operand in ``code``
    operand_start: I64
    # (n,) offset after the instruction in ``code``
    end: I64

    def leb_operands(self, indexes: I64) -> U64:
        start = self.operand_start[indexes]
        return decode_leb128(self.code, start, as_int64(self.number_end[start]))

    def fixed_operands(self, indexes: I64, byte_order: str) -> U64:
        """Return the operand of each of these instructions, an integer that ends where the instruction does.

        Raises ObjectError for integers of more than 8 bytes.
        """
        start, size = self.operand_start[indexes], self.end[indexes] - self.operand_start[indexes]
        longest = int(size.max(initial=0))
        if longest > 8:
            raise ObjectError(f"debug info: a line table has an address of {longest} bytes")
        value = np.zeros(len(indexes), np.uint64)
        for index in range(longest):  # from the most significant byte on; shorter integers have no more bytes
            byte_offset = start + index if byte_order == ">" else start + size - 1 - index
            value = np.where(size > index, value << np.uint64(8) | self.code[byte_offset], value)
        return value


def _instructions(opcodes: _Opcodes, piece: U8) -> _LineInstructions:
    count = len(piece)
    code = np.append(piece, _PADDING)
    # a number that the piece cuts off ends beyond it
    number_end = np.append(as_int32(leb128_ends(piece)), np.full(len(_PADDING), count + 1, np.int32))
    end_by_start = _instruction_ends(opcodes, code, number_end, count)
    begin = instruction_starts(np.minimum(end_by_start, count) - np.arange(count, dtype=np.int32))
    opcode, operand_start, end = piece[begin], begin + 1, as_int64(end_by_start[begin])
    # an extended instruction is: opcode 0, size of what follows as LEB128, extended opcode, operands
    extended_opcode = np.zeros(len(begin), np.uint8)
    extended = flatnonzero(opcode == 0)
    size_end = as_int64(number_end[operand_start[extended]])
    has_opcode = size_end < np.minimum(end[extended], count)  # not if its size is 0, or the piece cuts it off
    extended_opcode[extended] = np.where(has_opcode, code[np.minimum(size_end, count)], np.uint8(0))
    operand_start[extended] = size_end + has_opcode
    sequence_ends = flatnonzero((extended_opcode == _END_SEQUENCE) & (end <= count))
    in_whole_sequences = slice(0, int(sequence_ends[-1]) + 1 if len(sequence_ends) else 0)
    return _LineInstructions(
        code,
        number_end,
        opcode[in_whole_sequences],
        extended_opcode[in_whole_sequences],
        operand_start[in_whole_sequences],
        end[in_whole_sequences],
    )


def _instruction_ends(opcodes: _Opcodes, code: U8, number_end: I32, count: int) -> I32:
    """Return for each byte the offset after the instruction that would begin there, shape (``count``,).

    The offset is larger than ``count`` if the piece cuts the instruction off.
    """
    piece = code[:count]
    end = np.arange(1, count + 1, dtype=np.int32)
    end[opcodes.indexes_of(piece, _FIXED_ADVANCE_PC)] += 2
    # Skip the first LEB128 operand of all instructions, then the second of those with two or more, and so on.
    operand_count = opcodes.operand_counts[piece]
    for ordinal in range(1, int(operand_count.max(initial=0)) + 1):
        end = np.where(operand_count >= ordinal, number_end[np.minimum(end, count)], end)
    extended = flatnonzero(piece == 0)
    size_end = as_int64(number_end[extended + 1])
    size = as_int64(np.minimum(decode_leb128(code, extended + 1, size_end), np.uint64(count)))
    end[extended] = size_end + size
    return end


def _rows(machine: Machine, opcodes: _Opcodes, instructions: _LineInstructions) -> tuple[LineRows, I64]:
    """Return the rows, and the offset in the piece after the instruction that produced each row, shape (rows,)."""
    opcode, sequence_ends = instructions.opcode, flatnonzero(instructions.extended_opcode == _END_SEQUENCE)
    is_row = opcodes.is_special[opcode]
    is_row[opcodes.indexes_of(opcode, _COPY)] = True
    is_row[sequence_ends] = True
    row_makers = flatnonzero(is_row)
    set_file = opcodes.indexes_of(opcode, _SET_FILE)
    first_file = np.ones(len(sequence_ends), np.uint64)  # each sequence begins with file 1
    file_setters = [(set_file, instructions.leb_operands(set_file)), (sequence_ends, first_file)]
    file = _last_set(len(opcode), file_setters, 1)[row_makers]
    discriminator = np.zeros(len(row_makers), np.uint64)
    setters = flatnonzero(instructions.extended_opcode == _SET_DISCRIMINATOR)
    if len(setters):  # each row resets the discriminator
        values = instructions.leb_operands(setters)
        discriminator = _last_set(len(opcode), [(setters, values), (row_makers, discriminator)], 0)[row_makers]
    line = _lines(opcodes, instructions, sequence_ends)[row_makers]
    is_end = instructions.extended_opcode[row_makers] == _END_SEQUENCE
    rows = LineRows(
        _addresses(machine, opcodes, instructions, sequence_ends)[row_makers],
        as_int64(np.where(file < 2**31, file, 0)),
        np.where((line >= 0) & (line < 2**31), line, 0),
        is_end,
        as_int64(np.where((discriminator < 2**32) & ~is_end, discriminator, 0)),
    )
    return rows, instructions.end[row_makers]


def _addresses(machine: Machine, opcodes: _Opcodes, instructions: _LineInstructions, sequence_ends: I64) -> U64:
    """Return the address of the row that each instruction would produce, shape (n,).

    It is the sum of all advances so far, plus a correction that DW_LNE_set_address and the end of a sequence change::

        instruction   set_address 0x100   special +4   special +8   end_sequence   set_address 0x500   special +4
        sum           0                   4            12           12             12                  16
        correction    0                   0x100        0x100        0x100          −12                 0x500 − 12
    """
    advance = opcodes.address_advance[instructions.opcode]
    advance_pc = opcodes.indexes_of(instructions.opcode, _ADVANCE_PC)
    advance[advance_pc] = instructions.leb_operands(advance_pc) * np.uint64(machine.min_length)
    fixed_advance_pc = opcodes.indexes_of(instructions.opcode, _FIXED_ADVANCE_PC)
    advance[fixed_advance_pc] = instructions.fixed_operands(fixed_advance_pc, machine.byte_order)
    total = np.cumsum(advance, dtype=np.uint64)
    set_address = flatnonzero(instructions.extended_opcode == _SET_ADDRESS)
    operands = instructions.fixed_operands(set_address, machine.byte_order)
    corrections = [(set_address, operands - total[set_address]), (sequence_ends, -total[sequence_ends])]
    return total + _last_set(len(total), corrections, 0)


def _lines(opcodes: _Opcodes, instructions: _LineInstructions, sequence_ends: I64) -> I64:
    """Return the line of the row that each instruction would produce, shape (n,).

    Like an address, it is a sum of advances plus a correction (`_addresses`).
    """
    advance = opcodes.line_advance[instructions.opcode]
    advance_line = opcodes.indexes_of(instructions.opcode, _ADVANCE_LINE)
    start = instructions.operand_start[advance_line]
    end = as_int64(instructions.number_end[start])
    operands = instructions.leb_operands(advance_line)
    advance[advance_line] = sign_extended(operands, instructions.code[end - 1], end - start)
    total = cumsum(advance)
    return total + _last_set(len(total), [(sequence_ends, 1 - total[sequence_ends])], 1)


def _last_set(count: int, setters: list[tuple[I64, AnyArray]], default: int) -> AnyArray:
    """Return for each of ``count`` instructions the value that an earlier instruction set last, else ``default``.

    ``setters`` are pairs (indexes of instructions, values that they set); a value applies from the next instruction on.
    Example: values [7, 9] set by the instructions [1, 3], of 6 → [0, 0, 7, 7, 9, 9].
    """
    index, value = (np.concatenate(column) for column in zip(*setters, strict=True))
    order = argsort(index)
    lengths = np.diff(index[order] + 1, prepend=0, append=count)
    return repeat(np.append(np.array([default], value.dtype), value[order]), lengths)


def _select_linked(machine: Machine, rows: LineRows) -> slice | Bools:
    """Return a slice or mask of the rows of sequences that are part of the linked program.

    The linker moves the sequences of discarded code to address 0 or 1; lld moves them to one of the two highest
    addresses.
    """
    last = flatnonzero(rows.is_end)
    first = np.append(0, last[:-1] + 1)
    address = rows.address[first]
    tombstone = min(max((1 << 8 * machine.address_size) - 2, 0), 2**64 - 1)
    is_linked = (address > 1) & (address < np.uint64(tombstone))
    return slice(None) if is_linked.all() else repeat(is_linked, last + 1 - first)
