"""Looks up functions and lines for the addresses of one object in all symbol sources.

A return address is looked up one byte earlier, because it may already belong to the next function. But some addresses
that look like return addresses are the first byte of a function. So two addresses are looked up for each location: the
*lookup address* and the *exact* address. Their functions, or the code before the exact one, show which is right.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
from msgspec.structs import replace

from perf2x.base.binaries.elf.call_sites import CallSites
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    Frozen,
    ListArray,
    as_int32,
    as_int64,
    cumsum,
    falses,
    flatnonzero,
    minus_ones,
    offsets_of,
    ranges,
    unique_inverse,
    zeros,
)
from perf2x.base.diagnostics import Count
from perf2x.base.mapping_names import is_jitdump, is_vdso
from perf2x.errors import ObjectError
from perf2x.model.profile import FunctionRow, PlaceNames, Profile
from perf2x.symbolizer.demangle.demangle import full_name, short_name
from perf2x.symbolizer.interrupt_entry_names import are_exact_by_name, without_padding
from perf2x.symbolizer.mapped_objects import MappedObject, addresses_of, dso_of, vdso_files
from perf2x.symbolizer.sources.elf_symbols import count_unreadable
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind, Function, Symbols, SymbolSource
from perf2x.symbolizer.symbol_options import NameStyle

_LINKER_MARK, _LINKER_PREFIX = "[linker]", "__dl_"
"""simpleperf's mark before functions of Android's linker, and the prefix of the linker's symbols."""
# Path of Android's linker; elsewhere, `_LINKER_PREFIX` means nothing.
_LINKER_PATH = re.compile(r"/linker(?:64)?(?:_\w+)?$")


def function_row(function: Function, style: NameStyle) -> FunctionRow:
    """Return a function as a row of the profile, named in ``style``; a short name given by its source is kept."""
    display_name = system_name = function.system_name or function.name
    if style == "short":
        display_name = function.name or short_name(function.system_name)
    elif style == "full":
        display_name = _full_name(function)
    return display_name, system_name, function.filename, function.start_line


