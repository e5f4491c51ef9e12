"""Makes symbols for the entries of procedure linkage tables (PLT), such as ``malloc@plt``.

An entry jumps to a function whose address is in the global offset table (GOT). Three sections have entries:

- ``.plt``: a header, then an entry for each relocation in ``.rela.plt`` or ``.rel.plt``;
- ``.plt.sec`` (x86 with IBT): it has these entries instead, and the whole of ``.plt`` counts as header;
- ``.plt.got`` (x86): its entries have no relocation in ``.rela.plt``. On x86-64, their names come from the relocations
  of their GOT slots, in ``.rela.dyn``.

Source of truth: tools/perf/util/symbol-elf.c dso__synthesize_plt_symbols and get_plt_sizes.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject, ElfSection
from perf2x.base.binaries.elf.elf_headers import string_at
from perf2x.base.binaries.elf.symtab import Relocations, raw_symbols, relocations
from perf2x.base.columnar import U64, AnyArray, argsort, as_uint64, take_rows_of
from perf2x.errors import ObjectError

_X86 = ("EM_386", "EM_X86_64")
_R_X86_64_IRELATIVE = 37
# {machine: (bytes of the header of .plt, bytes of an entry)}
_HEADER_AND_ENTRY_SIZES = {
    "EM_ARM": (20, 12), "EM_AARCH64": (32, 16), "EM_LOONGARCH": (32, 16), "EM_RISCV": (32, 16),
    "EM_SPARC": (48, 12), "EM_SPARCV9": (128, 32),
}  # fmt: skip


# Returns the name of the function that starts exactly at an svma, "" if none does.
NameAt = Callable[[int], str]


class LinkageTable:
    """The entries of ``.plt``, ``.plt.sec`` and ``.plt.got`` as symbols; none if there is no ``.plt``.

    Names are looked up on demand, because most recordings hit few entries.
    """

    start: U64
    """(n,) svmas: the entries of ``.plt.got``, the header of ``.plt`` if there is one, then the other entries."""
    size: U64
    """(n,) in bytes."""

    def __init__(self, elf: ElfObject, name_at: NameAt) -> None:
        """Raises ObjectError when the tables cannot be read."""
        self._elf, self._name_at = elf, name_at
        self._plt_got: ElfSection | None = None
        self._plt_got_code = b""
        self._relocation_section: ElfSection | None = None
        self._relocations: Relocations | None = None
        self._header_count = 0
        plt = elf.section(".plt")
        header_size, entry_size = _header_and_entry_size(elf, plt) if plt is not None else (0, 0)
        parts = [(np.zeros(0, np.uint64), 0)]
        if plt is not None and entry_size:
            parts = [self._plt_got_entries(), *self._header_and_entries(plt, header_size, entry_size)]
        self.start = np.concatenate([start for start, _ in parts])
        self.size = np.concatenate([np.full(len(start), size, np.uint64) for start, size in parts])

    def __len__(self) -> int:
        return len(self.start)

    def name(self, row: int) -> str:
        """Return an entry's name, ``malloc@plt``; ``.plt`` for the header.

        Raises ObjectError for damaged tables.
        """
        plt_got_count = len(self) - self._header_count - len(self._relocations or ())
        if row == plt_got_count and self._header_count:
            return ".plt"
        relocation_row = row - plt_got_count - self._header_count
        function = self._plt_got_names[row] if row < plt_got_count else self._relocated_name(relocation_row)
        return f"{function or f'offset_{int(self.start[row]):#x}'}@plt"

    def _plt_got_entries(self) -> tuple[U64, int]:
        self._plt_got = self._elf.section(".plt.got") if self._elf.machine in _X86 else None
        if self._plt_got is None:
            return np.zeros(0, np.uint64), 0
        self._plt_got_code = self._elf.data(self._plt_got)
        entry_size = self._plt_got.entry_size or 8
        count = -(-len(self._plt_got_code) // entry_size)
        return _address_range(self._plt_got.address, count, entry_size), entry_size

    def _header_and_entries(self, plt: ElfSection, header_size: int, entry_size: int) -> list[tuple[U64, int]]:
        """Return (start of each, size) of the header, and of the entries with a relocation."""
        elf = self._elf
        plt_sec = elf.section(".plt.sec") if elf.machine in _X86 else None
        section = self._relocation_section = elf.section(".rela.plt") or elf.section(".rel.plt")
        self._relocations = relocations(elf, section) if section is not None else None
        count, start = len(self._relocations or ()), plt.address + header_size
        self._header_count = 1
        if plt_sec is not None:
            _, entry_size = _header_and_entry_size(elf, plt_sec)
            header_size, start = plt.size, plt_sec.address
        elif section is not None and count * entry_size == plt.size:
            # with -z now, there is no header, because it is only needed to bind functions lazily
            start, self._header_count = plt.address, 0
        return [
            (_address_range(plt.address, self._header_count, 0), header_size),
            (_address_range(start, count, entry_size), entry_size),
        ]

    @cached_property
    def _relocations_and_symbols(self) -> tuple[Relocations, AnyArray, bytes] | None:
        """The relocations in the order of the entries, their symbol table and its string table; None if unknown."""
        elf, section, rows = self._elf, self._relocation_section, self._relocations
        if section is None or rows is None or not 0 < section.link < len(elf.sections):
            return None
        table = elf.sections[section.link]
        if table.type not in ("SHT_DYNSYM", "SHT_SYMTAB"):
            return None
        symbols, strings = raw_symbols(elf, table)
        # on x86, entries are in the order of offsets, but relocations of ifuncs are not
        rows = take_rows_of(rows, argsort(rows.offset)) if elf.machine in _X86 else rows
        highest = int(rows.symbol.max(initial=0))
        if len(rows) and highest >= len(symbols):
            raise ObjectError(f"{elf.name}, {section.name}: a relocation refers to the missing symbol {highest}")
        return rows, symbols, strings

    def _relocated_name(self, row: int) -> str:
        """Return the function's name for the entry of relocation ``row``; "" if unknown."""
        if self._relocations_and_symbols is None:
            return ""
        rows, symbols, strings = self._relocations_and_symbols
        offset = int(symbols["name"][rows.symbol[row]])
        name = string_at(strings, offset) if offset else ""
        if not name and self._elf.machine == "EM_X86_64" and rows.addend is not None:
            # IRELATIVE relocations have no symbol; their addend is the address of the ifunc's resolver
            return self._name_at(int(rows.addend[row])) if rows.type[row] == _R_X86_64_IRELATIVE else ""
        return name

    @cached_property
    def _plt_got_names(self) -> list[str]:
        assert self._plt_got is not None
        size, address, code = self._plt_got.entry_size or 8, self._plt_got.address, self._plt_got_code
        slots = [_got_slot(code[offset : offset + size], address + offset) for offset in range(0, len(code), size)]
        names = _got_names(self._elf, slots) if self._elf.machine == "EM_X86_64" else {}
        return [names.get(slot, "") for slot in slots]


