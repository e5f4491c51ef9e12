"""Functions of JIT-compiled code, from the names in perf maps, jitdumps, and ELF files made from these."""

from msgspec.structs import replace

from perf2x.model.jit_display_names import read_compiled_name
from perf2x.symbolizer.sources.symbol_source import Function, Symbols

V8_SHIFT = 64
"""Bytes that V8 adds to the addresses of lines, to allow for the ELF header that perf inject puts before the code."""


def jit_function(name: str) -> Function:
    """Convert a name in a perf map or jitdump to a function; model/jit_display_names.py names it for display."""
    compiled = read_compiled_name(name)
    return Function(name, compiled.shown, compiled.file, compiled.line)


def is_v8(name: str) -> bool:
    """Return whether a name has the form that V8 uses for functions of scripts."""
    compiled = read_compiled_name(name)
    return compiled.language == "v8js" and compiled.line > 0


def injected_symbols(found: Symbols) -> Symbols:
    """Return the symbols of an ELF file written by ``perf inject --jit``, named as in the original dump."""
    return replace(found, functions=[_injected(function) for function in found.functions])


def _injected(function: Function) -> Function:
    named = jit_function(function.system_name)
    return replace(named, filename=named.filename or function.filename)
