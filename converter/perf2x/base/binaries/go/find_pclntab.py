"""Finds Go's table of functions (pclntab) in a file, and the lines of ``func`` keywords.

Since Go 1.18, the table has offsets from the start of the text; where that address is stored depends on the linker.
Each row of the table, which describes a function, ends with offsets of further tables. One of these maps code addresses
to numbers of inlined calls; another is the tree of these calls (since Go 1.20), whose offset counts from the symbol
``go:func.*``::

    row   +28  number of tables         call   +4   offset of the name
          +36  line                            +12  line
          +43  number of offsets (a byte)      +16  next call
          +44  tables, then offsets

Sources of truth, of the Go distribution: src/cmd/link/internal/ld/pcln.go; src/runtime/symtab.go type moduledata;
src/runtime/runtime2.go type _func; src/runtime/symtabinl.go type inlinedCall.
"""

import re
from collections.abc import Sequence

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject, ElfSection
from perf2x.base.binaries.elf.symtab import raw_symbols, relocations
from perf2x.base.binaries.go.pclntab import MAX_LINE, GoFunctions, byte_order, is_go
from perf2x.base.columnar import as_uint64, flatnonzero, unique
from perf2x.errors import ObjectError

_SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")
_MAGIC = re.compile(rb"(?:[\xfb\xfa\xf0\xf1]\xff\xff\xff|\xff\xff\xff[\xfb\xfa\xf0\xf1])\0\0[\1\2\4][\4\10]")
# Index of the word that holds the start of the text: in the table's header, counted after its first 8 bytes, and in
# ``.go.module``.
_TEXT_IN_HEADER, _TEXT_IN_MODULE = 2, 22
# The number of the relocation type R_*_RELATIVE, by machine.
_RELATIVE = {"EM_X86_64": 8, "EM_AARCH64": 1027, "EM_386": 8, "EM_ARM": 23, "EM_RISCV": 3, "EM_S390": 12}


def go_functions(elf: ElfObject) -> GoFunctions | None:
    """Read the table of functions of a file; None without one. Raises ObjectError if the table is damaged."""
    place = _locate(elf)
    if place is None:
        return None
    section, start = place
    data = elf.data(section)[start:]
    return GoFunctions(data, _text_start(elf, data, section.address + start), f"{elf.name}, {section.name}")


def has_go_table(elf: ElfObject) -> bool:
    """Return whether a file has a table of functions.

    A section's contents are read only where the linker may have merged the table into ``.data.rel.ro``.
    """
    return _locate(elf) is not None


def _locate(elf: ElfObject) -> tuple[ElfSection, int] | None:
    """Return the section that contains the table, and the table's offset in that section; None without a table."""
    for name in _SECTIONS:
        if (section := elf.section(name)) is not None:
            return section, 0
    section = elf.section(".data.rel.ro") if is_go(elf) else None
    if section is None:
        return None
    # in position-independent programs, the system's linker merges the table's section into this one
    for match in _MAGIC.finditer(data := elf.data(section)):
        if (section.address + match.start()) % 8 == 0 and byte_order(data[match.start() : match.start() + 16]):
            return section, match.start()
    return None


def _text_start(elf: ElfObject, data: bytes, address: int) -> int:
    """Return the start of the text: from the table's header, else from moduledata (Go 1.26), else that of ``.text``."""
    order = byte_order(data)
    if order and (found := _word(elf, data[8:], order, data[7], address + 8, _TEXT_IN_HEADER)):
        return found
    module = elf.section(".go.module")
    if order and module is not None:
        body = elf.data(module)
        if _word(elf, body, order, data[7], module.address, 0) == address and (
            found := _word(elf, body, order, data[7], module.address, _TEXT_IN_MODULE)
        ):
            return found
    text = elf.section(".text")
    return text.address if text is not None else 0


def _word(elf: ElfObject, data: bytes, order: str, size: int, address: int, number: int) -> int:
    """Return word ``number`` of the structure ``data`` at ``address``; where the file has 0, apply its relocation."""
    at = number * size
    if at + size > len(data):
        return 0
    stated = int.from_bytes(data[at : at + size], "little" if order == "<" else "big")
    return stated or _relocated(elf, address + at)


def _relocated(elf: ElfObject, address: int) -> int:
    """Return the addend of the R_*_RELATIVE relocation at ``address``; 0 without one."""
    section = elf.section(".rela.dyn") or elf.section(".rela")
    kind = _RELATIVE.get(elf.machine)
    if section is None or kind is None:
        return 0
    try:
        rows = relocations(elf, section)
    except ObjectError:
        return 0
    hit = flatnonzero((rows.offset == address) & (rows.kind == kind))
    return int(rows.addend[hit[0]]) if rows.addend is not None and len(hit) else 0


_CALL_SIZE = 16
# Maximum number of inlined calls to read for each function; large functions have a few hundred.
MAX_CALLS = 1 << 12
_TREES = b"\0go:func.*\0"


def start_lines(table: GoFunctions, rows: Sequence[int], code: ElfObject, symbols: ElfObject | None) -> dict[str, int]:
    """Return {name: line of the ``func`` keyword} for the functions in ``rows`` and the functions inlined into them.

    The latter are found only if ``symbols``, the file with the symbol table, has the symbol before the inline trees.
    """
    functions = [function for row in rows if (function := table.function(row)) is not None]
    result = {one.name: one.start_line for one in functions}
    trees = _trees(code, symbols) if symbols is not None else b""
    found = []
    for offset, count in table.inline_trees(rows):
        tree = trees[offset : offset + _CALL_SIZE * min(count, MAX_CALLS)]
        found.append(tree[: len(tree) // _CALL_SIZE * _CALL_SIZE])
    calls = np.frombuffer(b"".join(found), code.byte_order + "u4").reshape(-1, 4)
    for call in unique(as_uint64(calls[:, 1]) << np.uint64(32) | calls[:, 3]).tolist():
        result.setdefault(table.name_at(call >> 32), call & 0xFFFFFFFF)
    return {name: line for name, line in result.items() if 0 < line <= MAX_LINE}


def _trees(code: ElfObject, symbols: ElfObject) -> bytes:
    """Return the bytes from the symbol ``go:func.*`` on, where offsets of inline trees count from.

    Returns b"" without the symbol, or if ``code`` lacks its section.
    """
    table = symbols.section(".symtab")
    if table is None:
        return b""
    rows, names = raw_symbols(symbols, table)
    name = names.find(_TREES)
    address = rows["value"][rows["name"] == name + 1]
    if name < 0 or not len(address):
        return b""
    start = int(address[0])
    section = next((one for one in code.sections if 0 < one.address <= start < one.address + one.size), None)
    return code.data(section)[start - section.address :] if section is not None else b""
