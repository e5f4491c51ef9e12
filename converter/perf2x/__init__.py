"""perf2x converts what Linux ``perf record`` wrote into pprof, Chrome trace JSON and collapsed stacks.

The library is ``perf2x.api``; its names are found here too, and imported when first used, so that ``import perf2x``
costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perf2x.api import (
        ArrowTable,
        CallGraphOptions,
        Choice,
        EventCount,
        Grouping,
        Loaded,
        LoadOptions,
        Profile,
        ReadOptions,
        SampleTable,
        SymbolOptions,
        convert,
        read,
        sample_table,
        to_arrow,
        write,
    )
    from perf2x.tables.errors import Perf2xError

__version__ = "0.1.0"
__all__ = [
    "ArrowTable",
    "CallGraphOptions",
    "Choice",
    "EventCount",
    "Grouping",
    "LoadOptions",
    "Loaded",
    "Perf2xError",
    "Profile",
    "ReadOptions",
    "SampleTable",
    "SymbolOptions",
    "__version__",
    "convert",
    "read",
    "sample_table",
    "to_arrow",
    "write",
]


if not TYPE_CHECKING:  # checkers take every name for there where a module has __getattr__

    def __getattr__(name: str) -> object:
        """PEP 562: the public names, on first use."""
        if name == "Perf2xError":
            return import_module("perf2x.tables.errors").Perf2xError
        if name in __all__:
            return getattr(import_module("perf2x.api"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
