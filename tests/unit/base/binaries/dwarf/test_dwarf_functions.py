"""Walks over entries pass over what holds no code, and nothing else."""

import struct

import pytest

from perf2x.base.binaries.dwarf.dwarf_functions import function_chains, subprograms
from perf2x.errors import ObjectError
from tests.unit.symbolizer.sources.test_damaged_debug_info import FIRST, by_hand, entry

ABBREVIATIONS = (
    b"\x01\x11\x01\x11\x01\x12\x06\x00\x00"  # unit: low_pc addr, high_pc data4
    b"\x02\x2e\x00\x11\x01\x12\x06\x03\x08\x00\x00"  # function: low_pc, high_pc, name string
    b"\x03%c\x01\x01\x13\x00\x00"  # sibling ref4
    b"\x04\x34\x00\x0b\x0b\x00\x00"  # variable: one byte
    b"\x00"
)
START = FIRST + len(entry(1, 0, 0))


@pytest.mark.parametrize(
    ("tag", "names"),
    [(0x39, ["inside", "behind"]), (0x0B, ["inside", "behind"]), (0x13, ["", "behind"]), (0x2E, ["inside", "behind"])],
)
@pytest.mark.parametrize("leaf", [b"\x04\x00", b"\x04\x02"])
def test_code_is_found_in_entries_that_say_where_they_end(tag: int, names: list[str], leaf: bytes) -> None:
    """Namespaces and blocks hold code, structures none; functions without code are looked into where code lacks."""
    inside, behind = (entry(2, at, 0x10) + name + b"\0" for at, name in ((0x1000, b"inside"), (0x1010, b"behind")))
    end = START + 5 + len(leaf) + len(inside) + 1
    unit = by_hand(
        b"\x03" + struct.pack("<I", end) + leaf + inside + b"\0", behind, b"\0",
        abbreviations=ABBREVIATIONS.replace(b"%c", bytes([tag])),
    )  # fmt: skip
    chains = function_chains(unit, [0x1004, 0x1014])
    assert ["".join(function.name for function in chain) for chain in chains] == names


def test_one_and_the_same_code_of_an_abbreviation_is_the_first() -> None:
    again = ABBREVIATIONS.replace(b"\x03%c", b"\x02\x34").replace(b"\x01\x01\x13\x00\x00", b"\x00\x0b\x0b\x00\x00", 1)
    unit = by_hand(entry(2, 0x1000, 0x10) + b"f\0", b"\0", abbreviations=again)
    assert [[function.name for function in chain] for chain in function_chains(unit, [0x1004])] == [["f"]]


@pytest.mark.parametrize("tag", [0x39, 0x13])
@pytest.mark.parametrize("end", [START, START + 1, START + 3])
def test_an_end_that_is_not_behind_an_entry_is_refused(tag: int, end: int) -> None:
    inside = b"\x03" + struct.pack("<I", end) + b"\0"
    unit = by_hand(
        b"\x06",
        inside,
        b"\0",
        b"\0",
        abbreviations=b"\x06\x39\x01\x00\x00" + ABBREVIATIONS.replace(b"%c", bytes([tag])),
    )
    if tag == 0x13:
        with pytest.raises(ObjectError, match="points backwards"):
            function_chains(unit, [0x1004])
    else:
        assert function_chains(unit, [0x1004]) == [[]]


def test_code_beyond_the_last_address_is_left_out() -> None:
    functions = ((2**64 - 8, b"beyond"), (2**64 - 17, b"last"), (0x1000, b"usual"))
    unit = by_hand(
        *(entry(2, start, 0x10) + name + b"\0" for start, name in functions), b"\0",
        abbreviations=ABBREVIATIONS.replace(b"%c", b"\x39"),
    )  # fmt: skip
    ranges = {function.name: function.ranges for function in subprograms(unit)}
    assert not ranges.get("beyond")
    assert ranges["last"] == [(2**64 - 17, 2**64 - 1)] and ranges["usual"] == [(0x1000, 0x1010)]
