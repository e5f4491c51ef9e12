"""Bytes to event tables.

``perf2x.read`` is this package and a function at once: called, it is ``perf2x.api.read``, the whole way to a profile.
Python binds a package's name in its parent on import, so one name cannot be kept apart from the other.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from perf2x.read.recording import PerfRecording, open_recording

__all__ = ["PerfRecording", "open_recording"]


class _Callable(ModuleType):
    """What lets ``from perf2x import read`` be called; api is imported then: it lies above this package."""

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """See perf2x.api.read."""
        return import_module("perf2x.api").read(*inputs, **options)


sys.modules[__name__].__class__ = _Callable
