"""Applies the relocations of a kernel module's debug info, and builds an executable from the result.

A module is a relocatable file: in its debug info, references to addresses, strings and other units are relocations.
Relocations are applied a section at a time, and the result is an executable that any DWARF reader accepts. Source of
truth: kernel/module/main.c layout_sections; the psABIs of the machines below for relocations.
"""

import struct
from collections.abc import Iterator, Mapping

import numpy as np

from perf2x.base.binaries.elf.elf_file import SHF_ALLOC, ElfObject, ElfSection
from perf2x.base.binaries.elf.symtab import SHN_LORESERVE, raw_symbols, relocations
from perf2x.base.columnar import U64, AnyArray, arange, as_int64, as_uint64
from perf2x.errors import ObjectError

_SHF_EXECINSTR = 0x4
# Base address for modules; a multiple of every alignment, and not 0, which means "discarded" in debug info.
MODULE_BASE = 1 << 16

# {machine: {relocation type: bytes}} of relocations that store symbol + addend; debug info has no others.
_WIDTHS = {
    "EM_X86_64": {1: 8, 10: 4, 11: 4},
    "EM_386": {1: 4},
    "EM_AARCH64": {257: 8, 258: 4},
    "EM_ARM": {2: 4},
    "EM_S390": {22: 8, 4: 4},
    "EM_PPC64": {38: 8, 1: 4},
}
_TYPES = {"SHT_PROGBITS": 1, "SHT_STRTAB": 3, "SHT_NOTE": 7}
_USED = (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_ranges",
         ".debug_rnglists", ".debug_addr", ".debug_str_offsets", ".note.gnu.build-id")  # fmt: skip


def section_addresses(module: ElfObject, start: int = MODULE_BASE) -> dict[int, int]:
    """Return {section number: address} of a module's executable sections, laid out from ``start`` as the kernel does.

    Sections with init code, which the kernel frees, are left out.
    """
    return dict(_laid_out(module, start, init=False))


def _laid_out(module: ElfObject, at: int, init: bool) -> Iterator[tuple[int, int]]:
    for index, section in enumerate(module.sections):
        executable = section.flags & (SHF_ALLOC | _SHF_EXECINSTR) == SHF_ALLOC | _SHF_EXECINSTR
        if executable and section.name.startswith(".init") == init:
            step = section.alignment if 0 < section.alignment <= 1 << 16 else 1
            at = -(-at // step) * step
            if at + section.size >= 2**64:
                break
            yield index, at
            at += section.size


def relocate_debug_info(module: ElfObject) -> bytes:
    """Build an executable with the debug info of ``module`` and its code at ``section_addresses(module)``.

    Raises ObjectError when a section or a relocation cannot be read, or the machine is not supported.
    """
    widths = _WIDTHS.get(module.machine)
    if widths is None:
        raise ObjectError(f"{module.name}: no source lines, because relocations of {module.machine} are unsupported")
    places = section_addresses(module)
    end = max((at + module.sections[index].size for index, at in places.items()), default=MODULE_BASE)
    places |= _laid_out(module, -(-end // 4096) * 4096, init=True)
    sections = []
    for index, section in enumerate(module.sections):
        if section.name in _USED and section.type in _TYPES:
            data = np.frombuffer(module.data(section), np.uint8).copy()
            for table in module.sections:
                if table.type in ("SHT_RELA", "SHT_REL") and table.info == index:
                    _apply_relocations(module, table, places, widths, data)
            sections.append((section, data))
    return _executable(module, sections)


def _apply_relocations(
    module: ElfObject, table: ElfSection, places: Mapping[int, int], widths: Mapping[int, int], data: AnyArray
) -> None:
    """Apply the relocation section ``table`` to ``data``: store symbol + addend at the offset of each relocation."""
    rows = relocations(module, table)
    if not 0 < table.link < len(module.sections):
        raise ObjectError(f"{module.name}, {table.name}: its symbol table, section {table.link}, is missing")
    value = _symbol_values(module, module.sections[table.link], places)
    unknown = ~np.isin(rows.kind, [0, *widths]) | (rows.symbol >= len(value))
    if unknown.any():
        raise ObjectError(f"{module.name}, {table.name}: unsupported relocation type {int(rows.kind[unknown][0])}")
    for one, width in widths.items():
        chosen = rows.kind == one
        at = rows.offset[chosen]
        if len(at) and (len(data) < width or int(at.max()) > len(data) - width):
            raise ObjectError(f"{module.name}, {table.name}: a relocation lies outside its section")
        index = as_int64(at)[:, None] + arange(width)
        stored = np.ascontiguousarray(data[index]).view(f"{module.byte_order}u{width}").reshape(-1)
        addend = as_uint64(stored) if rows.addend is None else rows.addend[chosen]
        result = (value[rows.symbol[chosen]] + addend).astype(f"{module.byte_order}u{width}")
        data[index] = result.view(np.uint8).reshape(-1, width)


def _symbol_values(module: ElfObject, table: ElfSection, places: Mapping[int, int]) -> U64:
    """Return (symbols,) each symbol's address: its value plus its section's address, which is 0 if not laid out."""
    rows, _ = raw_symbols(module, table)
    start = np.zeros(SHN_LORESERVE, np.uint64)
    for index, at in places.items():
        if index < SHN_LORESERVE:
            start[index] = at
    section = np.where(rows["section"] < SHN_LORESERVE, rows["section"], 0)
    return as_uint64(rows["value"]) + start[section]


def _executable(module: ElfObject, sections: list[tuple[ElfSection, AnyArray]]) -> bytes:
    """Build an ELF file: header, sections, their names, section headers; it needs no segments."""
    names = b"\0" + b"".join(section.name.encode() + b"\0" for section, _ in sections) + b".shstrtab\0"
    layout = "IIQQQQIIQQ" if module.is_64 else "10I"
    at = 64 if module.is_64 else 52
    body, headers = [], [struct.pack(module.byte_order + layout, *[0] * 10)]
    for name, kind, data in [*((s.name, s.type, d.tobytes()) for s, d in sections), (".shstrtab", "SHT_STRTAB", names)]:
        row = (names.index(b"\0" + name.encode() + b"\0") + 1, _TYPES[kind], 0, 0, at, len(data), 0, 0, 4, 0)
        headers.append(struct.pack(module.byte_order + layout, *row))
        body.append(data)
        at += len(data)
    return b"".join([_executable_header(module, at, len(headers)), *body, *headers])


def _executable_header(module: ElfObject, sections_at: int, count: int) -> bytes:
    """Return the module's ELF header as ET_EXEC with the new section headers and no segments."""
    order = module.byte_order
    header = bytearray(module.read(0, 64 if module.is_64 else 52))
    struct.pack_into(order + "H", header, 16, 2)
    if module.is_64:
        struct.pack_into(order + "QQ", header, 32, 0, sections_at)
        struct.pack_into(order + "5H", header, 54, 56, 0, 64, count, count - 1)
    else:
        struct.pack_into(order + "II", header, 28, 0, sections_at)
        struct.pack_into(order + "5H", header, 42, 32, 0, 40, count, count - 1)
    return bytes(header)
