"""Converts counts by address to counts by line of functions, as llvm-profgen does from branches.

Source of truth: llvm/tools/llvm-profgen/ProfileGenerator.cpp. Code between two branches ran as often as the second
followed the first. The count of a line is that of its busiest instruction; the total of a function is the sum of the
counts of all its bytes. A function that ran in part is listed with all its lines, so that a compiler sees which did
not run::

    branches      ──▶ ranges  [target, next]  ──▶ counts by address  ──▶ pieces of one line  ──▶ lines
    their targets ──▶ functions entered, and who called them

Lines come from the object's debug info, functions also from its symbols.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.binaries.dwarf.dwarf_functions import Subprogram
from perf2x.base.binaries.dwarf.pgo_lines import CodeFrame, CodeLines
from perf2x.base.binaries.dwarf.range_lists import Ranges
from perf2x.base.binaries.elf.symtab import SymbolRows, function_symbols
from perf2x.base.binaries.elf.x86_code import BranchLengths
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.columnar import (
    I64,
    U64,
    as_int64,
    as_uint64,
    cumsum,
    flatnonzero,
    minus_ones,
    searchsorted,
    sum_of,
    sum_rows,
    unique,
    zeros,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import SettingError
from perf2x.model.profile import (
    EXTERNAL,
    NOT_RECORDED,
    AddressCounts,
    BranchCounts,
    CodeCounts,
    FunctionCounts,
    LineLocation,
)
from perf2x.symbolizer.counts.discriminators import Gcc, Llvm
from perf2x.symbolizer.sources.dwarf_units import code_lines
from perf2x.symbolizer.sources.symbol_source import Context


class LineProfile(Struct):
    """Collects the counts of one object's functions."""

    _lines: CodeLines
    _compiler: Llvm | Gcc
    _functions: dict[str, FunctionCounts] = {}
    _placed: int = 0
    _counted: int = 0
    files: dict[str, set[str]] = {}
    """Base names of the files that declare each function; "" for an unknown file."""

    def functions(self) -> tuple[FunctionCounts, ...]:
        """Return the counts by function, sorted by name."""
        return tuple(self._functions[name] for name in sorted(self._functions))

    def warn(self, diagnostics: Diagnostics, where: str) -> None:
        """Report counts without a line if there are many."""
        missing = self._counted - self._placed
        if missing > _MISSING * self._counted:
            advice = (
                f"of {self._counted:,} counts, these are outside functions with debug information, and compilers treat "
                "missing functions as cold: compile everything with -g, or point to the debug file (--debug-dir)."
            )
            diagnostics.add("counts_without_lines", advice, missing, where)

    def add_samples(self, samples: AddressCounts) -> None:
        """Add plain samples: each line counts as often as its most frequent instruction."""
        for frames, count in zip(self._lines.frames(samples.address), samples.count.tolist(), strict=True):
            self._add_code(frames, count, count)
            self._placed += count if frames else 0
        self._counted = sum_of(samples.count)

    def add_branches(self, branches: BranchCounts, lengths: BranchLengths, symbols: dict[int, set[str]]) -> None:
        """Add the counts of code between branches, of calls, and of entries into functions.

        ``symbols``: the names of the symbols at each address.
        """
        begin, end, count = _ranges(branches, lengths)
        addresses = unique(np.concatenate([begin, branches.target[branches.target != EXTERNAL]]))
        functions = self._lines.functions(addresses)
        code = _ran_in(functions, begin)
        self._placed, self._counted = sum_of(count[_held(code, begin)]), sum_of(count)
        pieces = self._lines.pieces(code)
        most, total = _count_pieces(pieces, code, begin, end, count)
        for frames, *counts in zip(self._lines.frames(pieces), most.tolist(), total.tolist(), strict=True):
            if counts[0] >= 0:
                self._add_code(frames, *counts)
        self._add_calls(branches, _entries(functions, symbols))
        self._lift_lines()

    def _add_code(self, frames: Sequence[CodeFrame], most: int, total: int) -> None:
        function = self._function(frames, total)
        if function is None:
            return
        leaf = frames[-1]
        line = function.line(self._place(leaf))
        line.count = max(line.count, most * self._compiler.copies(leaf.discriminator))

    def _add_calls(self, branches: BranchCounts, entries: dict[int, str]) -> None:
        rows = flatnonzero(branches.target != EXTERNAL)
        (source, target), (count,) = sum_rows([branches.source[rows], branches.target[rows]], [branches.count[rows]])
        known = flatnonzero(np.isin(target, as_uint64(list(entries))))
        callers = unique(source[known])
        frames_at = dict(zip(callers.tolist(), self._lines.frames(callers), strict=True))
        for row in known.tolist():
            callee, calls = self._compiler.name(entries[int(target[row])]), int(count[row])
            self._top(callee).entered += calls
            frames = frames_at[int(source[row])]
            function = self._function(frames, 0)
            if function is not None:
                made = function.line(self._place(frames[-1])).calls
                made[callee] = made.get(callee, 0) + calls

    def _lift_lines(self) -> None:
        """Raise the count of each line to at least the number of calls made from it."""
        for function in self._functions.values():
            for line in function.lines.values():
                line.count = max(line.count, sum(line.calls.values()))

    def _function(self, frames: Sequence[CodeFrame], total: int) -> FunctionCounts | None:
        """Add ``total`` to the innermost inlined function of ``frames`` and to all its callers in ``frames``.

        Returns the innermost function; None, without adding anything, if a frame has no name.
        """
        if not frames or not all(frame.name for frame in frames):
            return None
        names = [self._compiler.name(frame.name) for frame in frames]
        for name, frame in zip(names, frames, strict=True):
            self.files.setdefault(name, set()).add(frame.file)
        function = self._top(names[0])
        function.total += total
        for caller, name in zip(frames, names[1:], strict=False):
            function = function.instance(self._place(caller), name)
            function.total += total
        return function

    def _place(self, frame: CodeFrame) -> LineLocation:
        return frame.line, self._compiler.base(frame.discriminator)

    def _top(self, name: str) -> FunctionCounts:
        return self._functions.setdefault(name, FunctionCounts(name))


