"""Output formats, symbol sources and their contracts; ``from perf2x.plugins import Emitter, Needs, option``."""

from perf2x.plugins.registry import Emitter
from perf2x.tables.plugin_options import Needs, option

__all__ = ["Emitter", "Needs", "option"]