def full_names(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return full names by system name, except those that are displayed in full anyway.

    ``names`` are pairs of displayed name and system name.
    """
    rows = ((name, system_name, _full_name(Function(system_name, name))) for name, system_name in names)
    return {system_name: full for name, system_name, full in rows if full != name}


def _full_name(function: Function) -> str:
    if function.name.startswith(_LINKER_MARK):
        return _LINKER_MARK + full_name(function.system_name.removeprefix(_LINKER_PREFIX))
    return full_name(function.system_name) if function.system_name else function.name


def _with_linker_mark(function: Function) -> Function:
    if not function.system_name.startswith(_LINKER_PREFIX):
        return function
    return replace(function, name=_LINKER_MARK + short_name(function.system_name.removeprefix(_LINKER_PREFIX)))


class ResolveResult(Frozen):
    """Functions and lines of one object's locations.

    Location i has ``count[i]`` rows from ``start[i]`` on, innermost inlined function first. Locations may share rows.
    """

    start: I64
    """(locations,) first row."""
    count: I64
    """(locations,) number of rows."""
    is_exact: Bools
    """(locations,) True if names or code show that the address is an instruction's own, not a return address."""
    function: I32
    """(rows,) index into ``functions``."""
    line: I32
    """(rows,) source line, 0 if unknown."""
    functions: list[FunctionRow]
    """Each is used by at least one row; some may be equal to others."""
    has_inlines: Bools
    """(locations,) whether any source of the object includes inlined functions."""
    reason: str
    diagnostic_counts: Sequence[Count] = ()
    """Diagnostics of the lookup."""

    def split(self, location_counts: Sequence[int]) -> "Iterator[ResolveResult]":
        """Split a result for several objects by their numbers of locations; all parts share the rows."""
        for first, end in pairwise([0, *accumulate(location_counts)]):
            columns = {name: getattr(self, name)[first:end] for name in ("start", "count", "is_exact", "has_inlines")}
            yield replace(self, **columns)

    def names(self, locations: I64) -> PlaceNames:
        """Return the names of some locations, given by index; these indices are the places of the result."""
        rows = ranges(self.start[locations], self.count[locations])
        function, line = (as_int64(column[rows]) for column in (self.function, self.line))
        flags = self.is_exact[locations], self.has_inlines[locations]
        return PlaceNames(locations, self.count[locations], *flags, function, line, self.functions)


class ObjectResolver:
    """Resolves objects with the symbol sources of one conversion."""

    def __init__(self, profile: Profile, context: Context, sources: Sequence[SymbolSource]) -> None:
        self._profile, self._context = profile, context
        self._sources = sorted(sources, key=lambda source: source.order)

    def resolve(self, mapped_object: MappedObject) -> ResolveResult:
        """Look up the locations of one object; any process can do this, because the result has its diagnostics."""
        options = self._context.options
        with self._context.diagnostics.counted_apart() as diagnostic_counts:
            files = find_files(self._context, mapped_object)
            dso = dso_of(self._profile, mapped_object, files)
            # index (2 * locations,): rows of each location's lookup address and exact address in ``address``
            address, index = unique_inverse(addresses_of(self._profile, mapped_object, files))
            lookup, exact = index[::2], index[1::2]
            is_file = mapped_object.key.kind is DsoKind.FILE or is_vdso(mapped_object.key.name)
            is_data = mapped_object.key.kind is DsoKind.ANONYMOUS and mapped_object.pid < 0
            reason = files.reason if is_file else "it holds no code" if is_data else ""
            found_symbols = self._ask_sources(dso, address, reason)
            function, source_functions = _shared_functions(found_symbols.symbols_per_source)
            if is_file and _LINKER_PATH.search(mapped_object.key.name):
                source_functions = [*map(_with_linker_mark, source_functions)]
            functions = [function_row(each, options.names) for each in source_functions]
            outermost = _outermost_functions(found_symbols, function)
            lookup_function, exact_function = outermost[lookup], outermost[exact]
            begins_function = (exact_function >= 0) & (lookup_function != exact_function)
            is_exact = are_exact_by_name(lookup_function, exact_function, [row[1] for row in functions])
            if mapped_object.key.kind is DsoKind.ANONYMOUS:
                # A function's first byte is exact here, even after a call: Erlang's virtual machine puts it on the
                # stack. Calls seldom end there, because runtimes align functions and put headers before them.
                is_exact |= begins_function
            elif files.code is not None:
                is_exact |= _without_call(files.code, address[exact], begins_function)
            # the exact address may have a name even if the lookup address has none
            row = np.where(is_exact | (found_symbols.count[lookup] == 0), exact, lookup)
        return ResolveResult(
            start=found_symbols.start[row],
            count=found_symbols.count[row],
            is_exact=is_exact,
            function=function,
            line=found_symbols.line,
            functions=_with_named_padding(mapped_object.key.kind, functions),
            has_inlines=np.full(
                len(row), any(symbols.has_inlines for symbols in found_symbols.symbols_per_source), np.bool_
            ),
            reason=found_symbols.reason or "no symbol at these addresses",
            diagnostic_counts=list(diagnostic_counts.values()),
        )

    def functions_at(self, dso: Dso, address: U64) -> tuple[ListArray, list[FunctionRow]]:
        """Return the frames at each address, innermost first, and the functions that they are in.

        ``address`` (n,) is sorted and without duplicates. The n lists have frames (index of the function, line) as
        their values, (frames, 2).
        """
        found_symbols = self._ask_sources(dso, address, "")
        function, source_functions = _shared_functions(found_symbols.symbols_per_source)
        rows = ranges(found_symbols.start, found_symbols.count)
        values = as_int64(np.stack([function[rows], found_symbols.line[rows]], 1))
        functions = [function_row(each, self._context.options.names) for each in source_functions]
        return ListArray(offsets_of(found_symbols.count), values), _with_named_padding(dso.kind, functions)

    def _ask_sources(self, dso: Dso, address: U64, reason: str) -> "_FoundSymbols":
        """Ask each source for the addresses that earlier ones did not name."""
        start, count = zeros(len(address)), zeros(len(address))
        symbols_per_source: list[Symbols] = []
        row_count = 0
        for source in self._sources:
            unnamed = flatnonzero(count == 0)
            if not len(unnamed) or not source.covers(dso):
                continue
            try:
                symbols = source.lookup(dso, address[unnamed])
            except ObjectError as error:
                count_unreadable(self._context.diagnostics, error)
                reason = reason or str(error)
                continue
            reason = symbols.missing or reason
            start[unnamed], count[unnamed] = symbols.offsets[:-1] + row_count, np.diff(symbols.offsets)
            row_count += len(symbols.line)
            symbols_per_source.append(symbols)
        return _FoundSymbols(start, count, symbols_per_source, reason)


class _FoundSymbols(Frozen):
    """Rows are numbered through all of ``symbols_per_source``."""

    start: I64
    """(addresses,) first row."""
    count: I64
    """(addresses,) number of rows."""
    symbols_per_source: list[Symbols]
    reason: str

    @property
    def line(self) -> I32:
        """(rows,) source lines, 0 if unknown."""
        return np.concatenate([np.zeros(0, np.int32), *(symbols.line for symbols in self.symbols_per_source)])


def find_files(context: Context, mapped_object: MappedObject) -> ObjectFiles:
    """Find an object's files; report files of another build, and a program that was changed after the recording.

    Sources of kernel symbols find the kernel's files themselves.
    """
    key = mapped_object.key
    if key.kind in (DsoKind.KERNEL, DsoKind.SYMBOL, DsoKind.ANONYMOUS):
        return ObjectFiles()
    if is_vdso(key.name):
        return vdso_files(context, mapped_object)
    files = context.find(key.name, key.build_id, mapped_object.pid)
    is_program = not is_jitdump(key.name)  # a runtime may still be writing its dump
    if files.is_doubtful and not files.files and is_program and context.recorded.was_made_here:
        advice = (
            "a program without a build id was changed after the recording, so its code has no names: convert before "
            "rebuilding it, keep the recorded file (--symfs DIR), or link with --build-id."
        )
        context.diagnostics.add("objects_replaced", advice, where=key.name)
    if files.is_mismatched:
        advice = "files of another build were used, as requested; names may be wrong."
        context.diagnostics.add("build_id_mismatch", advice, where=key.name)
    return files


def _shared_functions(symbols_per_source: Sequence[Symbols]) -> tuple[I32, list[Function]]:
    """Return (rows,) each row's function, and the functions of all sources, without unused ones."""
    functions: list[Function] = []
    columns = [np.zeros(0, np.int32)]
    for symbols in symbols_per_source:
        is_used = falses(len(symbols.functions))
        is_used[symbols.function] = True
        new_index = cumsum(is_used) - 1 + len(functions)
        functions += [symbols.functions[row] for row in flatnonzero(is_used).tolist()]
        columns.append(as_int32(new_index[symbols.function]))
    return np.concatenate(columns), functions


def _outermost_functions(found_symbols: _FoundSymbols, function: I32) -> I64:
    """Return (addresses,) each address's outermost function, which is its last row; −1 without rows."""
    last_row = (found_symbols.start + found_symbols.count - 1)[found_symbols.count > 0]
    outermost = minus_ones(len(found_symbols.count))
    outermost[found_symbols.count > 0] = function[last_row]
    return outermost


def _without_call(code: ElfObject, svma: U64, begins_function: Bools) -> Bools:
    """Return (n,) True where a function begins and no call precedes the address.

    A call may precede it, because the last instruction of a function may be a call that never returns.
    """
    sites, is_without_call = CallSites(code), falses(len(svma))
    is_without_call[begins_function] = [not sites.may_return_to(address) for address in svma[begins_function].tolist()]
    return is_without_call


def _with_named_padding(kind: DsoKind, functions: list[FunctionRow]) -> list[FunctionRow]:
    if kind not in (DsoKind.KERNEL, DsoKind.MODULE):
        return functions
    return [
        (without_padding(name), without_padding(system_name), filename, start_line)
        for name, system_name, filename, start_line in functions
    ]
