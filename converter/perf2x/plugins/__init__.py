"""Plugins: output formats, symbol sources and their contracts; ``from perf2x.plugins import Emitter, option``."""

from perf2x.plugins.registry import Emitter
from perf2x.tables.plugin_options import option

__all__ = ["Emitter", "option"]
