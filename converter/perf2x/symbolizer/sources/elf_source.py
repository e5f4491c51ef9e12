"""Names for addresses in ELF files: symbol tables first, then lines and inlined frames if debug info has them."""

import re
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.binaries.dwarf.source_locations import (
    DebugFunction,
    SourceLocations,
    is_nameless_call_operator,
    source_locations_of,
)
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.binaries.go.find_pclntab import go_functions, start_lines
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Frozen,
    as_int32,
    as_uint64,
    flatnonzero,
    minus_ones,
    offsets_of,
    ranges,
    trues,
    unique,
    unique_inverse,
    unique_known,
)
from perf2x.base.mapping_names import is_injected
from perf2x.model.printable_text import base_name
from perf2x.symbolizer.demangle.demangle import short_name
from perf2x.symbolizer.sources.elf_symbols import ElfNames, counting_broken
from perf2x.symbolizer.sources.jit_functions import V8_SHIFT, injected_symbols, is_v8
from perf2x.symbolizer.sources.symbol_source import (
    BuiltInSource,
    Context,
    Dso,
    DsoKind,
    Function,
    Symbols,
    no_symbols,
    symbols_from_names,
)

_TYPES = re.compile(r"\[.*\]")
"""Type arguments of a generic function, which Go's table of functions omits."""
STRIPPED = "stripped: it has no symbol table, and no debug file was found"


class ElfSource(BuiltInSource):
    """Function names from ``.symtab``, ``.dynsym`` and PLTs; lines and inlined frames from DWARF."""

    order = 20

    def covers(self, dso: Dso) -> bool:
        """Return True for objects with at least one file."""
        return dso.kind in (DsoKind.FILE, DsoKind.VDSO) and bool(dso.found.files)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions by svma, with lines if there is debug info."""
        names = ElfNames(dso.found, self._context.diagnostics)
        if not is_injected(dso.name):
            return symbols_of(self._context, dso.found, names, address, dso.name)
        rows = unique_known(names.find(address))[0]
        shift = V8_SHIFT if any(is_v8(names.name(row)) for row in rows.tolist()) else 0
        return injected_symbols(symbols_of(self._context, dso.found, names, address, dso.name, shift))


def symbols_of(
    context: Context, found: ObjectFiles, names: ElfNames, svma: U64, recorded: str = "", shift: int = 0
) -> Symbols:
    """Return functions by svma from ``names``, with lines and inlined frames if a file of ``found`` has debug info.

    ``recorded`` is the object's recorded path; the rest of split debug info may be next to it. Lines are those of the
    addresses ``shift`` bytes further on.
    """
    row = names.find(svma)
    missing = "" if names.has_symtab else STRIPPED
    if found.dwarf is not None and (context.options.lines or not names.has_symtab):
        locations = _source_locations(context, found, recorded, svma + np.uint64(shift))
        if found.code is not None:
            with counting_broken(context.diagnostics):
                locations = with_go_start_lines(locations, found.code, found.symbols, svma)
        return merge_debug_info(names, row, locations, context.options.inline, missing)
    rows, function = unique_known(row)
    if not len(rows):
        return no_symbols(len(svma), missing)
    return symbols_from_names([names.name(one) for one in rows.tolist()], function, missing)


def with_go_start_lines(
    locations: SourceLocations, code: ElfObject, symbols: ElfObject | None, svma: U64
) -> SourceLocations:
    """Replace start lines by those of Go's table for the functions at ``svma`` and those inlined into them.

    ``go build -pgo`` counts the lines of calls from the start line of the function. Functions that are not in the table
    keep their start lines. Raises ObjectError if the table is damaged.
    """
    table = go_functions(code)
    if table is None:
        return locations
    row = unique(table.find(svma))
    line_of = start_lines(table, row[row >= 0].tolist(), code, symbols)
    functions = [
        replace(one, start_line=line_of.get(_TYPES.sub("[...]", one.symbol), one.start_line))
        for one in locations.functions
    ]
    return replace(locations, functions=functions)


def _source_locations(context: Context, found: ObjectFiles, recorded: str, svma: U64) -> SourceLocations:
    from perf2x.symbolizer.sources.dwarf_units import locations_from_units  # most objects have no debug info

    with counting_broken(context.diagnostics):
        return locations_from_units(context, found, recorded, svma)
    return source_locations_of([[]] * len(svma))


def merge_debug_info(names: ElfNames, row: I64, locations: SourceLocations, inline: bool, missing: str) -> Symbols:
    """Merge the symbol table of an ELF file with the lines and inlined frames of its debug info.

    The outermost frame keeps its name from the symbol table, as in perf; file, line and inlined functions come
    from debug info::

        address  symbol table   debug info, innermost first           result, innermost first
        0x10     main           get a.h:3, run a.c:9, _main b.c:7     get a.h:3, run a.c:9, main b.c:7
        0x10     main           (the same, without --inline)          main b.c:7
        0x20     start          –                                     start
        0x30     –              f a.c:2                               f a.c:2
        0x40     –              f, no line  (a gap after f)           no rows if the file has a .symtab, else f
        0x50     –              one function without a name           no rows

    ``row`` (n,) is each address's symbol, −1 for none. ``missing`` is the reason for addresses that stay unnamed.
    """
    frames = _merged_frames(row, locations, _trusted_counts(row, locations, names.has_symtab), inline)
    # pack (symbol, debug function) into one word, with 0 for −1
    word = as_uint64(frames.symbol + 1) << np.uint64(32) | as_uint64(frames.debug_function + 1)
    pairs, function = unique_inverse(word)
    symbol, debug_function = pairs >> np.uint64(32), pairs & np.uint64(2**32 - 1)
    functions = [
        _function(names, locations.functions, symbol - 1, debug_function - 1)
        for symbol, debug_function in zip(symbol.tolist(), debug_function.tolist(), strict=True)
    ]
    return Symbols(frames.offsets, as_int32(function), frames.line, functions, has_inlines=inline, missing=missing)


class _Frames(Frozen):
    """Frames of ``n`` addresses before they are named; address i has rows ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: I64
    """(n + 1,)"""
    symbol: I64
    """(rows,) symbol of the outermost frame of an address, −1 for inlined frames and if there is no symbol."""
    debug_function: I64
    """(rows,) function in debug info, −1 for none."""
    line: I32
    """(rows,) 0 if unknown."""


