"""What runtimes call their dumps, and what they write as names of compiled code: the function, and the file if told."""

import re

from perf2x.symbolize.sources.contract import Function

_PYTHON = re.compile(r"^py::(?P<name>.+?):(?P<file>/.*|<[^<>]*>|[^:]*\.py)$")
_V8 = re.compile(r"^(?:JS|LazyCompile|Function|Eval|Script):[~^*+]?\S* (?P<file>\S.*?):(?P<line>\d+)(?::\d+)?$")
_DUMP = re.compile(r"(?:^|/)jit-\d+\.dump$")


def is_jitdump(filename: str) -> bool:
    """Whether a mapping's name is that of a dump."""
    return _DUMP.search(filename) is not None


def jit_function(name: str) -> Function:
    """One entry of a perf map or jitdump as a function.

    CPython's trampolines (``py::main:/a/b.py``, Python/perf_trampoline.c) become the Python function in its file; V8's
    names stay as they are and tell file and first line; all others are taken as they come.
    """
    if match := _PYTHON.match(name):
        return Function(name, match["name"], match["file"])
    if match := _V8.match(name):
        return Function(name, name, match["file"].removeprefix("file://"), min(int(match["line"]), 2**31 - 1))
    return Function(name)
