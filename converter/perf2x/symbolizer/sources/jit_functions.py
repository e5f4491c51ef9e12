"""Functions of JIT-compiled code, from the names in perf maps, in jitdumps, and in ELF files made from jitdumps."""

from msgspec.structs import replace

from perf2x.model.jit_display_names import parse_jit_name
from perf2x.symbolizer.sources.symbol_source import Function, Symbols

V8_SHIFT = 64
"""Bytes by which V8 moves the addresses of source lines: the size of the ELF header that perf inject puts before code.

perf inject adds that size itself. So lines of V8's code are too high both in the jitdump and in the ELF files.
"""


def jit_function(name: str) -> Function:
    """Convert a name in a perf map or jitdump to a function, with display name, file and line if the name has them."""
    compiled = parse_jit_name(name)
    return Function(name, compiled.display_name, compiled.file, compiled.line)


def is_v8(name: str) -> bool:
    """Return whether V8 named a function of a script, with its line."""
    compiled = parse_jit_name(name)
    return compiled.language == "v8js" and compiled.line > 0


def injected_symbols(elf_symbols: Symbols) -> Symbols:
    """Name the functions of an ELF file written by ``perf inject --jit`` as those of the original jitdump."""
    return replace(elf_symbols, functions=[_injected_function(function) for function in elf_symbols.functions])


def _injected_function(function: Function) -> Function:
    named_function = jit_function(function.system_name)
    return replace(named_function, filename=named_function.filename or function.filename)
