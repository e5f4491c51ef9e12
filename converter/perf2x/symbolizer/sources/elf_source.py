"""Names for addresses in ELF files: symbol tables first, then lines and inlined frames if debug info has them."""

import numpy as np

from perf2x.base.binaries.dwarf.source_locations import SourceLocations, source_locations_of
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.binaries.go.find_pclntab import has_go_table
from perf2x.base.columnar import U64, unique_known
from perf2x.base.mapping_names import is_injected
from perf2x.symbolizer.sources.elf_symbols import ElfNames, counting_broken
from perf2x.symbolizer.sources.jit_functions import V8_SHIFT, injected_symbols, is_v8
from perf2x.symbolizer.sources.merge_debug_info import merge_debug_info
from perf2x.symbolizer.sources.symbol_source import (
    BuiltInSource,
    Context,
    Dso,
    DsoKind,
    Symbols,
    no_symbols,
    symbols_from_names,
)

STRIPPED = "stripped: no symbol table in it, and no debug file found"


class ElfSource(BuiltInSource):
    """Function names from ``.symtab``, ``.dynsym`` and PLTs; lines and inlined frames from DWARF."""

    order = 20

    def covers(self, dso: Dso) -> bool:
        """True for objects with at least one file."""
        return dso.kind in (DsoKind.FILE, DsoKind.VDSO) and bool(dso.found.files)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Functions by svma, with lines if there is debug info."""
        names = ElfNames(dso.found, self._context.diagnostics)
        if not is_injected(dso.name):
            return symbols_of(self._context, dso.found, names, address, dso.name)
        rows = unique_known(names.find(address))[0]
        shift = V8_SHIFT if any(is_v8(names.name(row)) for row in rows.tolist()) else 0
        return injected_symbols(symbols_of(self._context, dso.found, names, address, dso.name, shift))


def symbols_of(
    context: Context, found: ObjectFiles, names: ElfNames, svma: U64, recorded: str = "", shift: int = 0
) -> Symbols:
    """Functions by svma from ``names``, with lines and inlined frames if a file of ``found`` has debug info.

    ``recorded`` is the object's recorded path; the rest of split debug info may lie beside it. Lines are
    those of the addresses ``shift`` bytes further on.
    """
    row = names.find(svma)
    missing = "" if names.has_symtab else STRIPPED
    if found.dwarf is not None and (context.options.lines or not names.has_symtab):
        locations = _source_locations(context, found, recorded, svma + np.uint64(shift))
        if found.code is not None and has_go_table(found.code):
            locations = _with_go_start_lines(context, found, locations, svma)
        return merge_debug_info(names, row, locations, context.options.inline, missing)
    rows, function = unique_known(row)
    if not len(rows):
        return no_symbols(len(svma), missing)
    return symbols_from_names([names.name(one) for one in rows.tolist()], function, missing)


def _with_go_start_lines(
    context: Context, found: ObjectFiles, locations: SourceLocations, svma: U64
) -> SourceLocations:
    from perf2x.symbolizer.sources.go_start_lines import with_go_start_lines  # only Go programs need it

    with counting_broken(context.diagnostics):
        return with_go_start_lines(locations, found.code, found.symbols, svma) if found.code is not None else locations
    return locations


def _source_locations(context: Context, found: ObjectFiles, recorded: str, svma: U64) -> SourceLocations:
    from perf2x.symbolizer.sources.dwarf_units import locations_from_units  # most objects have no debug info

    with counting_broken(context.diagnostics):
        return locations_from_units(context, found, recorded, svma)
    return source_locations_of([[]] * len(svma))
