"""Finds Go's table of functions (pclntab) in a file, and the line of the ``func`` keyword of inlined functions.

Inlined functions have no record in the table. But since Go 1.20, the record of a function (_func) has the offset of an
array of its inlined calls, the inline tree (funcdata 3). The offset counts from the symbol ``go:func.*``::

    _func   +28  npcdata                        inlinedCall   +4   offset of the name
            +36  startLine                                    +12  startLine
            +43  nfuncdata (one byte)                         +16  next inlinedCall
            +44  pcdata offsets, then funcdata offsets

Sources of truth, of the Go distribution: src/cmd/link/internal/ld/pcln.go; src/runtime/symtab.go type moduledata;
src/runtime/runtime2.go type _func; src/runtime/symtabinl.go type inlinedCall.
"""

import re
from collections.abc import Sequence

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject, ElfSection
from perf2x.base.binaries.elf.symtab import raw_symbols, relocations
from perf2x.base.binaries.go.pclntab import MAX_LINE, GoFunctions, byte_order_of, is_go
from perf2x.base.columnar import as_uint64, flatnonzero, unique
from perf2x.errors import ObjectError

_SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")
# The first eight bytes of a table: its magic number in either byte order, two zeros, the size of the shortest
# instruction (1, 2 or 4), the word size (4 or 8).
_TABLE_START = re.compile(rb"(?:[\xfb\xfa\xf0\xf1]\xff\xff\xff|\xff\xff\xff[\xfb\xfa\xf0\xf1])\0\0[\1\2\4][\4\10]")
# Index of the word with the start of the code: in the table's header, after its first 8 bytes; and in ``.go.module``,
# which is runtime.firstmoduledata.
_TEXT_IN_HEADER, _TEXT_IN_MODULE = 2, 22
# The number of the relocation type R_*_RELATIVE, by machine.
_RELATIVE = {"EM_X86_64": 8, "EM_AARCH64": 1027, "EM_386": 8, "EM_ARM": 23, "EM_RISCV": 3, "EM_S390": 12}


def go_functions(elf: ElfObject) -> GoFunctions | None:
    """Read the table of functions of a file; None without one. Raises ObjectError if the table is damaged."""
    location = _locate(elf)
    if location is None:
        return None
    section, offset = location
    data = elf.data(section)[offset:]
    return GoFunctions(data, _text_start(elf, data, section.address + offset), f"{elf.name}, {section.name}")


def has_go_table(elf: ElfObject) -> bool:
    """Return whether a file has a table of functions."""
    return _locate(elf) is not None


def _locate(elf: ElfObject) -> tuple[ElfSection, int] | None:
    for name in _SECTIONS:
        if (section := elf.section(name)) is not None:
            return section, 0
    section = elf.section(".data.rel.ro") if is_go(elf) else None
    if section is None:
        return None
    # in position-independent programs, the system's linker merges .data.rel.ro.gopclntab into this section
    for match in _TABLE_START.finditer(data := elf.data(section)):
        if (section.address + match.start()) % 8 == 0 and byte_order_of(data[match.start() : match.start() + 16]):
            return section, match.start()
    return None


def _text_start(elf: ElfObject, data: bytes, address: int) -> int:
    """Return the start of the code, from which entries of the table count; ``address`` is the table's svma.

    Tables of Go before 1.18 do not need it.
    """
    byte_order = byte_order_of(data)
    word_size = data[7] if byte_order else 0
    if byte_order and (start := _word(elf, data[8:], byte_order, word_size, address + 8, _TEXT_IN_HEADER)):
        return start
    module = elf.section(".go.module")
    if byte_order and module is not None:  # since Go 1.26, the start is here
        moduledata = elf.data(module)
        # the first word of moduledata is the address of the table
        if _word(elf, moduledata, byte_order, word_size, module.address, 0) == address and (
            start := _word(elf, moduledata, byte_order, word_size, module.address, _TEXT_IN_MODULE)
        ):
            return start
    text = elf.section(".text")
    return text.address if text is not None else 0


def _word(elf: ElfObject, data: bytes, byte_order: str, word_size: int, address: int, index: int) -> int:
    """Return word ``index`` of ``data``, a structure at ``address``; 0 if ``data`` is too short.

    In position-independent programs, the stored word is 0, and its relocation has the value.
    """
    offset = index * word_size
    if offset + word_size > len(data):
        return 0
    stored = int.from_bytes(data[offset : offset + word_size], "little" if byte_order == "<" else "big")
    return stored or _relocated_word(elf, address + offset)


def _relocated_word(elf: ElfObject, address: int) -> int:
    section = elf.section(".rela.dyn") or elf.section(".rela")
    relocation_type = _RELATIVE.get(elf.machine)
    if section is None or relocation_type is None:
        return 0
    try:
        rows = relocations(elf, section)
    except ObjectError:
        return 0
    matches = flatnonzero((rows.offset == address) & (rows.type == relocation_type))
    return int(rows.addend[matches[0]]) if rows.addend is not None and len(matches) else 0


# Bytes of an inlinedCall.
_CALL_SIZE = 16
# Maximum number of inlined calls of a function that are read; large functions have a few hundred.
MAX_CALLS = 1 << 12
# The symbol's name in a string table, after the NUL at the end of the string before it.
_TREES_SYMBOL = b"\0go:func.*\0"


def start_lines(table: GoFunctions, rows: Sequence[int], code: ElfObject, symbols: ElfObject | None) -> dict[str, int]:
    """Return {name: line of the ``func`` keyword} for the functions in ``rows`` and the functions inlined into them.

    ``code`` is the file that ``table`` was read from. Inlined functions are found only if ``symbols``, the file with
    the symbol table, has the symbol ``go:func.*``.
    """
    functions = [function for row in rows if (function := table.function(row)) is not None]
    result = {function.name: function.start_line for function in functions}
    all_trees = _inline_tree_bytes(code, symbols) if symbols is not None else b""
    trees = []
    for offset, count in table.inline_trees(rows):
        tree = all_trees[offset : offset + _CALL_SIZE * min(count, MAX_CALLS)]
        trees.append(tree[: len(tree) // _CALL_SIZE * _CALL_SIZE])
    calls = np.frombuffer(b"".join(trees), code.byte_order + "u4").reshape(-1, 4)
    # words 1 and 3 of a call are the offset of the name and startLine; a pair becomes one number, offset << 32 | line
    for packed in unique(as_uint64(calls[:, 1]) << np.uint64(32) | calls[:, 3]).tolist():
        result.setdefault(table.name_at(packed >> 32), packed & 0xFFFFFFFF)
    return {name: line for name, line in result.items() if 0 < line <= MAX_LINE}


def _inline_tree_bytes(code: ElfObject, symbols: ElfObject) -> bytes:
    """Return the bytes from the symbol ``go:func.*`` to the end of its section; b"" if either is missing."""
    table = symbols.section(".symtab")
    if table is None:
        return b""
    rows, strings = raw_symbols(symbols, table)
    name_offset = strings.find(_TREES_SYMBOL) + 1  # 0 if it is missing
    address = rows["value"][rows["name"] == name_offset]
    if name_offset == 0 or not len(address):
        return b""
    start = int(address[0])
    containing = (section for section in code.sections if 0 < section.address <= start < section.address + section.size)
    section = next(containing, None)
    return code.data(section)[start - section.address :] if section is not None else b""
