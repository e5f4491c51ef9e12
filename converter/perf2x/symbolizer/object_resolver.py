"""Looks up functions and lines for the addresses of one object in all symbol sources.

Functions are named in the style that the user requested. Results can be sent between processes.
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
from perf2x.symbolizer.interrupt_entry_names import not_called, without_padding
from perf2x.symbolizer.mapped_objects import MappedObject, addresses_of, dso_of, vdso_files
from perf2x.symbolizer.sources.elf_symbols import count_broken
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind, Function, Symbols, SymbolSource
from perf2x.symbolizer.symbol_options import NameStyle

_LINKER, _LINKER_PREFIX = "[linker]", "__dl_"
_LINKERS = re.compile(r"/linker(?:64)?(?:_\w+)?$")
"""Android's linker, whose build prefixes all symbols; functions in other libraries have that prefix for other reasons.
"""


def function_row(function: Function, style: NameStyle) -> FunctionRow:
    """Return a function as a row of the profile, named in ``style``; a short name given by its source is kept."""
    shown = linked = function.system_name or function.name
    if style == "short":
        shown = function.name or short_name(function.system_name)
    elif style == "full":
        shown = _full(function)
    return shown, linked, function.filename, function.start_line


def full_names(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return full names by system name, of the functions that are displayed under a different name.

    ``names``: the displayed name and the system name of each function.
    """
    pairs = ((name, system_name, _full(Function(system_name, name))) for name, system_name in names)
    return {system_name: full for name, system_name, full in pairs if full != name}


def _full(function: Function) -> str:
    if function.name.startswith(_LINKER):
        return _LINKER + full_name(function.system_name.removeprefix(_LINKER_PREFIX))
    return full_name(function.system_name) if function.system_name else function.name


def _of_linker(function: Function) -> Function:
    """Return a function of Android's linker, marked as simpleperf does."""
    if not function.system_name.startswith(_LINKER_PREFIX):
        return function
    return replace(function, name=_LINKER + short_name(function.system_name.removeprefix(_LINKER_PREFIX)))


class ResolveResult(Frozen):
    """Functions and lines of one object's locations.

    Location i has ``count[i]`` rows from ``start[i]`` on, innermost inlined function first; none if no source knows it.
    """

    start: I64
    """(locations,)"""
    count: I64
    """(locations,)"""
    is_exact: Bools
    """(locations,) True if names or code show that the address is an instruction's own, not a return address."""
    function: I32
    """(rows,) index into ``functions``."""
    line: I32
    """(rows,) source line, 0 if unknown."""
    functions: list[FunctionRow]
    """In order of first appearance; some may be equal."""
    has_inlines: Bools
    """(locations,) whether a source that named addresses of the object reports inlined functions."""
    reason: str
    """Why locations have no name."""
    counts: Sequence[Count] = ()
    """Diagnostics of this object."""

    def split(self, counts: Sequence[int]) -> "Iterator[ResolveResult]":
        """Split a result for several objects into one for each; ``counts`` are their numbers of locations.

        All of them share the rows.
        """
        for first, end in pairwise([0, *accumulate(counts)]):
            part = {name: getattr(self, name)[first:end] for name in ("start", "count", "is_exact", "has_inlines")}
            yield replace(self, **part)

    def names(self, rows: I64) -> PlaceNames:
        """Return the names of the locations ``rows``, whose numbers become the places of the result."""
        lines = ranges(self.start[rows], self.count[rows])
        function, line = (as_int64(column[lines]) for column in (self.function, self.line))
        flags = self.is_exact[rows], self.has_inlines[rows]
        return PlaceNames(rows, self.count[rows], *flags, function, line, self.functions)


