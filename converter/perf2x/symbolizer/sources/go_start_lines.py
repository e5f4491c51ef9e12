"""Start lines of Go functions in programs with debug info; ``go build -pgo`` counts lines of calls from there."""

import re

from msgspec.structs import replace

from perf2x.base.binaries.dwarf.source_locations import SourceLocations
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.go.find_pclntab import go_functions, start_lines
from perf2x.base.columnar import U64, unique

_TYPES = re.compile(r"\[.*\]")
"""Type arguments of a generic function, which Go's table of functions omits."""


def with_go_start_lines(
    locations: SourceLocations, code: ElfObject, symbols: ElfObject | None, svma: U64
) -> SourceLocations:
    """Replace start lines by those of Go's table for the functions at ``svma`` and those inlined into them.

    Other functions keep theirs. Raises ObjectError if the table is damaged.
    """
    table = go_functions(code)
    if table is None:
        return locations
    row = unique(table.find(svma))
    known = start_lines(table, row[row >= 0].tolist(), code, symbols)
    functions = [
        replace(one, start_line=known.get(_TYPES.sub("[...]", one.symbol), one.start_line))
        for one in locations.functions
    ]
    return replace(locations, functions=functions)
