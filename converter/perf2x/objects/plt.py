"""Names for the entries of procedure linkage tables, which no symbol table holds: ``malloc@plt``.

Source of truth: tools/perf/util/symbol-elf.c dso__synthesize_plt_symbols and get_plt_sizes.
"""

from collections.abc import Callable, Iterable

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I64, AnyArray
from perf2x.model.errors import ObjectError
from perf2x.objects.elf import ElfObject, Section
from perf2x.objects.symtab import raw_symbols, string_at

X86 = ("EM_386", "EM_X86_64")
R_X86_64_IRELATIVE = 37
_SIZES = {
    "EM_ARM": (20, 12), "EM_AARCH64": (32, 16), "EM_LOONGARCH": (32, 16), "EM_RISCV": (32, 16),
    "EM_SPARC": (48, 12), "EM_SPARCV9": (128, 32),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PltEntry:
    """One synthesized symbol: a linkage table's entry or, named ``.plt``, its common header."""

    start: int
    size: int
    name: str


NameAt = Callable[[int], str]
"""Names the function that starts exactly at an svma, "" when none does; for entries that call an ifunc."""


def plt_entries(elf: ElfObject, name_at: NameAt) -> list[PltEntry]:
    """Symbols for every entry of ``.plt``, ``.plt.sec`` and ``.plt.got``; [] where the file has no such tables.

    Entries follow the order of the relocations they use, sorted by address on x86, where ifuncs stand out of order.
    """
    plt = elf.section(".plt")
    if plt is None:
        return []
    header, step = _sizes(elf, plt)
    if step == 0:
        return []
    result = _got_entries(elf) if elf.machine in X86 else []
    second = elf.section(".plt.sec") if elf.machine in X86 else None
    relocations = elf.section(".rela.plt") or elf.section(".rel.plt")
    rows = _relocations(elf, relocations) if relocations else None
    count = 0 if rows is None else len(rows)
    start, has_header = plt.address + header, True
    if second is not None:
        _, step = _sizes(elf, second)
        header, start = plt.size, second.address
    elif rows is not None and count * step == plt.size:  # bound at start: every entry stands for itself
        start, has_header = plt.address, False
    if has_header:
        result.append(PltEntry(plt.address, header, ".plt"))
    if rows is not None and relocations is not None:
        names = _names(elf, relocations, rows, name_at)
        spots = range(start, start + count * step, step) if step else range(0)
        result += [
            PltEntry(at, step, f"{name or f'offset_{at:#x}'}@plt") for at, name in zip(spots, names, strict=True)
        ]
    return result


def _sizes(elf: ElfObject, plt: Section) -> tuple[int, int]:
    """get_plt_sizes: bytes of the header, bytes of an entry; entry 0 when nothing says."""
    if elf.machine in X86:
        step = plt.entry_size if plt.entry_size in (8, 16) else (8 if plt.alignment == 8 else 16)
        return step, step
    return _SIZES.get(elf.machine, (plt.entry_size, plt.entry_size))


def _relocations(elf: ElfObject, section: Section) -> AnyArray:
    """(n,) rows of offset, info and (RELA) addend, in native byte order; sorted by offset on x86 as perf does."""
    word = "u8" if elf.is_64 else "u4"
    names = ["offset", "info", "addend"][: 3 if section.type == "SHT_RELA" else 2]
    dtype = np.dtype([(name, elf.byte_order + word) for name in names])
    data = elf.data(section)
    rows = np.frombuffer(data, dtype, len(data) // dtype.itemsize).astype(np.dtype([(name, word) for name in names]))
    return rows[np.argsort(rows["offset"], kind="stable")] if elf.machine in X86 else rows


def _symbol_index(elf: ElfObject, info: AnyArray) -> I64:
    index: I64 = (info >> np.array(32 if elf.is_64 else 8, info.dtype)).astype(np.int64)
    return index


def _names(elf: ElfObject, section: Section, rows: AnyArray, name_at: NameAt) -> list[str]:
    """What each relocation calls: its symbol, or the ifunc at the addend (R_X86_64_IRELATIVE)."""
    if not 0 < section.link < len(elf.sections):
        return [""] * len(rows)
    table = elf.sections[section.link]
    if table.type not in ("SHT_DYNSYM", "SHT_SYMTAB"):
        return [""] * len(rows)
    symbols, strings = raw_symbols(elf, table)
    index = _symbol_index(elf, rows["info"])
    if len(index) and int(index.max()) >= len(symbols):
        raise ObjectError(f"{elf.name}, {section.name}: a relocation names symbol {int(index.max())}")
    names = [string_at(strings, int(offset)) if offset else "" for offset in symbols["name"][index]]
    if "addend" in (rows.dtype.names or ()) and elf.machine == "EM_X86_64":
        calls_ifunc = (rows["info"] & np.uint64(0xFFFFFFFF)) == R_X86_64_IRELATIVE
        for row in np.flatnonzero(calls_ifunc):
            names[row] = names[row] or name_at(int(rows["addend"][row]))
    return names


def _got_entries(elf: ElfObject) -> list[PltEntry]:
    """``.plt.got``: entries for functions whose address is taken; their jump tells the GOT slot, and that the name."""
    section = elf.section(".plt.got")
    if section is None:
        return []
    step = section.entry_size or 8
    code = elf.data(section)
    slots = {
        section.address + at: _jump_target(code[at : at + step], section.address + at)
        for at in range(0, len(code), step)
    }
    names = _got_names(elf, slots.values()) if elf.machine == "EM_X86_64" else {}
    return [PltEntry(at, step, f"{names.get(slot, '') or f'offset_{at:#x}'}@plt") for at, slot in slots.items()]


def _got_names(elf: ElfObject, slots: Iterable[int]) -> dict[int, str]:
    """GOT slot (svma) to symbol name, from ``.rela.dyn``; of thousands of rows there only the slots asked for."""
    section = elf.section(".rela.dyn")
    if section is None or not 0 < section.link < len(elf.sections):
        return {}
    rows = _relocations(elf, section)
    symbols, strings = raw_symbols(elf, elf.sections[section.link])
    index = _symbol_index(elf, rows["info"])
    asked = np.array([slot for slot in slots if slot >= 0], np.uint64)
    named = (index > 0) & (index < len(symbols)) & np.isin(rows["offset"], asked)
    offsets = symbols["name"][index[named]]
    return {int(a): string_at(strings, int(o)) for a, o in zip(rows["offset"][named], offsets, strict=True)}


def _jump_target(code: bytes, address: int) -> int:
    """The GOT slot of ``[endbr64] [bnd] jmp *disp(%rip)``; −1 for other code (get_x86_64_plt_disp)."""
    at = 4 if code.startswith(b"\xf3\x0f\x1e\xfa") else 0
    at += code[at : at + 1] == b"\xf2"
    if code[at : at + 2] != b"\xff\x25" or len(code) < at + 6:
        return -1
    return address + at + 6 + int.from_bytes(code[at + 2 : at + 6], "little", signed=True)