def _trusted_counts(row: I64, locations: SourceLocations, has_symtab: bool) -> I64:
    """Return (n,) number of debug info frames to keep of each address: all or none."""
    count = np.diff(locations.offsets)
    if has_symtab:
        # neither a symbol nor a line: a gap between functions
        count = np.where((row >= 0) | locations.has_line, count, 0)
    nameless = np.array([not function.symbol for function in locations.functions], np.bool_)
    single = flatnonzero((count == 1) & (row < 0))
    count[single[nameless[locations.function[locations.offsets[single]]]]] = 0
    return count


def _merged_frames(row: I64, locations: SourceLocations, count: I64, inline: bool) -> _Frames:
    """Return the last ``count`` debug info frames of each address, the outermost one with its symbol.

    An address that is only in the symbol table gets one frame without a line.
    """
    kept = count if inline else np.minimum(count, 1)
    symbol_only = (row >= 0) & (count == 0)
    size = kept + symbol_only
    offsets = offsets_of(size)
    source = ranges(locations.offsets[:-1] + count - kept, kept)

    from_debug_info = trues(int(offsets[-1]))
    from_debug_info[offsets[:-1][symbol_only]] = False
    debug_function, line = minus_ones(len(from_debug_info)), np.zeros(len(from_debug_info), np.int32)
    debug_function[from_debug_info], line[from_debug_info] = locations.function[source], locations.line[source]

    symbol = minus_ones(len(from_debug_info))
    has_frames = size > 0
    symbol[offsets[1:][has_frames] - 1] = row[has_frames]
    return _Frames(offsets, symbol, debug_function, line)


def _function(names: ElfNames, functions: Sequence[DebugFunction], symbol: int, debug_function: int) -> Function:
    """Return one function; ``symbol`` is −1 for inlined functions and for those outside the symbol table."""
    described = functions[debug_function] if debug_function >= 0 else DebugFunction("", "")
    if symbol >= 0:
        return Function(names.name(symbol) or "??", "", described.path, described.start_line)
    return Function(described.symbol or "??", _short_name(described), described.path, described.start_line)


def _short_name(described: DebugFunction) -> str:
    """Return the short form of a name that is not mangled, "" for others.

    GCC gives no linkage names to functions with internal linkage. A call operator without a class is usually a
    lambda's; its enclosing function, or its file, distinguishes it from others.
    """
    name, is_lambda = described.symbol, is_nameless_call_operator(described.symbol)
    if not described.inside and (name.startswith(("_Z", "_R", "<")) or not ("<" in name or is_lambda)):
        return ""
    from perf2x.symbolizer.demangle.brackets import abbreviate  # not needed for C programs

    short = abbreviate(name)
    if described.inside:
        outer = described.inside.partition(".")[0]  # without suffixes of clones: main.cold
        outer = _short_name(DebugFunction(outer, "")) or short_name(outer)
        return f"{outer}::{'{lambda}' if is_lambda else short}"
    return f"{short} {base_name(described.path)}" if is_lambda else short
