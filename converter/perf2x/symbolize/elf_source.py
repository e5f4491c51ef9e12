"""Names for addresses in ELF files: symbol tables first, then lines and inlined frames where debug info has them.

The outermost function keeps the name that the symbol table gives it, as in perf; debug info adds where it is written,
which line it is, and the functions inlined into it.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from perf2x.model.arrays import I64, U64
from perf2x.model.errors import ObjectError
from perf2x.model.ragged import offsets_of
from perf2x.objects.find import Found
from perf2x.symbolize.dwarf import Place, SourceLines, note_elsewhere, open_lines
from perf2x.symbolize.elf_names import ElfNames, count_broken
from perf2x.symbolize.source import Context, Dso, DsoKind, Function, Symbols, nothing, one_line_each

STRIPPED = "stripped: no symbol table in it, and no debug file found"


class ElfSource:
    """Function names from ``.symtab``, ``.dynsym`` and linkage tables; lines and inlined frames from DWARF."""

    order: ClassVar[int] = 20

    def __init__(self, context: Context) -> None:
        self._context = context

    def covers(self, dso: Dso) -> bool:
        """Objects with at least one file."""
        return dso.kind in (DsoKind.FILE, DsoKind.VDSO) and bool(dso.found.files)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Functions by svma, lines where there is debug info."""
        names = ElfNames(dso.found, self._context.options.demangle, self._context.diagnostics)
        return symbols_of(self._context, dso.found, names, address)


def symbols_of(context: Context, found: Found, names: ElfNames, svma: U64) -> Symbols:
    """Functions by svma from ``names``, with lines and inlined frames where a file of ``found`` has debug info."""
    row = names.find(svma)
    missing = "" if names.has_symtab else STRIPPED
    lines = _lines(context, found)
    if lines is not None and found.dwarf is not None:
        places = lines.find(svma)
        note_elsewhere(found.dwarf, places, context.diagnostics)
        return _with_lines(names, row, places, context.options.inline, missing)
    rows = np.unique(row[row >= 0])
    if not len(rows):
        return nothing(len(svma), missing)
    known = [names.name(int(r)) for r in rows]
    return one_line_each(known, np.where(row >= 0, np.searchsorted(rows, row), -1), missing)


def _lines(context: Context, found: Found) -> SourceLines | None:
    try:
        return open_lines(found.dwarf, context.options, context.diagnostics)
    except ObjectError as error:
        count_broken(context.diagnostics, error)
        return None


def _with_lines(names: ElfNames, row: I64, places: Sequence[Sequence[Place]], inline: bool, missing: str) -> Symbols:
    """Symbol table and debug info as one answer; without ``inline`` only outermost functions are kept."""
    functions: dict[Function, int] = {}
    function: list[int] = []
    line: list[int] = []
    count = np.zeros(len(row), np.int64)
    for i, found in enumerate(places):
        outermost = names.name(int(row[i])) if row[i] >= 0 else ""
        chain = merged(outermost, found if outermost or _has_line(found) or not names.has_symtab else (), inline)
        count[i] = len(chain)
        function += [functions.setdefault(one, len(functions)) for one, _ in chain]
        line += [number for _, number in chain]
    columns = np.array(function, np.int32), np.array(line, np.int32)
    return Symbols(offsets_of(count), *columns, tuple(functions), has_inlines=inline, missing=missing)


def _has_line(places: Sequence[Place]) -> bool:
    """Whether debug info really knows the place: symbolic stretches the last symbol before a gap over the gap."""
    return any(place.line for place in places)


def merged(outermost: str, places: Sequence[Place], inline: bool = True) -> list[tuple[Function, int]]:
    """One address: (function, line) innermost first; the symbol table's name wins for the outermost one."""
    if not places:
        return [(Function(outermost), 0)] if outermost else []
    inlined = places[:-1] if inline else ()
    chain = [(Function(p.symbol or "??", "", p.path), p.line) for p in inlined]
    last = places[-1]
    name = outermost or last.symbol
    return [*chain, (Function(name, "", last.path, last.entry_line), last.line)] if name else chain
