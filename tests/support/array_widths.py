"""A plugin of mypy: arrays' own ``take`` wants indices of the machine's width, `arrays.take` has any.

By its text a call cannot be told from the ``take`` of a table.
"""

from collections.abc import Callable

from mypy.plugin import MethodContext, Plugin
from mypy.types import Type


class ArrayWidths(Plugin):
    """Refuses ``values.take(rows)`` outside of the module that stands in for it."""

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Look at calls of one method."""
        return _refuse if fullname == "numpy.ndarray.take" else None


def _refuse(call: MethodContext) -> Type:
    if not call.api.path.endswith("arrays.py"):
        call.api.fail("take(values, rows) of base/columnar/arrays.py has indices of any width", call.context)
    return call.default_return_type


def plugin(_: str) -> type[Plugin]:
    """Return the plugin, as mypy asks for it."""
    return ArrayWidths
