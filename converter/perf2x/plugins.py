"""Public API for plugins: output formats, symbol sources and commands. Tests import from ``perf2x.testing``.

- Output format: subclass ``Format``, and annotate each field that is an option with a ``Setting``. The format's method
  ``emit`` writes a ``View``, which is a profile. The format's property ``needs`` returns ``Needs``, which says what the
  format uses of the profile. Every format is an ``Emitter``; ``build_emitter`` makes one from the format's name.
- Symbol source: subclass ``SymbolSource``. Its methods receive a ``Context``, with what is known about the
  recording, and a ``Dso``, an object. ``Symbols`` are the result; each name in it is a ``Function``.
- Command: a function whose parameters are annotated with ``Setting`` or ``Argument``.

Errors that users should see as one sentence are subclasses of ``Perf2xError``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from perf2x.errors import FormatError, ObjectError, OptionError, OutputError, Perf2xError
from perf2x.kernel.registry import Emitter, build_emitter
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.profile import (
    Functions,
    Locations,
    Losses,
    Mappings,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    RunningThreads,
    Stacks,
    Threads,
    ThreadSwitches,
    View,
)
from perf2x.model.setting import Argument, Setting

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind, Function, Symbols, SymbolSource

__all__ = [
    "Argument",
    "Context",
    "Dso",
    "DsoKind",
    "Emitter",
    "Format",
    "FormatError",
    "Function",
    "Functions",
    "Locations",
    "Losses",
    "Mappings",
    "Meta",
    "Needs",
    "ObjectError",
    "OptionError",
    "OutputError",
    "Perf2xError",
    "Profile",
    "ProfileEvent",
    "ProfileSamples",
    "RunningThreads",
    "Setting",
    "Stacks",
    "SymbolSource",
    "Symbols",
    "ThreadSwitches",
    "Threads",
    "View",
    "build_emitter",
]


if not TYPE_CHECKING:  # type checkers accept any name of a module that has __getattr__

    def __getattr__(name: str) -> object:
        """Import symbol sources on first use (PEP 562)."""
        if name in __all__:
            return getattr(import_module("perf2x.symbolizer.sources.symbol_source"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
