"""Sequences that may hold an address tell of it what the whole line program does."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perf2x.base.binaries.dwarf import line_instructions
from perf2x.base.binaries.dwarf.line_instructions import LineRows, Machine, run_line_program, run_line_programs
from perf2x.base.binaries.dwarf.line_sequences import sequences_at
from tests.unit.base.binaries.dwarf.test_line_instructions import END, MACHINE, extended, listed

OLD = Machine(">", 4, 4, -1, 4, 10, bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]))
QUIET = st.sampled_from([b"\x05\x00", b"\x03\x80\x7f", b"\x04\x02", b"\x06", b"\x07"])
MARKS = st.sampled_from([b"\x00\x02\x04\x01", b"\x00\x03\x04\x81\x01", extended(0x80, b"\0\1\1"), b"\x00\x01\x05"])
ROWS = st.sampled_from([b"\x01", b"\x20", b"\xff", b"\x08", b"\x02\x03", b"\x09\x00\x01", b"\x05\0\1\1"])
SEQUENCES = st.tuples(
    st.lists(QUIET, max_size=3).map(b"".join), st.lists(QUIET | MARKS | ROWS, max_size=12).map(b"".join)
)


def sequence(machine: Machine, at: int, quiet: bytes = b"", loud: bytes = b"\x20\x20") -> bytes:
    order = "little" if machine.byte_order == "<" else "big"
    return quiet + extended(2, at.to_bytes(machine.address_size, order)) + loud + b"\x01\x02\x05" + END


def found(rows: LineRows, address: int) -> tuple[int, int] | None:
    """(file, line) of an address: of the last of all rows up to it."""
    before = [row for row in listed(rows) if row[0] <= address]
    last = max(before, key=lambda row: (row[0], not row[3]), default=None)
    held = [row for row in before if last is not None and (row[0], row[3]) == (last[0], last[3])]
    return held[-1][1:3] if held and not held[-1][3] else None


@pytest.mark.parametrize("machine", [MACHINE, OLD])
@given(parts=st.lists(SEQUENCES, min_size=1, max_size=5), order=st.randoms(use_true_random=False))
def test_they_tell_what_the_whole_program_tells(machine: Machine, parts: list[tuple[bytes, bytes]], order) -> None:
    at, pieces = 0x1000, []
    for quiet, loud in parts:
        pieces.append(sequence(machine, at, quiet, loud))
        at = listed(run_line_program(machine, pieces[-1]))[-1][0] + order.randrange(2) * 16
    order.shuffle(pieces)
    whole = run_line_program(machine, b"".join(pieces))
    wanted = [order.randrange(0x1000, at + 8) for _ in range(3)]
    some = sequences_at(machine, b"".join(pieces), np.array(wanted, np.uint64))
    assert not some or len(some) == sum(len(piece) for piece in pieces if piece in some)
    rows = run_line_program(machine, some)
    assert [found(rows, one) for one in wanted] == [found(whole, one) for one in wanted]


def test_only_sequences_that_begin_last_before_an_address_are_read() -> None:
    first, second, third = (sequence(MACHINE, at) for at in (0x2000, 0x1000, 0x3000))
    asked = np.array([0x1001, 0x1002, 0x3000], np.uint64)
    assert sequences_at(MACHINE, first + second + third, asked) == second + third
    assert sequences_at(MACHINE, first + second + third, np.array([0xFFF], np.uint64)) == b""


def test_equal_beginnings_are_all_read() -> None:
    parts = [sequence(MACHINE, at, loud=loud) for at, loud in ((0x2000, b"\x20"), (0x1000, b"\x20"), (0x2000, b"\x30"))]
    assert sequences_at(MACHINE, b"".join(parts), np.array([0x2001], np.uint64)) == parts[0] + parts[2]


@pytest.mark.parametrize(
    "other",
    [
        b"\x20" + sequence(MACHINE, 0x1000),  # a row before the address
        sequence(MACHINE, 0x1000, loud=extended(2, bytes(8))),  # a second address
        b"\x20" + END,  # no address
        sequence(MACHINE, 0x1000, loud=b"\0\0"),  # an instruction without a kind
        sequence(MACHINE, 0x1000, loud=extended(1, b"\1")),  # an end with an operand
        sequence(MACHINE, 0x1000)[:-1],
    ],
)
def test_programs_that_are_not_understood_are_read_whole(other: bytes) -> None:
    assert sequences_at(MACHINE, sequence(MACHINE, 0x2000) + other, np.array([0x2000], np.uint64)) == b""


def test_machines_with_other_opcodes_are_read_whole() -> None:
    odd = Machine("<", 8, 1, -5, 14, 13, bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1]))
    assert sequences_at(odd, sequence(MACHINE, 0x2000), np.array([0x2000], np.uint64)) == b""


@pytest.mark.parametrize("piece", [1, 1 << 20])
@given(counts=st.lists(st.integers(0, 3), min_size=1, max_size=5))
@example(counts=[0, 1, 0])
def test_programs_that_are_run_together_keep_their_rows(piece: int, counts: list[int]) -> None:
    programs = [
        b"".join(sequence(MACHINE, 0x1000 * number + 0x100 * row * (number != 2)) for row in range(count))
        for number, count in enumerate(counts)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_instructions, "PIECE_SIZE", piece)
        together = run_line_programs(MACHINE, programs)
    assert [listed(rows) for rows in together] == [listed(run_line_program(MACHINE, one)) for one in programs]
