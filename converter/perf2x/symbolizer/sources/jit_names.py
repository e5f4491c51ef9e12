"""Functions of compiled code, by the names in perf maps and jitdump files."""

from perf2x.model.compiled_names import read_compiled_name
from perf2x.symbolizer.sources.symbol_source import Function


def jit_function(name: str) -> Function:
    """Convert a name in a perf map or jitdump to a function; model/compiled_names.py says what it is called."""
    told = read_compiled_name(name)
    return Function(name, told.shown, told.file, told.line)
