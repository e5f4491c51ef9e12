"""Makes symbols for the entries of procedure linkage tables (PLT), such as ``malloc@plt``.

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
_SIZES = {
    "EM_ARM": (20, 12), "EM_AARCH64": (32, 16), "EM_LOONGARCH": (32, 16), "EM_RISCV": (32, 16),
    "EM_SPARC": (48, 12), "EM_SPARCV9": (128, 32),
}  # fmt: skip


# Returns the name of the function that starts exactly at an svma, "" if none does; used for entries of ifuncs.
NameAt = Callable[[int], str]


class LinkageTable:
    """The entries of ``.plt``, ``.plt.sec`` and ``.plt.got`` as synthesized symbols; empty without these sections.

    Addresses are computed up front, names on demand: most recordings hit few entries. Entries are matched to
    relocations in their order; on x86, relocations are sorted by offset first, because those of ifuncs are out of
    order.
    """

    start: U64
    """(n,) svma of each entry: first those of ``.plt.got``, then the common header, then the others."""
    size: U64
    """(n,)"""

    def __init__(self, elf: ElfObject, name_at: NameAt) -> None:
        """Raises ObjectError when the tables cannot be read."""
        self._elf, self._name_at = elf, name_at
        self._got: ElfSection | None = None
        self._section: ElfSection | None = None
        self._code, self._header = b"", 0
        self._rows: Relocations | None = None
        plt = elf.section(".plt")
        header, step = _sizes(elf, plt) if plt is not None else (0, 0)
        parts = [(np.zeros(0, np.uint64), 0)]
        if plt is not None and step:
            parts = [self._slots(), *self._calls_from(plt, header, step)]
        self.start = np.concatenate([start for start, _ in parts])
        self.size = np.concatenate([np.full(len(start), size, np.uint64) for start, size in parts])

    def __len__(self) -> int:
        return len(self.start)

    def name(self, row: int) -> str:
        """Return an entry's name, ``malloc@plt``; ``.plt`` for the common header.

        Raises ObjectError for damaged tables.
        """
        slots = len(self) - self._header - len(self._rows or ())
        if row == slots and self._header:
            return ".plt"
        called = self._slot_names[row] if row < slots else self._call_name(row - slots - self._header)
        return f"{called or f'offset_{int(self.start[row]):#x}'}@plt"

    def _slots(self) -> tuple[U64, int]:
        """Return (start, size) of the entries of ``.plt.got``, for functions whose address is taken."""
        self._got = self._elf.section(".plt.got") if self._elf.machine in _X86 else None
        if self._got is None:
            return np.zeros(0, np.uint64), 0
        self._code = self._elf.data(self._got)
        step = self._got.entry_size or 8
        return _address_range(self._got.address, -(-len(self._code) // step), step), step

    def _calls_from(self, plt: ElfSection, header: int, step: int) -> list[tuple[U64, int]]:
        """Return (start, size) of the common header, if any, and of the entries that have a relocation each."""
        elf = self._elf
        second = elf.section(".plt.sec") if elf.machine in _X86 else None
        self._section = elf.section(".rela.plt") or elf.section(".rel.plt")
        self._rows = relocations(elf, self._section) if self._section is not None else None
        count, start = len(self._rows or ()), plt.address + header
        self._header = 1
        if second is not None:
            _, step = _sizes(elf, second)
            header, start = plt.size, second.address
        elif self._section is not None and count * step == plt.size:  # bound eagerly: no header
            start, self._header = plt.address, 0
        return [
            (_address_range(plt.address, self._header, 0), header),
            (_address_range(start, count, step), step),
        ]

    @cached_property
    def _calls(self) -> tuple[Relocations, AnyArray, bytes] | None:
        """Return the relocations in the order of the entries, all symbols, and their string table."""
        elf, section, rows = self._elf, self._section, self._rows
        if section is None or rows is None or not 0 < section.link < len(elf.sections):
            return None
        table = elf.sections[section.link]
        if table.type not in ("SHT_DYNSYM", "SHT_SYMTAB"):
            return None
        symbols, strings = raw_symbols(elf, table)
        rows = take_rows_of(rows, argsort(rows.offset)) if elf.machine in _X86 else rows
        highest = int(rows.symbol.max(initial=0))
        if len(rows) and highest >= len(symbols):
            raise ObjectError(f"{elf.name}, {section.name}: a relocation refers to the missing symbol {highest}")
        return rows, symbols, strings

    def _call_name(self, row: int) -> str:
        """Return the function that a relocation calls: its symbol, or the ifunc at the addend (R_X86_64_IRELATIVE)."""
        if self._calls is None:
            return ""
        rows, symbols, strings = self._calls
        offset = int(symbols["name"][rows.symbol[row]])
        name = string_at(strings, offset) if offset else ""
        if not name and self._elf.machine == "EM_X86_64" and rows.addend is not None:
            return self._name_at(int(rows.addend[row])) if rows.kind[row] == _R_X86_64_IRELATIVE else ""
        return name

    @cached_property
    def _slot_names(self) -> list[str]:
        """Names of the entries of ``.plt.got``, from the GOT slots that they jump through."""
        assert self._got is not None
        step, address = self._got.entry_size or 8, self._got.address
        slots = [_jump_target(self._code[at : at + step], address + at) for at in range(0, len(self._code), step)]
        names = _got_names(self._elf, slots) if self._elf.machine == "EM_X86_64" else {}
        return [names.get(slot, "") for slot in slots]


def _address_range(start: int, count: int, step: int) -> U64:
    """Return (count,) addresses ``step`` apart; in damaged files they may wrap around."""
    return np.uint64(start % 2**64) + np.arange(count, dtype=np.uint64) * np.uint64(step)


def _sizes(elf: ElfObject, plt: ElfSection) -> tuple[int, int]:
    """Return the sizes of the header and of an entry (get_plt_sizes); an entry has 0 if unknown."""
    if elf.machine in _X86:
        step = plt.entry_size if plt.entry_size in (8, 16) else (8 if plt.alignment == 8 else 16)
        return step, step
    return _SIZES.get(elf.machine, (plt.entry_size, plt.entry_size))


def _got_names(elf: ElfObject, slots: list[int]) -> dict[int, str]:
    """Map the given GOT slots (svma) to symbol names, from ``.rela.dyn``."""
    section = elf.section(".rela.dyn")
    if section is None or not 0 < section.link < len(elf.sections):
        return {}
    rows = relocations(elf, section)
    symbols, strings = raw_symbols(elf, elf.sections[section.link])
    valid = as_uint64([slot for slot in slots if slot >= 0])
    named = (rows.symbol > 0) & (rows.symbol < len(symbols)) & np.isin(rows.offset, valid)
    offsets = symbols["name"][rows.symbol[named]]
    return {int(a): string_at(strings, int(o)) for a, o in zip(rows.offset[named], offsets, strict=True)}


def _jump_target(code: bytes, address: int) -> int:
    """Return the GOT slot of ``[endbr64] [bnd] jmp *disp(%rip)``; −1 for other code (get_x86_64_plt_disp)."""
    at = 4 if code.startswith(b"\xf3\x0f\x1e\xfa") else 0
    at += code[at : at + 1] == b"\xf2"
    if code[at : at + 2] != b"\xff\x25" or len(code) < at + 6:
        return -1
    return (address + at + 6 + int.from_bytes(code[at + 2 : at + 6], "little", signed=True)) % 2**64
