"""Functions of compiled code, by the names in perf maps, jitdump files, and ELF files that were made of these."""

from msgspec.structs import replace

from perf2x.model.jit_function_names import read_compiled_name
from perf2x.symbolizer.sources.symbol_source import Function, Symbols

V8_SHIFT = 64
"""Bytes that V8 adds to the addresses of lines, for the ELF header that perf inject puts before the code."""


def jit_function(name: str) -> Function:
    """Convert a name in a perf map or jitdump to a function; model/jit_function_names.py says what it is called."""
    told = read_compiled_name(name)
    return Function(name, told.shown, told.file, told.line)


def is_v8(name: str) -> bool:
    """Return whether V8 names a script's function so."""
    told = read_compiled_name(name)
    return told.language == "v8js" and told.line > 0


def injected_symbols(found: Symbols) -> Symbols:
    """The symbols of an ELF file that ``perf inject --jit`` wrote, named as in the dump that it was made from."""
    return replace(found, functions=[_injected(function) for function in found.functions])


def _injected(function: Function) -> Function:
    named = jit_function(function.system_name)
    return replace(named, filename=named.filename or function.filename)
