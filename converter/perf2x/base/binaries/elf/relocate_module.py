"""Applies the relocations of a kernel module's debug info, and builds an executable from the result.

A module is a relocatable file: all of its sections begin at address 0, and references in its debug info are
relocations. Each section with code gets an address of its own here. DWARF readers can read the resulting executable.

Source of truth: kernel/module/main.c layout_sections; the psABIs of the machines below for relocations.
"""

import struct
from collections.abc import Iterator, Mapping

import numpy as np

from perf2x.base.binaries.elf.elf_file import SHF_ALLOC, ElfObject, ElfSection
from perf2x.base.binaries.elf.symtab import SHN_LORESERVE, raw_symbols, relocations
from perf2x.base.columnar import U64, AnyArray, arange, as_int64, as_uint64
from perf2x.errors import ObjectError

_SHF_EXECINSTR = 0x4
# Address of a module's first section; 0 would mean "discarded" in debug info.
MODULE_BASE = 1 << 16

# {machine: {relocation type: bytes that it changes}}; all of these types store symbol + addend.
_RELOCATION_SIZES = {
    "EM_X86_64": {1: 8, 10: 4, 11: 4},  # R_X86_64_64, R_X86_64_32, R_X86_64_32S
    "EM_386": {1: 4},  # R_386_32
    "EM_AARCH64": {257: 8, 258: 4},  # R_AARCH64_ABS64, R_AARCH64_ABS32
    "EM_ARM": {2: 4},  # R_ARM_ABS32
    "EM_S390": {22: 8, 4: 4},  # R_390_64, R_390_32
    "EM_PPC64": {38: 8, 1: 4},  # R_PPC64_ADDR64, R_PPC64_ADDR32
}
_TYPE_NUMBERS = {"SHT_PROGBITS": 1, "SHT_STRTAB": 3, "SHT_NOTE": 7}
_COPIED_SECTIONS = (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_ranges",
         ".debug_rnglists", ".debug_addr", ".debug_str_offsets", ".note.gnu.build-id")  # fmt: skip


def section_addresses(module: ElfObject, start: int = MODULE_BASE) -> dict[int, int]:
    """Return {section number: address} of a module's executable sections, laid out from ``start`` as the kernel does.

    Sections with init code, which the kernel frees, are left out.
    """
    return dict(_code_addresses(module, start, is_init=False))


