"""Names that runtimes give to jitdump files and to compiled code: function, and file if they state it."""

import re

from perf2x.symbolize.sources.contract import Function

_PYTHON = re.compile(r"^py::(?P<name>.+?):(?P<file>/.*|<[^<>]*>|[^:]*\.py)$")
_V8 = re.compile(r"^(?:JS|LazyCompile|Function|Eval|Script):[~^*+]?\S* (?P<file>\S.*?):(?P<line>\d+)(?::\d+)?$")
_DUMP = re.compile(r"(?:^|/)jit-\d+\.dump$")


def is_jitdump(filename: str) -> bool:
    """True for the name of a jitdump file."""
    return _DUMP.search(filename) is not None


def jit_function(name: str) -> Function:
    """Convert a name in a perf map or jitdump to a function.

    CPython's trampolines (``py::main:/a/b.py``, Python/perf_trampoline.c) become the Python function in its file. V8's
    names stay as they are and give file and first line. All other names stay as they are.
    """
    if match := _PYTHON.match(name):
        return Function(name, match["name"], match["file"])
    if match := _V8.match(name):
        return Function(name, name, match["file"].removeprefix("file://"), min(int(match["line"]), 2**31 - 1))
    return Function(name)
