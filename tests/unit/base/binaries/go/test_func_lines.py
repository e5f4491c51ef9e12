"""Lines of Go's ``func`` keywords, of inlined functions, too; damaged tables and trees do no harm."""

import contextlib
import random

import pytest

from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.go.find_pclntab import MAX_CALLS, go_functions, start_lines
from perf2x.errors import ObjectError
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.support.tiny_go import TinyFunction, tiny_go_table

TEXT, TREES = 0x401000, 0x700000
RUN = TinyFunction("main.run", TEXT, ((10, 300),), ((1, 300),), 9, (("main.inner", 19), ("cmp.Less[...]", 65)))
PLAIN = TinyFunction("main.plain", TEXT + 0x200, ((70, 8),), ((1, 8),), 69)
LAST = TinyFunction("main.last", TEXT + 0x240, ((80, 8),), ((1, 8),), 79, (("main.deep", 90), ("main.inner", 19)))
FUNCTIONS = (RUN, PLAIN, LAST)
CODE = TinySection(".text", b"\x90" * 0x400, TEXT, flags=6)


def program(order="<", symbol="go:func.*", version="1.20", shift=0x20) -> ElfObject:
    """``shift``: bytes of the section before the trees."""
    trees = bytearray()
    table = tiny_go_table(FUNCTIONS, TEXT + 0x300, ["", "/src/main.go"], version, 8, order, text=TEXT, trees=trees)
    sections = [
        CODE,
        TinySection(".gopclntab", table, 0x500000, flags=2),
        TinySection(".rodata", bytes(shift) + bytes(trees), TREES, flags=2),
    ]
    symbols = [TinySymbol("main.run", TEXT), TinySymbol(symbol, TREES + shift, type=1, binding=0, section=3)]
    return open_elf(tiny_elf([*sections, *symbol_sections(symbols, 4, byte_order=order)], byte_order=order))


def lines(elf, rows=(0, 1, 2), **more) -> dict[str, int]:
    return start_lines(go_functions(elf), rows, elf, more.get("symbols", elf))


@pytest.mark.parametrize("order", ["<", ">"])
def test_functions_and_those_inlined_into_them(order) -> None:
    elf = program(order)
    own = {"main.run": 9, "main.plain": 69, "main.last": 79}
    assert lines(elf) == own | {"main.inner": 19, "cmp.Less[...]": 65, "main.deep": 90}
    assert lines(elf, [1]) == {"main.plain": 69}
    assert lines(elf, [0]) == {"main.run": 9, "main.inner": 19, "cmp.Less[...]": 65}
    assert lines(elf, []) == {}


def test_without_the_place_of_trees_only_functions_themselves() -> None:
    own = {"main.run": 9, "main.plain": 69, "main.last": 79}
    assert lines(program(), symbols=None) == own
    assert lines(program(symbol="go:func.other")) == own
    assert lines(program(), symbols=open_elf(tiny_elf([CODE]))) == own


@pytest.mark.parametrize("version", ["1.2", "1.16", "1.18"])
def test_older_tables_tell_no_lines(version) -> None:
    assert lines(program(version=version)) == {}


def test_a_function_with_very_many_calls_is_read_in_part() -> None:
    calls = tuple((f"f{number}", number + 1) for number in range(MAX_CALLS + 5))
    many = TinyFunction("main.many", TEXT, ((10, 300),), ((1, 300),), 9, calls)
    trees = bytearray()
    table = tiny_go_table((many,), TEXT + 0x300, ["", "x"], text=TEXT, trees=trees)
    symbols = [TinySymbol("go:func.*", TREES, type=1, section=3)]
    sections = [
        CODE,
        TinySection(".gopclntab", table, 0x500000, flags=2),
        TinySection(".rodata", bytes(trees), TREES, flags=2),
    ]
    elf = open_elf(tiny_elf([*sections, *symbol_sections(symbols, 4)]))
    assert len(lines(elf, [0])) == MAX_CALLS + 1


def test_damaged_tables_give_fewer_lines_or_an_error() -> None:
    elf = program()
    data, chance, table = elf.read(0, elf.size), random.Random(1), elf.section(".gopclntab")
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(chance.randrange(1, 5)):
            damaged[table.offset + chance.randrange(table.size)] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
        with contextlib.suppress(ObjectError):
            broken = open_elf(bytes(damaged))
            functions = go_functions(broken)
            found = start_lines(functions, range(len(functions)), broken, broken)
            assert all(0 < line < 2**31 for line in found.values())


def test_trees_of_functions_with_inlined_calls() -> None:
    assert go_functions(program()).inline_trees([0, 1, 2]) == [(0, 2), (32, 2)]
