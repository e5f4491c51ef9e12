"""Names of functions in the style that was asked for."""

from collections.abc import Sequence

from perf2x.symbolizer.demangle.demangle import NameStyle, full_name, short_name
from perf2x.symbolizer.sources.symbol_source import Function

FunctionRow = tuple[str, str, str, int]
"""(displayed name, system name, file, start line)."""


def function_row(function: Function, style: NameStyle) -> FunctionRow:
    """A function as the profile has it."""
    return _displayed(function, style), function.system_name or function.name, function.filename, function.start_line


def full_names(functions: Sequence[Function], style: NameStyle) -> dict[str, str]:
    """Full names by system name, of functions that are displayed under another."""
    pairs = ((function, _full(function)) for function in functions)
    return {function.system_name: full for function, full in pairs if full != _displayed(function, style)}


def _displayed(function: Function, style: NameStyle) -> str:
    """The short name is the source's own where it has one."""
    if style is NameStyle.SHORT:
        return function.name or short_name(function.system_name)
    return _full(function) if style is NameStyle.FULL else function.system_name or function.name


def _full(function: Function) -> str:
    return full_name(function.system_name) if function.system_name else function.name
