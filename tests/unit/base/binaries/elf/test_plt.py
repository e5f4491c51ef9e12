"""PLTs as synthesized symbols, compared with pyelftools on this machine's files."""

import gc
import struct
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.elf.plt import LinkageTable
from perf2x.base.binaries.elf.symtab import function_symbols
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import ObjectError
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

OBJECTS = sorted({Path(sys.executable).resolve(), *sorted(Path("/usr/lib").glob("*/*.so.?"))[:6]})


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.name)
def test_symbols_and_linkage_tables_of_this_machine_equal_those_of_pyelftools(path) -> None:
    with path.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            pytest.skip("no ELF file")
        theirs, elf = ELFFile(stream), open_elf(path)
        dynsym, relocations = theirs.get_section_by_name(".dynsym"), theirs.get_section_by_name(".rela.plt")
        if dynsym is None or elf.machine != "EM_X86_64":
            pytest.skip("no dynamic symbols of x86-64")
        known = function_symbols(elf, ".dynsym")
        names = {(known.name(row), int(known.start[row])) for row in range(len(known))}
        functions = {
            (symbol.name, symbol["st_value"])
            for symbol in dynsym.iter_symbols()
            if symbol["st_info"]["type"] in ("STT_FUNC", "STT_GNU_IFUNC") and isinstance(symbol["st_shndx"], int)
        }
        assert functions <= names
        if relocations is None:
            return
        rows = sorted(relocations.iter_relocations(), key=lambda row: row["r_offset"])
        called = [dynsym.get_symbol(row["r_info_sym"]).name for row in rows]
    table = LinkageTable(elf, lambda address: "")
    assert [table.name(row).removesuffix("@plt") for row in range(len(table) - len(called), len(table))] == [
        name or f"offset_{int(table.start[len(table) - len(called) + row]):#x}" for row, name in enumerate(called)
    ]


def linked(relocations, names=("", "malloc", "free"), got=b"", link=5, symbol_link=6) -> ElfObject:
    """A program with one entry of ``.plt`` for each (offset, symbol, type, addend), and ``.plt.got``."""
    header, count = 16, len(relocations)
    rows = b"".join(
        struct.pack("<QQq", offset, symbol << 32 | kind, addend) for offset, symbol, kind, addend in relocations
    )
    symbols = [TinySymbol(name, 0, section=0) for name in names[1:]]
    dynsym, dynstr = symbol_sections(symbols, symbol_link - 1, table=".dynsym", strings=".dynstr")
    return open_elf(
        tiny_elf(
            [
                TinySection(".plt", b"\xcc" * (header + 16 * count), 0x1000, flags=6, entry_size=16),
                TinySection(".plt.got", got, 0x2000, flags=6, entry_size=8),
                TinySection(".rela.plt", rows, 0x3000, "RELA", 2, link),
                TinySection(".rela.dyn", struct.pack("<QQq", 0x8000, 2 << 32 | 6, 0), 0x4000, "RELA", 2, link),
                dynsym,
                dynstr,
            ]
        )
    )  # fmt: skip


def jump(at, slot) -> bytes:
    return b"\xff\x25" + struct.pack("<i", slot - at - 6) + b"\x66\x90"


def test_entries_have_addresses_and_names() -> None:
    elf = linked(
        [(0x7010, 2, 7, 0), (0x7008, 1, 7, 0), (0x7018, 0, 37, 0x1500)], got=jump(0x2000, 0x8000) + b"\x90" * 8
    )
    asked = []
    table = LinkageTable(elf, lambda address: asked.append(address) or "memcpy")
    assert table.start.tolist() == [0x2000, 0x2008, 0x1000, 0x1010, 0x1020, 0x1030]
    assert table.size.tolist() == [8, 8, 16, 16, 16, 16] and not asked
    names = [table.name(row) for row in range(len(table))]
    assert names == ["free@plt", "offset_0x2008@plt", ".plt", "malloc@plt", "free@plt", "memcpy@plt"] and asked == [
        0x1500
    ]


def test_a_file_without_a_linkage_table_has_no_entries() -> None:
    elf = open_elf(tiny_elf([TinySection(".text", b"\x90", 0x1000, flags=6)]))
    assert len(LinkageTable(elf, lambda address: "")) == 0


def test_damage_is_reported_when_a_name_is_read() -> None:
    table = LinkageTable(linked([(0x7008, 99, 7, 0)]), lambda address: "")
    assert table.start.tolist() == [0x1000, 0x1010] and table.name(0) == ".plt"
    with pytest.raises(ObjectError, match="refers to the missing symbol 99"):
        table.name(1)
    assert LinkageTable(linked([(0x7008, 1, 7, 0)], link=1), lambda address: "").name(1) == "offset_0x1010@plt"


def test_a_damaged_table_is_counted_and_skipped() -> None:
    elf, diagnostics = linked([(0x7008, 99, 7, 0)], got=jump(0x2000, 0x8000)), Diagnostics()
    names = ElfNames(ObjectFiles([elf]), diagnostics)
    assert names.find(np.array([0x1004], np.uint64)).tolist() == [1] and not diagnostics.counts
    assert names.find(np.array([0x1004, 0x1014], np.uint64)).tolist() == [-1, -1]
    assert diagnostics["objects_unreadable"] == 1


def test_addresses_wrap_at_the_end_of_the_address_space() -> None:
    section = TinySection(".plt", b"\xcc" * 32, 2**64 - 8, flags=6, entry_size=16)
    table = LinkageTable(open_elf(tiny_elf([section])), lambda address: "")
    assert table.start.dtype == np.uint64 and table.start.tolist() == [2**64 - 8]


def test_names_are_freed_with_their_object() -> None:
    """Tables of large objects take tens of megabytes; they must not wait for the garbage collector."""
    names = ElfNames(ObjectFiles([linked([(0x7008, 1, 7, 0)])]), Diagnostics())
    names.find(np.array([0x1014], np.uint64))
    gone = weakref.ref(names._index)
    gc.disable()
    try:
        del names
        assert gone() is None
    finally:
        gc.enable()