def _ranges(branches: BranchCounts, lengths: BranchLengths) -> tuple[U64, U64, I64]:
    """Return (first address, one past the last, count) of the code between branches."""
    is_valid = (branches.next != NOT_RECORDED) & (branches.target != EXTERNAL) & (branches.target <= branches.next)
    rows = flatnonzero(is_valid)
    begin, end, count = branches.target[rows], branches.next[rows], branches.count[rows]
    distinct = unique(end)
    length = as_uint64([lengths.at(address) for address in distinct.tolist()])
    return begin, end + length[searchsorted(distinct, end)], count


def _ran_in(functions: list[Subprogram], begin: U64) -> Ranges:
    """Return the sorted, disjoint ranges of functions in which code ran.

    Functions that the linker folded into one share their ranges, which are returned once.
    """
    rows = sorted((low, high, number) for number, each in enumerate(functions) for low, high in each.ranges)
    low, high = (as_uint64([row[side] for row in rows]) for side in (0, 1))
    row = searchsorted(low, begin, "right") - 1
    row = row[row >= 0]
    run_rows = unique(row[begin[searchsorted(low, begin, "right") > 0] < high[row]])
    ran = {rows[at][2] for at in run_rows.tolist()}
    whole: Ranges = []
    for first, last in ((first, last) for first, last, number in rows if number in ran):
        if whole and first <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(whole[-1][1], last)
        else:
            whole.append((first, last))
    return whole


def _count_pieces(pieces: U64, code: Ranges, begin: U64, end: U64, count: I64) -> tuple[I64, I64]:
    """Return the highest count of an instruction in each piece of a line, and the sum of the counts of all its bytes.

    Both are (pieces,); the highest count is −1 for pieces outside ``code``.
    """
    most, total = minus_ones(len(pieces)), zeros(len(pieces))
    high = as_uint64([last for _, last in code])
    bounds = unique(np.concatenate([pieces, high, begin, end]))
    change = zeros(len(bounds))
    np.add.at(change, searchsorted(bounds, begin), count)
    np.subtract.at(change, searchsorted(bounds, end), count)
    times, size = cumsum(change), as_int64(np.diff(bounds, append=bounds[-1:]))
    inside = _held(code, bounds)
    piece = searchsorted(pieces, bounds[inside], "right") - 1
    np.maximum.at(most, piece, times[inside])
    np.add.at(total, piece, times[inside] * size[inside])
    return most, total


def _held(code: Ranges, address: U64) -> I64:
    """Return the rows of addresses within ``code``."""
    low, high = (as_uint64([pair[side] for pair in code]) for side in (0, 1))
    row = searchsorted(low, address, "right") - 1
    return flatnonzero((row >= 0) & (address < np.append(high, np.uint64(0))[row]))


def _entries(functions: list[Subprogram], symbols: dict[int, set[str]]) -> dict[int, str]:
    """Return the names of functions by entry address.

    A function may have several address ranges; the one at which a symbol has its name contains the entry. Without
    symbols, only functions with one range are included.
    """
    return {
        low: each.name
        for each in functions
        for low, _ in each.ranges
        if (len(each.ranges) == 1 and (low in symbols or not symbols)) or each.name in symbols.get(low, ())
    }


_MISSING = 0.2
_FLOW_SENSITIVE = b"\0__llvm_fs_discriminator__\0"
"""The name of a variable in programs with LLVM's flow-sensitive discriminators."""


def count_lines(context: Context, found: ObjectFiles, counts: CodeCounts, gcc: int) -> CodeCounts:
    """Add counts of lines, from branches or, without branches, from samples.

    ``gcc`` is the version of GCC, 0 for LLVM. Raises OptionError if the object has no debug info; unreadable units are
    counted and skipped.
    """
    if found.dwarf is None or found.code is None:
        raise SettingError(
            f"{counts.filename}: no debug information was found, which maps code to lines; compile with "
            "-gline-tables-only -fdebug-info-for-profiling, or name its debug file (",
            "debug_dirs", ", ", "debuginfod_urls", ")",
        )  # fmt: skip
    symbols = _symbols(found)
    marked = symbols is not None and _FLOW_SENSITIVE in symbols.strings
    compiler = Gcc(gcc) if gcc else Llvm(marked)
    profile = LineProfile(code_lines(context, found, counts.filename), compiler)
    if len(counts.branches):
        targets = unique(counts.branches.target)
        profile.add_branches(counts.branches, BranchLengths(found.code), _names_at(symbols, targets))
    else:
        profile.add_samples(counts.samples)
    profile.warn(context.diagnostics, counts.filename)
    return replace(counts, functions=profile.functions(), files=profile.files)


def _symbols(found: ObjectFiles) -> SymbolRows | None:
    if found.symbols is None:
        return None
    return function_symbols(found.symbols, ".symtab") or function_symbols(found.symbols, ".dynsym")


def _names_at(symbols: SymbolRows | None, address: U64) -> dict[int, set[str]]:
    """Return the names of the functions that begin at some of the sorted addresses."""
    names: dict[int, set[str]] = {}
    for row in flatnonzero(np.isin(symbols.start, address)).tolist() if symbols is not None else ():
        assert symbols is not None
        names.setdefault(int(symbols.start[row]), set()).add(symbols.name(row))
    return names
