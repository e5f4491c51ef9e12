"""Converts counts by address to counts by function and line, as llvm-profgen does it.

A branch record has a source, a target, and the source of the next branch. All code from the target to the source of the
next branch ran. A *piece* is the longest run of bytes with the same line, discriminator and inlined functions. A line's
count is that of its busiest instruction; a function's total is the sum of the counts of its bytes. A function that ran
is listed with all its lines, so that a compiler sees which of them did not run::

    branches      ──▶ ranges [target, next source]  ──▶ counts by address  ──▶ pieces  ──▶ lines
    their targets ──▶ functions entered, and the lines that called them

Source of truth: llvm/tools/llvm-profgen/ProfileGenerator.cpp.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.binaries.dwarf.dwarf_functions import Subprogram
from perf2x.base.binaries.dwarf.pgo_lines import CodeFrame, PgoLines
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

    _lines: PgoLines
    _compiler: Llvm | Gcc
    _functions: dict[str, FunctionCounts] = {}
    # sums of the counts of all samples or ranges, and of those in functions with debug info
    _total: int = 0
    _total_with_line: int = 0
    files: dict[str, set[str]] = {}
    """Base names of the files that declare each function; "" for an unknown file."""

    def functions(self) -> tuple[FunctionCounts, ...]:
        """Return the counts by function, sorted by name."""
        return tuple(self._functions[name] for name in sorted(self._functions))

    def note_missing_lines(self, diagnostics: Diagnostics, where: str) -> None:
        """Report how many counts have no line, if their share exceeds ``_MAX_MISSING``."""
        missing = self._total - self._total_with_line
        if missing > _MAX_MISSING * self._total:
            advice = (
                f"of {self._total:,} counts, these are outside functions with debug information, and compilers treat "
                "missing functions as cold: compile everything with -g, or point to the debug file (--debug-dir)."
            )
            diagnostics.add("counts_without_lines", advice, missing, where)

    def add_samples(self, samples: AddressCounts) -> None:
        """Add plain samples instead of branches: each line counts as often as its most frequent instruction."""
        for frames, count in zip(self._lines.frames(samples.address), samples.count.tolist(), strict=True):
            self._add_code(frames, count, count)
            self._total_with_line += count if frames else 0
        self._total = sum_of(samples.count)

    def add_branches(self, branches: BranchCounts, lengths: BranchLengths, symbols: dict[int, set[str]]) -> None:
        """Add the counts of code between branches, of calls and of entries; ``symbols`` are names by branch target."""
        begin, end, count = _executed_ranges(branches, lengths)
        addresses = unique(np.concatenate([begin, branches.target[branches.target != EXTERNAL]]))
        functions = self._lines.functions(addresses)
        code = _ranges_of_run_functions(functions, begin)
        self._total_with_line, self._total = sum_of(count[_rows_inside(code, begin)]), sum_of(count)
        pieces = self._lines.pieces(code)
        highest_counts, totals = _counts_of_pieces(pieces, code, begin, end, count)
        rows = zip(self._lines.frames(pieces), highest_counts.tolist(), totals.tolist(), strict=True)
        for frames, highest_count, total in rows:
            if highest_count >= 0:
                self._add_code(frames, highest_count, total)
        self._add_calls(branches, _names_by_entry(functions, symbols))
        self._raise_lines_to_calls()

    def _add_code(self, frames: Sequence[CodeFrame], highest_count: int, total: int) -> None:
        function = self._add_total(frames, total)
        if function is None:
            return
        innermost = frames[-1]
        line = function.line(self._line_location(innermost))
        line.count = max(line.count, highest_count * self._compiler.copies(innermost.discriminator))

    def _add_calls(self, branches: BranchCounts, entries: dict[int, str]) -> None:
        rows = flatnonzero(branches.target != EXTERNAL)
        (source, target), (count,) = sum_rows([branches.source[rows], branches.target[rows]], [branches.count[rows]])
        calls = flatnonzero(np.isin(target, as_uint64(list(entries))))
        callers = unique(source[calls])
        caller_frames = dict(zip(callers.tolist(), self._lines.frames(callers), strict=True))
        for row in calls.tolist():
            callee, call_count = self._compiler.profile_name(entries[int(target[row])]), int(count[row])
            self._function_named(callee).entered += call_count
            frames = caller_frames[int(source[row])]
            function = self._add_total(frames, 0)
            if function is not None:
                line_calls = function.line(self._line_location(frames[-1])).calls
                line_calls[callee] = line_calls.get(callee, 0) + call_count

    def _raise_lines_to_calls(self) -> None:
        for function in self._functions.values():
            for line in function.lines.values():
                line.count = max(line.count, sum(line.calls.values()))

    def _add_total(self, frames: Sequence[CodeFrame], total: int) -> FunctionCounts | None:
        """Add ``total`` to all functions in ``frames``; return the last one's counts.

        All but the first are inlined. If a frame has no name, nothing is added, and the result is None.
        """
        if not frames or not all(frame.name for frame in frames):
            return None
        names = [self._compiler.profile_name(frame.name) for frame in frames]
        for name, frame in zip(names, frames, strict=True):
            self.files.setdefault(name, set()).add(frame.file)
        function = self._function_named(names[0])
        function.total += total
        for caller, name in zip(frames, names[1:], strict=False):
            function = function.instance(self._line_location(caller), name)
            function.total += total
        return function

    def _line_location(self, frame: CodeFrame) -> LineLocation:
        return frame.line, self._compiler.base(frame.discriminator)

    def _function_named(self, name: str) -> FunctionCounts:
        return self._functions.setdefault(name, FunctionCounts(name))


def _executed_ranges(branches: BranchCounts, lengths: BranchLengths) -> tuple[U64, U64, I64]:
    """Return (n,) starts, ends (exclusive) and counts of the code that ran between two branches."""
    is_valid = (branches.next != NOT_RECORDED) & (branches.target != EXTERNAL) & (branches.target <= branches.next)
    rows = flatnonzero(is_valid)
    begin, last_instruction, count = branches.target[rows], branches.next[rows], branches.count[rows]
    distinct = unique(last_instruction)
    lengths_of_instructions = as_uint64([lengths.at(address) for address in distinct.tolist()])
    return begin, last_instruction + lengths_of_instructions[searchsorted(distinct, last_instruction)], count


def _ranges_of_run_functions(functions: list[Subprogram], begin: U64) -> Ranges:
    """Return all ranges of the functions in which any code ran, sorted and disjoint.

    ``begin`` (n,) are addresses at which code began to run. Functions that the linker folded into one have the same
    ranges, which are returned once.
    """
    rows = sorted((low, high, number) for number, each in enumerate(functions) for low, high in each.ranges)
    low, high = (as_uint64([row[side] for row in rows]) for side in (0, 1))
    # the ranges that contain an address of ``begin``
    row = searchsorted(low, begin, "right") - 1
    row = row[row >= 0]
    rows_that_ran = unique(row[begin[searchsorted(low, begin, "right") > 0] < high[row]])
    functions_that_ran = {rows[row_that_ran][2] for row_that_ran in rows_that_ran.tolist()}
    joined: Ranges = []
    for start, end in ((start, end) for start, end, number in rows if number in functions_that_ran):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _counts_of_pieces(pieces: U64, code: Ranges, begin: U64, end: U64, count: I64) -> tuple[I64, I64]:
    """Return (pieces,) the highest count of an instruction, −1 outside ``code``, and the sum over all bytes.

    ``pieces`` are sorted starts; ``begin``, ``end`` and ``count`` (n,) are the ranges that ran.
    """
    highest_count, total = minus_ones(len(pieces)), zeros(len(pieces))
    code_end = as_uint64([end_of_range for _, end_of_range in code])
    # all bytes between neighbouring bounds ran equally often
    bounds = unique(np.concatenate([pieces, code_end, begin, end]))
    change = zeros(len(bounds))
    np.add.at(change, searchsorted(bounds, begin), count)
    np.subtract.at(change, searchsorted(bounds, end), count)
    run_counts, size = cumsum(change), as_int64(np.diff(bounds, append=bounds[-1:]))
    inside = _rows_inside(code, bounds)
    piece = searchsorted(pieces, bounds[inside], "right") - 1
    np.maximum.at(highest_count, piece, run_counts[inside])
    np.add.at(total, piece, run_counts[inside] * size[inside])
    return highest_count, total


def _rows_inside(code: Ranges, address: U64) -> I64:
    low, high = (as_uint64([pair[side] for pair in code]) for side in (0, 1))
    row = searchsorted(low, address, "right") - 1
    return flatnonzero((row >= 0) & (address < np.append(high, np.uint64(0))[row]))


def _names_by_entry(functions: list[Subprogram], symbols: dict[int, set[str]]) -> dict[int, str]:
    """Return names by entry address.

    A function with several ranges is entered at the range whose symbol has the function's name. A function with one
    range may have a symbol of any name. Without symbols, only functions with one range are included.
    """
    return {
        low: each.name
        for each in functions
        for low, _ in each.ranges
        if (len(each.ranges) == 1 and (low in symbols or not symbols)) or each.name in symbols.get(low, ())
    }


_MAX_MISSING = 0.2  # a larger share of counts without lines is reported
# The name of a variable in programs with LLVM's flow-sensitive discriminators, as it is in the string table.
_FLOW_SENSITIVE = b"\0__llvm_fs_discriminator__\0"


def count_lines(context: Context, files: ObjectFiles, counts: CodeCounts, gcc_version: int) -> CodeCounts:
    """Add counts of lines to the counts of an object's code, from branches or else from samples.

    ``gcc_version`` is that of the GCC that will read the profile, 0 for LLVM. Raises SettingError without debug info.
    Unreadable units are counted and skipped.
    """
    if files.dwarf is None or files.code is None:
        raise SettingError(
            f"{counts.filename}: no debug information was found, which maps code to lines; compile with "
            "-gline-tables-only -fdebug-info-for-profiling, or name its debug file (",
            "debug_dirs", ", ", "debuginfod_urls", ")",
        )  # fmt: skip
    symbols = _symbols(files)
    is_flow_sensitive = symbols is not None and _FLOW_SENSITIVE in symbols.strings
    compiler = Gcc(gcc_version) if gcc_version else Llvm(is_flow_sensitive)
    profile = LineProfile(code_lines(context, files, counts.filename), compiler)
    if len(counts.branches):
        targets = unique(counts.branches.target)
        profile.add_branches(counts.branches, BranchLengths(files.code), _names_at(symbols, targets))
    else:
        profile.add_samples(counts.samples)
    profile.note_missing_lines(context.diagnostics, counts.filename)
    return replace(counts, functions=profile.functions(), files=profile.files)


def _symbols(files: ObjectFiles) -> SymbolRows | None:
    if files.symbols is None:
        return None
    return function_symbols(files.symbols, ".symtab") or function_symbols(files.symbols, ".dynsym")


def _names_at(symbols: SymbolRows | None, address: U64) -> dict[int, set[str]]:
    names: dict[int, set[str]] = {}
    for row in flatnonzero(np.isin(symbols.start, address)).tolist() if symbols is not None else ():
        assert symbols is not None
        names.setdefault(int(symbols.start[row]), set()).add(symbols.name(row))
    return names
