"""perf2x converts recordings of Linux ``perf record`` into pprof, Chrome trace JSON, collapsed stacks and more.

The names of ``perf2x.api`` are imported on first use, so that ``import perf2x`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perf2x.api import (
        ArrowTable,
        CallGraphOptions,
        DiffTable,
        EventCount,
        Filters,
        Grouping,
        Loaded,
        LoadOptions,
        Profile,
        ReadOptions,
        SampleTable,
        SymbolOptions,
        TableOptions,
        TopTable,
        convert,
        diff,
        read,
        sample_table,
        to_arrow,
        top,
        write,
    )
    from perf2x.errors import Perf2xError

try:
    from perf2x._version import __version__
except ImportError:  # a checkout that no installer has seen
    __version__ = "0+unknown"

__all__ = [
    "ArrowTable",
    "CallGraphOptions",
    "DiffTable",
    "EventCount",
    "Filters",
    "Grouping",
    "LoadOptions",
    "Loaded",
    "Perf2xError",
    "Profile",
    "ReadOptions",
    "SampleTable",
    "SymbolOptions",
    "TableOptions",
    "TopTable",
    "__version__",
    "convert",
    "diff",
    "read",
    "sample_table",
    "to_arrow",
    "top",
    "write",
]


if not TYPE_CHECKING:  # type checkers accept any name of a module that has __getattr__

    def __getattr__(name: str) -> object:
        if name == "Perf2xError":
            return import_module("perf2x.errors").Perf2xError
        if name in __all__:
            return getattr(import_module("perf2x.api"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
