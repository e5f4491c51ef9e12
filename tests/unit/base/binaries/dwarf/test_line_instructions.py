"""Line programs as columns give the rows of a machine that runs one instruction after another."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perf2x.base.binaries.dwarf import line_instructions
from perf2x.base.binaries.dwarf.attribute_forms import sleb128, uleb128
from perf2x.base.binaries.dwarf.line_instructions import LineRows, Machine, run_line_program
from perf2x.errors import ObjectError

MACHINE = Machine("<", 8, 1, -5, 14, 13, bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]))
OTHERS = [
    MACHINE,
    Machine(">", 4, 4, -1, 4, 10, bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])),
    Machine("<", 8, 1, -3, 0, 15, bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2, 0])),
    Machine("<", 2, 255, 127, 255, 4, bytes([0, 1, 1])),
]
Row = tuple[int, int, int, bool, int]


def standard(machine: Machine, program: bytes, at: int, file: int) -> tuple[int, int, int, int]:
    """(address and line to add, file, offset of the next instruction) of the one whose opcode is before ``at``."""
    code, order = program[at - 1], "little" if machine.byte_order == "<" else "big"
    address = line = 0
    if code == 2:
        address, at = uleb128(program, at)
        address *= machine.min_length
    elif code == 3:
        line, at = sleb128(program, at)
    elif code == 4:
        file, at = uleb128(program, at)
    elif code == 8:
        address = (255 - machine.opcode_base) // (machine.line_range or 1) * machine.min_length
    elif code == 9:
        address, at = int.from_bytes(program[at : at + 2], order), at + 2
    elif code in (5, 12) or code > 12:
        for _ in range(machine.operand_counts[code - 1]):
            _, at = uleb128(program, at)
    return address, line, file, at


def one_by_one(machine: Machine, program: bytes) -> list[Row]:
    """The rows of whole sequences, by a machine with registers."""
    order = "little" if machine.byte_order == "<" else "big"
    rows: list[Row] = []
    span, at, start = machine.line_range or 1, 0, 0
    address, file, line, mark = 0, 1, 1, 0
    while at < len(program):
        code, at = program[at], at + 1
        try:
            if code >= machine.opcode_base:
                beyond = code - machine.opcode_base
                address += beyond // span * machine.min_length
                line += machine.line_base + beyond % span
                rows.append((address, file, line, False, mark))
                mark = 0
            elif code == 0:
                size, at = uleb128(program, at)
                if at + size > len(program):
                    break
                kind = program[at] if size else 0
                if kind == 1:
                    rows.append((address, file, line, True, 0))
                    first = rows[start][0] % 2**64
                    if not 1 < first < (1 << 8 * machine.address_size) - 2:
                        del rows[start:]
                    address, file, line, mark, start = 0, 1, 1, 0, len(rows)
                elif kind == 2:
                    address = int.from_bytes(program[at + 1 : at + size], order)
                elif kind == 4:
                    mark = uleb128(program, at + 1)[0]
                at += size
            elif code == 1:
                rows.append((address, file, line, False, mark))
                mark = 0
            else:
                more, below, file, at = standard(machine, program, at, file)
                address, line = address + more, line + below
        except IndexError:
            break
    return [
        (address % 2**64, file if file < 2**31 else 0, line if 0 <= line < 2**31 else 0, is_end, mark % 2**64)
        for address, file, line, is_end, mark in rows[:start]
    ]


def listed(rows: LineRows) -> list[Row]:
    columns = (getattr(rows, name).tolist() for name in LineRows.__struct_fields__)
    return list(zip(*columns, strict=True))


def number(value: int) -> bytes:
    out = bytearray()
    while True:
        value, byte = value >> 7, value & 0x7F
        if not value:
            return bytes([*out, byte])
        out.append(byte | 0x80)


def extended(kind: int, rest: bytes = b"") -> bytes:
    return b"\0" + number(1 + len(rest)) + bytes([kind]) + rest


NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 2**40))
END = extended(1)
INSTRUCTIONS = st.one_of(
    st.integers(1, 255).map(lambda code: bytes([code])),
    st.builds(lambda code, value: bytes([code]) + number(value), st.sampled_from([2, 3, 4, 5, 12]), NUMBERS),
    st.builds(lambda value: b"\x09" + value, st.binary(min_size=2, max_size=2)),
    st.builds(lambda value: extended(2, value), st.sampled_from([b"\0" * 8, b"\0\x10\0\0", bytes(range(8)), b"\1"])),
    st.builds(lambda value: extended(4, number(value % 2**31)), NUMBERS),
    st.builds(lambda value: extended(0x80, value), st.binary(max_size=200)),
    st.sampled_from([END, b"\0\0", b"\0\x81\0\1", b"\0\x02\1\xff", extended(3, b"a\0")]),
)


@pytest.mark.parametrize("machine", OTHERS)
@pytest.mark.parametrize("piece", [1, 16, 1 << 20])
@given(program=st.lists(INSTRUCTIONS, max_size=60).map(b"".join), cut=st.integers(0, 6))
@example(program=extended(2, bytes(range(8))) + b"\x20\x30" + END + b"\x20" + END, cut=0)
@example(program=b"\x20" * 300 + END + extended(2, bytes(range(8))) + b"\x01" * 300 + END, cut=0)
def test_rows_are_those_of_a_machine_with_registers(machine, piece, program, cut) -> None:
    program = program[: len(program) - cut]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_instructions, "PIECE_SIZE", piece)
        assert listed(run_line_program(machine, program)) == one_by_one(machine, program)


def test_an_address_of_more_than_eight_bytes_is_an_error() -> None:
    with pytest.raises(ObjectError, match="an address of 9 bytes"):
        run_line_program(MACHINE, extended(2, bytes(9)) + END)


def test_absurdly_many_operands_are_an_error() -> None:
    machine = Machine("<", 8, 1, -5, 14, 14, bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 255]))
    with pytest.raises(ObjectError, match="255 operands"):
        run_line_program(machine, b"\x0d" + END)
