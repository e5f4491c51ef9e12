"""Names that runtimes give to jitdump files and to compiled code: a short name, and file and line if they state them.

Sources of truth: CPython's Python/perf_trampoline.c; V8's src/logging/log.cc (PerfBasicLogger, CodeEventLogger); JVMTI
descriptors as libperf-jvmti.so writes them; ``Method::external_name`` in OpenJDK's src/hotspot/share/oops/method.cpp.
"""

import re

from msgspec.structs import replace

from perf2x.symbolizer.sources.symbol_source import Function, Symbols

_PYTHON = re.compile(r"^py::(?P<name>.+?):(?P<file>/.*|<[^<>]*>|[^:]*\.py)$")
_V8 = re.compile(
    r"^(?P<kind>JS|LazyCompile|Function|Eval|Script):[~^*+]?(?P<name>\S*) (?P<file>\S.*?):(?P<line>\d+)(?::\d+)?$"
)
V8_SHIFT = 64
"""Bytes that V8 adds to the addresses of lines, for the ELF header that perf inject puts before the code."""
_ANONYMOUS = {"Eval": "(eval)", "Script": "(script)"}
_JAVA_CLASS = r"L(?P<class>[^;\s().]+);"
_JAVA_DESCRIPTOR = re.compile(rf"^{_JAVA_CLASS}(?:::|\.)?(?P<name>[^;\s():/]+)(?:\(\S*)?$")
_JAVA_DECLARATION = re.compile(
    r"^[\w.$\[\]+/]+ (?P<method>(?:[\w$+/]+\.)+(?:[\w$]+|<(?:cl)?init>))\([\w.$\[\]+/, ]*\)$"
)
_HIDDEN_CLASS = re.compile(r"[+/]0x[0-9a-f]+")
"""Part of the names of classes that are made at run time, another in every process."""


def jit_function(name: str) -> Function:
    """Convert a name in a perf map or jitdump to a function.

    CPython's trampolines (``py::main:/a/b.py``) become the Python function in its file. V8's names give file and first
    line; ``LazyCompile:*main /a/b.js:3:1`` is ``main b.js:3``, whichever of its compilers made the code. Java's methods
    lose their parameters and the type that they return. All other names stay as they are.
    """
    if match := _PYTHON.match(name):
        return Function(name, _python_name(match), match["file"])
    if match := _V8.match(name):
        file, line = match["file"].removeprefix("file://"), match["line"]
        return Function(name, _v8_name(match), file, min(int(line), 2**31 - 1))
    return Function(name, _java_name(name))


def is_v8(name: str) -> bool:
    """Whether V8 names a script's function so."""
    return _V8.match(name) is not None


def injected_symbols(found: Symbols) -> Symbols:
    """The symbols of an ELF file that ``perf inject --jit`` wrote, named as in the dump that it was made from."""
    return replace(found, functions=[_injected(function) for function in found.functions])


def _injected(function: Function) -> Function:
    named = jit_function(function.system_name)
    return replace(named, filename=named.filename or function.filename)


def _python_name(match: re.Match[str]) -> str:
    """The qualified name; that of a module, which all modules share, with the base name of its file."""
    name = match["name"]
    return f"{name} {match['file'].rpartition('/')[2]}" if name == "<module>" else name


def _v8_name(match: re.Match[str]) -> str:
    """Function, base name of the file and line: scripts hold many functions of one name, or of none."""
    shown = match["name"] or _ANONYMOUS.get(match["kind"], "(anonymous)")
    return f"{shown} {match['file'].rpartition('/')[2]}:{match['line']}"


def _java_name(name: str) -> str:
    """Class and method of ``Ljava/lang/String;equals(Ljava/lang/Object;)Z`` or ``void a.B.c(int)``; else ""."""
    if match := _JAVA_DESCRIPTOR.match(name):
        return f"{_HIDDEN_CLASS.sub('', match['class']).replace('/', '.')}.{match['name']}"
    match = _JAVA_DECLARATION.match(name)
    return _HIDDEN_CLASS.sub("", match["method"]) if match else ""
