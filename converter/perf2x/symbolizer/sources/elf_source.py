"""Names for addresses in ELF files, with lines and inlined functions if there is debug info."""

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
from perf2x.symbolizer.sources.elf_symbols import ElfNames, counting_unreadable
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

# Type arguments of a generic Go function, which Go's own table writes as ``[...]``.
_TYPE_ARGUMENTS = re.compile(r"\[.*\]")
STRIPPED = "stripped: it has no symbol table, and no debug file was found"


class ElfSource(BuiltInSource):
    """Function names from ``.symtab``, ``.dynsym`` and PLTs; lines and inlined frames from DWARF."""

    order = 20

    def covers(self, dso: Dso) -> bool:
        """Return True for objects with at least one file."""
        return dso.kind in (DsoKind.FILE, DsoKind.VDSO) and bool(dso.found.files)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions, with lines if there is debug info; ``address`` (n,) has svmas."""
        names = ElfNames(dso.found, self._context.diagnostics)
        if not is_injected(dso.name):
            return symbols_of(self._context, dso.found, names, address, dso.name)
        # perf inject wrote the file from a jitdump; lines of V8's code are too high by V8_SHIFT
        symbols = unique_known(names.find(address))[0]
        line_shift = V8_SHIFT if any(is_v8(names.name(row)) for row in symbols.tolist()) else 0
        return injected_symbols(symbols_of(self._context, dso.found, names, address, dso.name, line_shift))


def symbols_of(
    context: Context, files: ObjectFiles, names: ElfNames, svma: U64, recorded_path: str = "", line_shift: int = 0
) -> Symbols:
    """Return the functions at ``svma`` (n,), with lines and inlined functions if debug info was read.

    Debug info is read if the user wants lines, or if there is no .symtab. Its addresses are ``line_shift``
    bytes higher than those of symbols. A ``.dwp`` may be next to ``recorded_path``.
    """
    symbol = names.find(svma)
    missing = "" if names.has_symtab else STRIPPED
    if files.dwarf is not None and (context.options.lines or not names.has_symtab):
        locations = _source_locations(context, files, recorded_path, svma + np.uint64(line_shift))
        if files.code is not None:
            with counting_unreadable(context.diagnostics):
                locations = with_go_start_lines(locations, files.code, files.symbols, svma)
        return merge_debug_info(names, symbol, locations, context.options.inline, missing)
    distinct, name_index = unique_known(symbol)
    if not len(distinct):
        return no_symbols(len(svma), missing)
    return symbols_from_names([names.name(row) for row in distinct.tolist()], name_index, missing)


def with_go_start_lines(
    locations: SourceLocations, code: ElfObject, symbols: ElfObject | None, svma: U64
) -> SourceLocations:
    """Replace start lines by those of Go's table for the functions at ``svma`` and those inlined into them.

    ``go build -pgo`` counts lines from the start lines in this table. Raises ObjectError if the table is damaged.
    """
    table = go_functions(code)
    if table is None:
        return locations
    row = unique(table.find(svma))
    start_line = start_lines(table, row[row >= 0].tolist(), code, symbols)
    functions = [
        replace(function, start_line=start_line.get(_TYPE_ARGUMENTS.sub("[...]", function.symbol), function.start_line))
        for function in locations.functions
    ]
    return replace(locations, functions=functions)


def _source_locations(context: Context, files: ObjectFiles, recorded_path: str, svma: U64) -> SourceLocations:
    from perf2x.symbolizer.sources.dwarf_units import locations_from_units  # most objects have no debug info

    with counting_unreadable(context.diagnostics):
        return locations_from_units(context, files, recorded_path, svma)
    return source_locations_of([[]] * len(svma))


def merge_debug_info(names: ElfNames, symbol: I64, locations: SourceLocations, inline: bool, missing: str) -> Symbols:
    """Merge the symbol table of an ELF file with the lines and inlined functions of its debug info.

    The outermost frame keeps its name from the symbol table, as in perf::

        address  symbol table   debug info, innermost first           result, innermost first
        0x10     main           get a.h:3, run a.c:9, _main b.c:7     get a.h:3, run a.c:9, main b.c:7
        0x10     main           (the same, without --inline)          main b.c:7
        0x20     start          –                                     start
        0x30     –              f a.c:2                               f a.c:2
        0x40     –              f, no line  (a gap after f)           no rows if the file has a .symtab, else f
        0x50     –              one function without a name           no rows

    ``symbol`` (n,) is each address's row in ``names``, −1 for none. ``missing`` says why addresses stay unnamed.
    """
    frames = _merged_frames(symbol, locations, _trusted_counts(symbol, locations, names.has_symtab), inline)
    # a function is a distinct pair (symbol, debug function), packed into one word; + 1, so that −1 becomes 0
    packed_pair = as_uint64(frames.symbol + 1) << np.uint64(32) | as_uint64(frames.debug_function + 1)
    pairs, function = unique_inverse(packed_pair)
    symbols, debug_functions = pairs >> np.uint64(32), pairs & np.uint64(2**32 - 1)
    functions = [
        _function(names, locations.functions, symbol_row - 1, debug_function - 1)
        for symbol_row, debug_function in zip(symbols.tolist(), debug_functions.tolist(), strict=True)
    ]
    return Symbols(frames.offsets, as_int32(function), frames.line, functions, has_inlines=inline, missing=missing)


class _Frames(Frozen):
    """Frames before they are named; address i has rows ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: I64
    """(n + 1,)"""
    symbol: I64
    """(rows,) row of an outermost frame's symbol; −1 for inlined frames, and for frames without a symbol."""
    debug_function: I64
    """(rows,) index of the function in debug info, −1 for none."""
    line: I32
    """(rows,) source line, 0 if unknown."""


