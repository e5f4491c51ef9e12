"""Values of parameters that need no conversion, taken without typer's.

typer makes a pydantic model for each parameter that it looks at, given or not: pydantic alone is a fifth of what a
small recording costs. Texts, lists of texts, defaults and what was not given are as they should be already.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

_TEXT = {str, str | None}
_TEXTS = {list[str], list[str] | None}


def take_plain_values(parameters: list[Any], function: Callable[..., None] | None = None) -> list[Any]:
    """Return the parameters of a command, made of a function's ones, that convert only what is not plain."""
    hints = inspect.get_annotations(function, eval_str=True) if function else {}
    defaults = inspect.signature(function).parameters if function else {}
    for parameter in parameters:
        if not isinstance(parameter.process_value, partial):
            hint = getattr(hints.get(parameter.name), "__origin__", None)
            default = defaults[parameter.name].default if parameter.name in defaults else None
            parameter.process_value = partial(_process_value, parameter, hint, default, parameter.process_value)
    return parameters


def _process_value(
    parameter: Any, hint: object, default: object, otherwise: Callable[..., Any], ctx: Any, value: Any
) -> Any:
    """Do what click's Parameter.process_value does, by it where a value is not plain."""
    if value is None and not parameter.required:
        value = () if parameter.multiple or parameter.nargs == -1 else None
    elif not _is_plain(value, hint, default):
        return otherwise(ctx, value)
    elif hint in _TEXTS:
        value = list(value)
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def _is_plain(value: object, hint: object, default: object) -> bool:
    """Tell whether a value has the parameter's type already."""
    if hint in _TEXTS:
        return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(text, str) for text in value)
    return isinstance(value, str) if hint in _TEXT else type(value) is type(default) and value == default
