"""Coverage of symbol tables."""

import pytest

from perf2x.analysis.explain.code_coverage import code_of, name_tables
from perf2x.binaries.elf.elf_file import open_elf
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.unit.analysis.explain.forged import TEXT, with_symbols


@pytest.mark.parametrize(("is_64", "order"), [(True, "<"), (True, ">"), (False, "<"), (False, ">")])
def test_functions_are_counted_in_every_word_size_and_byte_order(is_64, order) -> None:
    symbols = [
        TinySymbol("f", 0x1000, 0x40),
        TinySymbol("g", 0x1080, 0x40, type=10),
        TinySymbol("data", 0x1000, 8, type=1),
    ]
    elf = open_elf(tiny_elf([TEXT, *symbol_sections(symbols, 2, is_64, order)], is_64, order))
    (table,) = name_tables(elf, code_of(elf))
    assert (table.name, table.functions, table.share, table.broken) == (".symtab", 2, 0.5, "")


def test_a_symbol_without_a_size_extends_to_the_next() -> None:
    elf = open_elf(
        with_symbols(TEXT, [TinySymbol("f", 0x1000), TinySymbol("g", 0x1080, 0x10), TinySymbol("h", 0x1090)])
    )
    assert name_tables(elf, code_of(elf))[0].share == 0x90 / 0x100


def test_an_inconsistent_symbol_table_is_reported_in_a_sentence() -> None:
    elf = open_elf(tiny_elf([TEXT, TinySection(".symtab", bytes(48), type="SYMTAB", link=77, entry_size=24)]), "prog")
    (table,) = name_tables(elf, code_of(elf))
    assert (table.functions, table.broken) == (0, "its string table is section 77")
