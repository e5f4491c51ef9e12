"""Coverage: the share of an object's code that address ranges cover.

For symbol tables: the functions that they name, and their share of the code.
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import U64, argsort, searchsorted, sum_of
from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import PF_X, ElfObject
from perf2x.binaries.elf.relocate_module import section_addresses
from perf2x.binaries.elf.symtab import STT_FUNC, STT_GNU_IFUNC, function_symbols
from perf2x.binaries.go.go_table import go_functions, has_go_table

_EXECUTABLE = 0x6
"""SHF_ALLOC and SHF_EXECINSTR."""


class Code(Struct, frozen=True):
    """The code of one object as sorted ranges of stated addresses that do not overlap."""

    what: str
    """``.text``, or ``code`` without such a section."""
    start: U64
    end: U64

    @property
    def size(self) -> int:
        """Bytes of all ranges."""
        return sum_of(self.end - self.start)

    def share(self, start: U64, end: U64) -> float:
        """Return the share of the code that ranges (n,) cover together; they may overlap. 0 without code."""
        first, last = union(start, end)
        ends = np.cumsum(np.append(np.uint64(0), last - first), dtype=np.uint64)
        covered = sum_of(_covered_below(first, ends, self.end) - _covered_below(first, ends, self.start))
        return covered / self.size if self.size else 0.0


def union(start: U64, end: U64) -> tuple[U64, U64]:
    """Merge ranges into sorted ones that do not touch; empty ranges are dropped."""
    kept = end > start
    order = argsort(start[kept])
    start, end = start[kept][order], np.maximum.accumulate(end[kept][order])
    first = np.append(True, start[1:] > end[:-1])[: len(start)]
    last = np.append(first[1:], True)[: len(start)]
    return start[first], end[last]


def _covered_below(start: U64, ends: U64, address: U64) -> U64:
    """Return (m,) the bytes of ranges below each address; ``ends`` are running sums of their lengths, from 0."""
    row = searchsorted(start, address, "right")
    inside = np.where(row > 0, address - np.append(np.uint64(0), start)[row], np.uint64(0))
    length = np.diff(ends, prepend=np.uint64(0))[row]
    return ends[row] - length + np.minimum(inside, length)


def code_of(elf: ElfObject) -> Code:
    """Return ``.text``; without it all executable sections, without section headers the executable segments."""
    places = section_addresses(elf) if elf.type == "ET_REL" else None
    held = [
        (section.name, section.address if places is None else places.get(number, 0), section.size)
        for number, section in enumerate(elf.sections)
        if section.flags & _EXECUTABLE == _EXECUTABLE and section.size and (places is None or number in places)
    ]
    text = [row for row in held if row[0] == ".text" or (places is not None and row[0].startswith(".text."))]
    if held:
        return _code(".text" if text else "code", [row[1:] for row in text or held])
    loads = [(s.address, s.memory_size) for s in elf.segments if s.type == "PT_LOAD" and s.flags & PF_X]
    return _code("code", loads)


def _code(what: str, rows: list[tuple[int, int]]) -> Code:
    possible = [(start, start + size) for start, size in rows if start + size < 2**64]
    start, end = np.array(possible, np.uint64).reshape(-1, 2).T
    return Code(what, *union(start, end))


class FunctionTable(Struct, frozen=True):
    """One table that tells of functions: their names, or how to unwind them."""

    name: str
    """``.symtab``, ``.dynsym``, ``.gopclntab``; ``.eh_frame``, ``.debug_frame``, ``.sframe``."""
    file: str
    functions: int
    """Functions with an address and, in tables of names, a name."""
    share: float | None
    """Share of the code, 0 to 1; None when it was not measured."""
    broken: str = ""
    """The error when it cannot be read, else ""."""


def broken_table(error: ObjectError, elf: ElfObject, name: str) -> FunctionTable:
    """Return a table that cannot be read; its error goes without the names of file and section, shown beside it."""
    why = str(error).removeprefix(elf.name).removeprefix(f", {name}").removeprefix(": ")
    return FunctionTable(name, elf.name, 0, None, why)


TABLES = (".symtab", ".dynsym")
GO_TABLE = ".gopclntab"


def name_tables(elf: ElfObject, code: Code) -> list[FunctionTable]:
    """Return the tables of one file, the best first; one that cannot be read has the error in ``broken``."""
    found = []
    for name in TABLES:
        try:
            found.append(_symbol_table(elf, name, code))
        except ObjectError as error:
            found.append(broken_table(error, elf, name))
    return [*filter(None, found), *_go_table(elf)]


def _symbol_table(elf: ElfObject, name: str, code: Code) -> FunctionTable | None:
    rows = function_symbols(elf, name, section_addresses(elf) if elf.type == "ET_REL" else None)
    if rows is None:
        return None
    is_function = np.isin(rows.type, (STT_FUNC, STT_GNU_IFUNC))
    start, size = rows.start[is_function], rows.size[is_function]
    distinct = np.unique(start)
    following = np.append(distinct, distinct[-1:])[searchsorted(distinct, start) + 1] if len(start) else start
    end = np.where(size == 0, following, start + size)  # as perf: a symbol without a size reaches to the next one
    return FunctionTable(name, elf.name, len(start), code.share(start, end))


def _go_table(elf: ElfObject) -> list[FunctionTable]:
    """Return Go's table of functions, which strip does not remove."""
    try:
        table = go_functions(elf) if has_go_table(elf) else None
    except ObjectError as error:
        return [broken_table(error, elf, GO_TABLE)]
    return [] if table is None else [FunctionTable(GO_TABLE, elf.name, len(table), None)]