class ObjectResolver:
    """Resolves objects with the symbol sources of one conversion."""

    def __init__(self, profile: Profile, context: Context, sources: Sequence[SymbolSource]) -> None:
        self._profile, self._context = profile, context
        self._sources = sorted(sources, key=lambda source: source.order)

    def resolve(self, mapped: MappedObject) -> ResolveResult:
        """Resolve one object. Diagnostics are part of the result, so that any process can call this."""
        options = self._context.options
        with self._context.diagnostics.apart() as counts:
            found = find_files(self._context, mapped)
            dso = dso_of(self._profile, mapped, found)
            address, index = unique_inverse(addresses_of(self._profile, mapped, found))
            is_file = mapped.key.kind is DsoKind.FILE or is_vdso(mapped.key.name)
            is_data = mapped.key.kind is DsoKind.ANONYMOUS and mapped.pid < 0
            reason = found.reason if is_file else "it holds no code" if is_data else ""
            answers = self._ask_sources(dso, address, reason)
            function, used = _shared_functions(answers.parts)
            if is_file and _LINKERS.search(mapped.key.name):
                used = [*map(_of_linker, used)]
            functions = [function_row(each, options.names) for each in used]
            lookup, exact = index[::2], index[1::2]
            outermost = _outermost_functions(answers, function)
            before, at = outermost[lookup], outermost[exact]
            is_exact, starts = not_called(before, at, [row[1] for row in functions]), (at >= 0) & (before != at)
            if mapped.key.kind is DsoKind.ANONYMOUS:
                # an address at which a function begins is exact here, even after a call: Erlang's virtual machine
                # stores continuations, the first byte of a function, on the stack without a call; and a call seldom
                # ends where the next function begins, because runtimes align functions and put headers before them
                is_exact |= starts
            elif found.code is not None:
                is_exact |= _without_call(found.code, address[exact], starts)
            row = np.where(is_exact | (answers.count[lookup] == 0), exact, lookup)
        return ResolveResult(
            start=answers.start[row],
            count=answers.count[row],
            is_exact=is_exact,
            function=function,
            line=answers.line,
            functions=_of_kind(mapped.key.kind, functions),
            has_inlines=np.full(len(row), any(part.has_inlines for part in answers.parts), np.bool_),
            reason=answers.reason or "no symbol at these addresses",
            counts=list(counts.values()),
        )

    def functions_at(self, dso: Dso, address: U64) -> tuple[ListArray, list[FunctionRow]]:
        """Return function number and line of each frame at each address, innermost first, and the functions.

        Names are the same as those from `resolve`. Shapes: ``address`` (n,), sorted and unique; returns n lists, whose
        values are (rows, 2).
        """
        answers = self._ask_sources(dso, address, "")
        function, used = _shared_functions(answers.parts)
        rows = ranges(answers.start, answers.count)
        values = as_int64(np.stack([function[rows], answers.line[rows]], 1))
        functions = [function_row(each, self._context.options.names) for each in used]
        return ListArray(offsets_of(answers.count), values), _of_kind(dso.kind, functions)

    def _ask_sources(self, dso: Dso, address: U64, reason: str) -> "_SourceAnswers":
        """Look up, in one source after another, the addresses that earlier sources did not name."""
        start, count = zeros(len(address)), zeros(len(address))
        parts: list[Symbols] = []
        rows = 0
        for source in self._sources:
            unnamed = flatnonzero(count == 0)
            if not len(unnamed) or not source.covers(dso):
                continue
            try:
                symbols = source.lookup(dso, address[unnamed])
            except ObjectError as error:
                count_broken(self._context.diagnostics, error)
                reason = reason or str(error)
                continue
            reason = symbols.missing or reason
            start[unnamed], count[unnamed] = symbols.offsets[:-1] + rows, np.diff(symbols.offsets)
            rows += len(symbols.line)
            parts.append(symbols)
        return _SourceAnswers(start, count, parts, reason)


class _SourceAnswers(Frozen):
    """Answers of all sources for an object's unique addresses."""

    start: I64
    """(addresses,) first row among the concatenated rows of all parts."""
    count: I64
    """(addresses,)"""
    parts: list[Symbols]
    reason: str

    @property
    def line(self) -> I32:
        """(rows,) source lines, 0 if unknown."""
        return np.concatenate([np.zeros(0, np.int32), *(part.line for part in self.parts)])


def find_files(context: Context, mapped: MappedObject) -> ObjectFiles:
    """Return the object's files; none for the kernel, for code that the kernel generated, and for anonymous memory."""
    key = mapped.key
    if key.kind in (DsoKind.KERNEL, DsoKind.SYMBOL, DsoKind.ANONYMOUS):
        return ObjectFiles()
    if is_vdso(key.name):
        return vdso_files(context, mapped)
    found = context.find(key.name, key.build_id, mapped.pid)
    is_program = not is_jitdump(key.name)  # a runtime may still be writing its dump
    if found.doubtful and not found.files and is_program and context.recorded.made_here:
        advice = (
            "a program without a build id was changed after the recording, so its code has no names: convert before "
            "rebuilding it, keep the recorded file (--symfs DIR), or link with --build-id."
        )
        context.diagnostics.add("objects_replaced", advice, where=key.name)
    if found.mismatched:
        advice = "files of another build were used, as requested; names may be wrong."
        context.diagnostics.add("build_id_mismatch", advice, where=key.name)
    return found


def _shared_functions(parts: Sequence[Symbols]) -> tuple[I32, list[Function]]:
    """Return the function index of every row, and one table of the functions used by any part."""
    functions: list[Function] = []
    columns = [np.zeros(0, np.int32)]
    for part in parts:
        is_used = falses(len(part.functions))
        is_used[part.function] = True
        number = cumsum(is_used) - 1 + len(functions)
        functions += [part.functions[row] for row in flatnonzero(is_used).tolist()]
        columns.append(as_int32(number[part.function]))
    return np.concatenate(columns), functions


def _outermost_functions(answers: _SourceAnswers, function: I32) -> I64:
    """Return (addresses,) the function of each address, −1 if no source knows it."""
    last = (answers.start + answers.count - 1)[answers.count > 0]
    outermost = minus_ones(len(answers.count))
    outermost[answers.count > 0] = function[last]
    return outermost


def _without_call(code: ElfObject, svma: U64, starts: Bools) -> Bools:
    """Return (n,) True where a function starts (``starts``) and no call ends, so that it is not a return address.

    Only the few addresses of ``starts`` are checked, because chains without frame pointers contain addresses of
    functions that were never called. A call may be the last instruction of a function (if the callee never returns), so
    the bytes before the address decide.
    """
    sites, found = CallSites(code), falses(len(svma))
    found[starts] = [not sites.may_return_to(one) for one in svma[starts].tolist()]
    return found


def _of_kind(kind: DsoKind, functions: list[FunctionRow]) -> list[FunctionRow]:
    """Return the functions; in the kernel, padding gets the name of its function."""
    if kind not in (DsoKind.KERNEL, DsoKind.MODULE):
        return functions
    return [
        (without_padding(name), without_padding(system_name), filename, start_line)
        for name, system_name, filename, start_line in functions
    ]