def _trusted_counts(symbol: I64, locations: SourceLocations, has_symtab: bool) -> I64:
    """Return (n,) the number of frames from debug info that each address uses.

    It is 0 for two kinds of addresses without a symbol. One has no line although the file has a .symtab, so it is in a
    gap between functions. The other has just one frame, which has no name.
    """
    count = np.diff(locations.offsets)
    if has_symtab:
        count = np.where((symbol >= 0) | locations.has_line, count, 0)
    is_nameless = np.array([not function.symbol for function in locations.functions], np.bool_)
    single_frame_rows = flatnonzero((count == 1) & (symbol < 0))
    count[single_frame_rows[is_nameless[locations.function[locations.offsets[single_frame_rows]]]]] = 0
    return count


def _merged_frames(symbol: I64, locations: SourceLocations, count: I64, inline: bool) -> _Frames:
    kept_counts = count if inline else np.minimum(count, 1)
    is_symbol_only = (symbol >= 0) & (count == 0)
    frame_counts = kept_counts + is_symbol_only
    offsets = offsets_of(frame_counts)
    debug_rows = ranges(locations.offsets[:-1] + count - kept_counts, kept_counts)

    is_from_debug_info = trues(int(offsets[-1]))
    is_from_debug_info[offsets[:-1][is_symbol_only]] = False
    debug_function, line = minus_ones(len(is_from_debug_info)), np.zeros(len(is_from_debug_info), np.int32)
    debug_function[is_from_debug_info] = locations.function[debug_rows]
    line[is_from_debug_info] = locations.line[debug_rows]

    row_symbol = minus_ones(len(is_from_debug_info))
    has_frames = frame_counts > 0
    row_symbol[offsets[1:][has_frames] - 1] = symbol[has_frames]
    return _Frames(offsets, row_symbol, debug_function, line)


def _function(names: ElfNames, functions: Sequence[DebugFunction], symbol: int, debug_function: int) -> Function:
    debug = functions[debug_function] if debug_function >= 0 else DebugFunction("", "")
    if symbol >= 0:
        return Function(names.name(symbol) or "??", "", debug.path, debug.start_line)
    return Function(debug.symbol or "??", _short_name(debug), debug.path, debug.start_line)


def _short_name(function: DebugFunction) -> str:
    """Return the short name of a function if it cannot be derived from its symbol, otherwise "".

    GCC gives no linkage names to functions with internal linkage, so their symbols may have template arguments. Lambdas
    are call operators without a class. The enclosing function, or else the file, distinguishes them.
    """
    name, is_lambda = function.symbol, is_nameless_call_operator(function.symbol)
    if not function.outer_function and (name.startswith(("_Z", "_R", "<")) or not ("<" in name or is_lambda)):
        return ""
    from perf2x.symbolizer.demangle.brackets import abbreviate

    short = abbreviate(name)
    if function.outer_function:
        outer = function.outer_function.partition(".")[0]  # without suffixes of clones, as in main.cold
        outer = _short_name(DebugFunction(outer, "")) or short_name(outer)
        return f"{outer}::{'{lambda}' if is_lambda else short}"
    return f"{short} {base_name(function.path)}" if is_lambda else short
