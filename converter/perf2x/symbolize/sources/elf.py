"""Names for addresses in ELF files: symbol tables first, then lines and inlined frames where debug info has them.

The outermost function keeps the name that the symbol table gives it, as in perf; debug info adds where it is written,
which line it is, and the functions inlined into it.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from perf2x.binary.elf.file import ElfObject
from perf2x.columnar.arrays import I64, U64
from perf2x.columnar.ragged import offsets_of, ranges
from perf2x.columnar.unique import unique_inverse, unique_known
from perf2x.debugfiles.finder import Found
from perf2x.debugfiles.split_debug import lies_elsewhere
from perf2x.symbolize.source_locations import Places, Site, places_of, replaced
from perf2x.symbolize.sources.contract import Context, Dso, DsoKind, Function, Symbols, nothing, one_line_each
from perf2x.symbolize.sources.elf_symbols import ElfNames, count_broken
from perf2x.symbolize.symcache.build import open_lines
from perf2x.tables.errors import ObjectError

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
        return symbols_of(self._context, dso.found, names, address, dso.name)


def symbols_of(context: Context, found: Found, names: ElfNames, svma: U64, recorded: str = "") -> Symbols:
    """Functions by svma from ``names``, with lines and inlined frames where a file of ``found`` has debug info.

    ``recorded``: the object's name, beside which the rest of split debug info may lie.
    """
    row = names.find(svma)
    missing = "" if names.has_symtab else STRIPPED
    if found.dwarf is not None:
        places = _places(context, found, found.dwarf, recorded, svma)
        return with_lines(names, row, places, context.options.inline, missing)
    rows, function = unique_known(row)
    if not len(rows):
        return nothing(len(svma), missing)
    return one_line_each([names.name(one) for one in rows.tolist()], function, missing)


def _places(context: Context, found: Found, file: ElfObject, recorded: str, svma: U64) -> Places:
    """From the symcache; what that does not know, and other files do, from debug info itself."""
    places, lacking = places_of([[]] * len(svma)), np.arange(len(svma))
    try:
        lines = open_lines(file, context.options, context.diagnostics)
        if lines is not None:
            places = lines.find(svma)
            lacking = np.flatnonzero(~places.is_whole) if lies_elsewhere(file) else lacking[:0]
    except ObjectError as error:  # one unit that cannot be read is enough: the others are read one by one
        count_broken(context.diagnostics, error)
        lacking = lacking[: 0 if file.type == "ET_REL" else None]
    if not len(lacking):
        return places
    from perf2x.symbolize.symcache.unit_lines import unit_places  # the reader of DWARF: few addresses need it

    try:
        better = unit_places(context, found, recorded, svma[lacking])
    except ObjectError as error:
        count_broken(context.diagnostics, error)
        return places
    known = np.flatnonzero(np.diff(better.offsets))
    return replaced(places, lacking[known], better.take(known))


def with_lines(names: ElfNames, row: I64, places: Places, inline: bool, missing: str = "") -> Symbols:
    """Symbol table and debug info as one answer: the symbol table's name wins for the outermost function.

    ``row`` (n,) are the addresses' symbols, −1 for none. Without ``inline`` only outermost functions are kept.
    """
    count = np.diff(places.offsets)
    if names.has_symtab:
        # symbolic stretches the last symbol before a gap over the gap: there debug info does not really know the place
        count = np.where((row >= 0) | places.has_line, count, 0)
    nameless = np.array([not site.symbol for site in places.sites], np.bool_)
    alone = np.flatnonzero((count == 1) & (row < 0))
    count[alone[nameless[places.site[places.offsets[alone]]]]] = 0
    kept = count if inline else np.minimum(count, 1)
    # an address that only the symbol table knows has one row, without a line
    bare = (row >= 0) & (count == 0)
    offsets = offsets_of(kept + bare)
    source = ranges(places.offsets[:-1] + count - kept, kept)
    known = np.ones(int(offsets[-1]), np.bool_)
    known[offsets[:-1][bare]] = False
    symbol = np.full(len(known), -1, np.int64)
    last = kept + bare > 0
    symbol[offsets[1:][last] - 1] = row[last]
    site, line = np.full(len(known), -1, np.int64), np.zeros(len(known), np.int32)
    site[known], line[known] = places.site[source], places.line[source]
    # one word for both, in which −1 is 0
    pairs, function = unique_inverse((symbol + 1).astype(np.uint64) << np.uint64(32) | (site + 1).astype(np.uint64))
    of_symbol, of_site = pairs >> np.uint64(32), pairs & np.uint64(2**32 - 1)
    rows = zip(of_symbol.tolist(), of_site.tolist(), strict=True)
    functions = [_function(names, places.sites, symbol - 1, site - 1) for symbol, site in rows]
    return Symbols(offsets, function.astype(np.int32), line, functions, has_inlines=inline, missing=missing)


def _function(names: ElfNames, sites: Sequence[Site], symbol: int, site: int) -> Function:
    """One function; ``symbol`` is −1 for inlined ones and for those that the symbol table does not know."""
    known = sites[site] if site >= 0 else Site("", "")
    name = names.name(symbol) if symbol >= 0 else known.symbol
    return Function(name or "??", "", known.path, known.start_line)
