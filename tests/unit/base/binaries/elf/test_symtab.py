"""Symbol tables as columns, compared with perf's filters applied row by row."""

from collections.abc import Iterator

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.symtab import function_symbols
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

LABEL, OBJECT, FUNCTION, IFUNC = 0, 1, 2, 10
XINDEX = 0xFFFF


def scalar_rows(sections, symbols) -> Iterator[tuple[int, int, int, int, str]]:
    """elf_sym__filter and elf_sym__is_label of perf, symbol by symbol: (value, size, type, binding, name)."""
    for name, info, other, index, value, size in symbols:
        kind = info & 15
        is_label = kind == LABEL and other & 3 not in (1, 2)
        is_code_or_data = kind in (OBJECT, FUNCTION, IFUNC)
        section = sections[index] if 0 < index < min(len(sections), 0xFF00) else None
        fits = section is not None and section.flags & 2
        spoken = fits and ("text" in section.name or "data" in section.name)
        if name and (fits or (index == XINDEX and kind == FUNCTION)) and (is_code_or_data or (is_label and spoken)):
            yield value, size, kind, info >> 4, name


def rows_of(table) -> list[tuple[int, int, int, int, str]]:
    columns = zip(table.start.tolist(), table.size.tolist(), table.type.tolist(), table.binding.tolist(), strict=True)
    return [(*row, table.name(number)) for number, row in enumerate(columns)]


@pytest.mark.parametrize("is_64", [True, False])
@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_symbols_are_filtered_by_kind(is_64, byte_order) -> None:
    places = [1, 2, 3, 4, 0, 0xFFF1, 0xFFF2, XINDEX]
    kinds = [(kind, other, section) for kind in (0, 1, 2, 3, 6, 10) for other in range(4) for section in places]
    symbols = [
        TinySymbol(f"s{row}" if row % 7 else "", 64 * row, row % 5, kind, row % 3, section, other)
        for row, (kind, other, section) in enumerate(kinds)
    ]
    sections = [
        TinySection(".text", b"\x90" * 16, 0x1000, flags=6),
        TinySection(".bss.x", b"", 0x2000, "NOBITS", 2),
        TinySection(".comment.text", b"not loaded"),
        TinySection(".data", b"x", 0x3000, flags=2),
    ]
    elf = open_elf(tiny_elf(sections + symbol_sections(symbols, 5, is_64, byte_order), is_64, byte_order))
    raw = [(s.name, s.binding << 4 | s.type, s.other, s.section, s.value, s.size) for s in symbols]
    expected = list(scalar_rows(elf.sections, raw))
    assert rows_of(function_symbols(elf, ".symtab")) == expected and len(expected) > 20


def test_addresses_of_sections_whose_numbers_no_symbol_can_have_are_ignored() -> None:
    sections = [TinySection(".text", b"\x90" * 16, flags=6), *symbol_sections([TinySymbol("f", 4)], 2)]
    table = function_symbols(open_elf(tiny_elf(sections, kind=1)), ".symtab", {1: 0x10000, 70_000: 0x20000})
    assert [row[0] for row in rows_of(table)] == [0x10004]