def _address_range(start: int, count: int, step: int) -> U64:
    # in damaged files, addresses may wrap around
    return np.uint64(start % 2**64) + np.arange(count, dtype=np.uint64) * np.uint64(step)


def _header_and_entry_size(elf: ElfObject, plt: ElfSection) -> tuple[int, int]:
    """Return the bytes of the header and of an entry (get_plt_sizes); 0 if the size of entries is unknown."""
    if elf.machine in _X86:
        entry_size = plt.entry_size if plt.entry_size in (8, 16) else (8 if plt.alignment == 8 else 16)
        return entry_size, entry_size
    return _HEADER_AND_ENTRY_SIZES.get(elf.machine, (plt.entry_size, plt.entry_size))


def _got_names(elf: ElfObject, slots: list[int]) -> dict[int, str]:
    """Map GOT slots (svmas, −1 if unknown) to the names of the symbols whose addresses they hold."""
    section = elf.section(".rela.dyn")
    if section is None or not 0 < section.link < len(elf.sections):
        return {}
    rows = relocations(elf, section)
    symbols, strings = raw_symbols(elf, elf.sections[section.link])
    known_slots = as_uint64([slot for slot in slots if slot >= 0])
    has_symbol = (rows.symbol > 0) & (rows.symbol < len(symbols)) & np.isin(rows.offset, known_slots)
    name_offset = symbols["name"][rows.symbol[has_symbol]]
    return {
        int(slot): string_at(strings, int(offset))
        for slot, offset in zip(rows.offset[has_symbol], name_offset, strict=True)
    }


def _got_slot(code: bytes, address: int) -> int:
    """Return the svma of the GOT slot that an entry at ``address`` jumps through; −1 for other code.

    The entry is ``[endbr64] [bnd] jmp *disp(%rip)`` (get_x86_64_plt_disp).
    """
    jump_offset = 4 if code.startswith(b"\xf3\x0f\x1e\xfa") else 0
    jump_offset += code[jump_offset : jump_offset + 1] == b"\xf2"
    if code[jump_offset : jump_offset + 2] != b"\xff\x25" or len(code) < jump_offset + 6:
        return -1
    return (
        address + jump_offset + 6 + int.from_bytes(code[jump_offset + 2 : jump_offset + 6], "little", signed=True)
    ) % 2**64
