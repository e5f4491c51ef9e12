"""Source locations row by row."""

from perf2x.base.binaries.dwarf.source_locations import FunctionLine, SourceLocations


def chains(found: SourceLocations) -> list[list[FunctionLine]]:
    """(function, line) of each address, innermost first."""
    rows = [(found.functions[row], line) for row, line in zip(found.function, found.line.tolist(), strict=True)]
    return [rows[start:end] for start, end in zip(found.offsets[:-1], found.offsets[1:], strict=True)]
