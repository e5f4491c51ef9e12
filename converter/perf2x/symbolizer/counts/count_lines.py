"""Lines of one object's functions with their counts, from its debug information and symbols."""

import numpy as np

from perf2x.base.columnar.arrays import U64
from perf2x.base.columnar.unique import unique
from perf2x.base.errors import SettingError
from perf2x.binaries.elf.branch_lengths import BranchLengths
from perf2x.binaries.elf.symtab import SymbolRows, function_symbols
from perf2x.binaries.find.object_files import ObjectFiles
from perf2x.model.profile.code_counts import CodeCounts
from perf2x.model.profile.line_counts import FunctionCounts
from perf2x.symbolizer.counts.discriminators import Discriminators
from perf2x.symbolizer.counts.line_profile import LineProfile
from perf2x.symbolizer.sources.dwarf_units import code_lines
from perf2x.symbolizer.sources.symbol_source import Context

_FLOW_SENSITIVE = b"\0__llvm_fs_discriminator__\0"
"""Name of a variable that LLVM leaves in programs with flow-sensitive discriminators."""


def count_lines(context: Context, found: ObjectFiles, counts: CodeCounts) -> tuple[FunctionCounts, ...]:
    """Count lines by branches, or by samples where there are none.

    OptionError when the object has no debug information; units that cannot be read are counted and left out.
    """
    if found.dwarf is None or found.code is None:
        raise SettingError(
            f"{counts.filename}: no debug information was found, which says what line code belongs to; compile with "
            "-gline-tables-only -fdebug-info-for-profiling, or name its debug file (",
            "debug_dirs", ", ", "debuginfod_urls", ")",
        )  # fmt: skip
    symbols = _symbols(found)
    marked = symbols is not None and _FLOW_SENSITIVE in symbols.strings
    profile = LineProfile(code_lines(context, found, counts.filename), Discriminators(marked))
    if len(counts.branches):
        targets = unique(counts.branches.target)
        profile.add_branches(counts.branches, BranchLengths(found.code), _names_at(symbols, targets))
    else:
        profile.add_samples(counts.samples)
    return profile.functions()


def _symbols(found: ObjectFiles) -> SymbolRows | None:
    if found.symbols is None:
        return None
    return function_symbols(found.symbols, ".symtab") or function_symbols(found.symbols, ".dynsym")


def _names_at(symbols: SymbolRows | None, address: U64) -> dict[int, set[str]]:
    """Return the names of the functions that begin at some of the sorted addresses."""
    names: dict[int, set[str]] = {}
    for row in np.flatnonzero(np.isin(symbols.start, address)).tolist() if symbols is not None else ():
        assert symbols is not None
        names.setdefault(int(symbols.start[row]), set()).add(symbols.name(row))
    return names
