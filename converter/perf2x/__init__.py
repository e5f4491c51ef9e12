"""perf2x converts what Linux ``perf record`` wrote into pprof, Chrome trace JSON and collapsed stacks.

The library is ``perf2x.api``; its names are found here too, and imported when first used, so that ``import perf2x``
costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perf2x.api import (
        Choice,
        Grouping,
        Loaded,
        LoadOptions,
        Profile,
        SymbolOptions,
        convert,
        read,
        sample_table,
    )
    from perf2x.model.errors import Perf2xError

__version__ = "0.1.0"
__all__ = [
    "Choice",
    "Grouping",
    "LoadOptions",
    "Loaded",
    "Perf2xError",
    "Profile",
    "SymbolOptions",
    "__version__",
    "convert",
    "read",
    "sample_table",
]


def __getattr__(name: str) -> Any:
    """PEP 562: the public names, on first use."""
    if name == "Perf2xError":
        return import_module("perf2x.model.errors").Perf2xError
    if name in __all__:
        return getattr(import_module("perf2x.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