def _code_addresses(module: ElfObject, address: int, is_init: bool) -> Iterator[tuple[int, int]]:
    """Yield (section number, address) of sections with init code (``is_init``) or with all other code."""
    for index, section in enumerate(module.sections):
        is_executable = section.flags & (SHF_ALLOC | _SHF_EXECINSTR) == SHF_ALLOC | _SHF_EXECINSTR
        if is_executable and section.name.startswith(".init") == is_init:
            alignment = section.alignment if 0 < section.alignment <= 1 << 16 else 1
            address = -(-address // alignment) * alignment
            if address + section.size >= 2**64:
                break
            yield index, address
            address += section.size


def relocate_debug_info(module: ElfObject) -> bytes:
    """Build an executable with the debug info of ``module`` and its code at ``section_addresses(module)``.

    Raises ObjectError when a section or a relocation cannot be read, or the machine is not supported.
    """
    sizes = _RELOCATION_SIZES.get(module.machine)
    if sizes is None:
        raise ObjectError(f"{module.name}: no source lines, because relocations of {module.machine} are unsupported")
    addresses = section_addresses(module)
    # init code has debug info, too, so its addresses must differ from all others
    end = max((start + module.sections[index].size for index, start in addresses.items()), default=MODULE_BASE)
    addresses |= _code_addresses(module, -(-end // 4096) * 4096, is_init=True)
    sections = []
    for index, section in enumerate(module.sections):
        if section.name in _COPIED_SECTIONS and section.type in _TYPE_NUMBERS:
            data = np.frombuffer(module.data(section), np.uint8).copy()
            for other in module.sections:
                if other.type in ("SHT_RELA", "SHT_REL") and other.info == index:
                    _apply_relocations(module, other, addresses, sizes, data)
            sections.append((section, data))
    return _executable(module, sections)


def _apply_relocations(
    module: ElfObject, section: ElfSection, addresses: Mapping[int, int], sizes: Mapping[int, int], data: AnyArray
) -> None:
    """Store symbol + addend in ``data``, in place, at the offset of each relocation in ``section``.

    ``addresses``: {section number: address}; ``sizes``: {relocation type: bytes that it changes}.
    """
    rows = relocations(module, section)
    if not 0 < section.link < len(module.sections):
        raise ObjectError(f"{module.name}, {section.name}: its symbol table, section {section.link}, is missing")
    symbol_address = _symbol_addresses(module, module.sections[section.link], addresses)
    # type 0 is R_*_NONE on all machines
    is_unsupported = ~np.isin(rows.type, [0, *sizes]) | (rows.symbol >= len(symbol_address))
    if is_unsupported.any():
        raise ObjectError(f"{module.name}, {section.name}: unsupported relocation type {rows.type[is_unsupported][0]}")
    for relocation_type, size in sizes.items():
        has_type = rows.type == relocation_type
        offset = rows.offset[has_type]
        if len(offset) and (len(data) < size or int(offset.max()) > len(data) - size):
            raise ObjectError(f"{module.name}, {section.name}: a relocation lies outside its section")
        byte_index = as_int64(offset)[:, None] + arange(size)  # (relocations, size) the bytes to change
        stored = np.ascontiguousarray(data[byte_index]).view(f"{module.byte_order}u{size}").reshape(-1)
        addend = as_uint64(stored) if rows.addend is None else rows.addend[has_type]
        result = (symbol_address[rows.symbol[has_type]] + addend).astype(f"{module.byte_order}u{size}")
        data[byte_index] = result.view(np.uint8).reshape(-1, size)


def _symbol_addresses(module: ElfObject, symbol_table: ElfSection, addresses: Mapping[int, int]) -> U64:
    """Return (symbols,) addresses: each symbol's value plus the address of its section.

    Sections that are not in ``addresses`` begin at 0, so the address of a symbol in a debug section is an offset in it.
    """
    rows, _ = raw_symbols(module, symbol_table)
    section_address = np.zeros(SHN_LORESERVE, np.uint64)
    for index, address in addresses.items():
        if index < SHN_LORESERVE:
            section_address[index] = address
    # numbers from SHN_LORESERVE on have special meanings, such as SHN_ABS
    section = np.where(rows["section"] < SHN_LORESERVE, rows["section"], 0)
    return as_uint64(rows["value"]) + section_address[section]


def _executable(module: ElfObject, sections: list[tuple[ElfSection, AnyArray]]) -> bytes:
    """Build an ELF file without segments, which readers of debug info do not need."""
    names = b"\0" + b"".join(section.name.encode() + b"\0" for section, _ in sections) + b".shstrtab\0"
    layout = "IIQQQQIIQQ" if module.is_64 else "10I"
    offset = 64 if module.is_64 else 52  # after the ELF header
    # section 0 is a row of zeros
    body, headers = [], [struct.pack(module.byte_order + layout, *[0] * 10)]
    for name, kind, data in [*((s.name, s.type, d.tobytes()) for s, d in sections), (".shstrtab", "SHT_STRTAB", names)]:
        # sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign, sh_entsize
        row = (names.index(b"\0" + name.encode() + b"\0") + 1, _TYPE_NUMBERS[kind], 0, 0, offset, len(data), 0, 0, 4, 0)
        headers.append(struct.pack(module.byte_order + layout, *row))
        body.append(data)
        offset += len(data)
    return b"".join([_executable_header(module, offset, len(headers)), *body, *headers])


def _executable_header(module: ElfObject, headers_offset: int, header_count: int) -> bytes:
    """Turn the module's ELF header into that of an executable; ``headers_offset`` is where its section headers are."""
    byte_order = module.byte_order
    header = bytearray(module.read(0, 64 if module.is_64 else 52))
    struct.pack_into(byte_order + "H", header, 16, 2)  # e_type = ET_EXEC
    # e_phoff, e_shoff; e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx (the last section is .shstrtab)
    if module.is_64:
        struct.pack_into(byte_order + "QQ", header, 32, 0, headers_offset)
        struct.pack_into(byte_order + "5H", header, 54, 56, 0, 64, header_count, header_count - 1)
    else:
        struct.pack_into(byte_order + "II", header, 28, 0, headers_offset)
        struct.pack_into(byte_order + "5H", header, 42, 32, 0, 40, header_count, header_count - 1)
    return bytes(header)
