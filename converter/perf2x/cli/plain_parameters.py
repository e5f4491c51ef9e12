"""Keeps typer from converting values, which cli/parameters.py parses, and from showing Python types in the help."""

from functools import partial
from typing import Any

from perf2x.errors import OptionError


def leave_as_typed(parameters: list[Any]) -> list[Any]:
    """Patch typer's parameters so that values stay strings, tuples of strings or bools; return the same list."""
    for parameter in parameters:
        if not isinstance(parameter.process_value, partial):  # not patched already
            parameter.process_value = partial(_process_value, parameter)
            if parameter.param_type_name == "argument":
                parameter.get_usage_pieces = partial(_usage_pieces, parameter)
                parameter.display_type_rich = lambda ctx: ""  # no Python type in the help
    return parameters


def _usage_pieces(parameter: Any, ctx: Any) -> list[str]:
    text = parameter.metavar if parameter.required else f"[{parameter.metavar}]"
    return [text + "..." * (parameter.nargs < 0)]


def _process_value(parameter: Any, ctx: Any, value: Any) -> Any:
    if parameter.required and value in (None, ()):
        name = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[0]
        raise OptionError(f"{name} is missing ({' '.join(ctx.get_usage().split())})")
    value = () if value is None and (parameter.multiple or parameter.nargs < 0) else value
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)
