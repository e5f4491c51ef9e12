"""Values and descriptions of parameters, made here from their declarations: typer's differ from version to version.

They take time, too: typer makes a pydantic model for each parameter that it looks at, given or not, and pydantic alone
is a fifth of what a small recording costs.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args, get_origin

from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.errors import OptionError


def take_plain_values(parameters: list[Any], function: Callable[..., None] | None = None) -> list[Any]:
    """Return the parameters of a command, made of a function's ones, with values and descriptions of our own."""
    hints = inspect.get_annotations(function, eval_str=True) if function else {}
    for parameter in parameters:
        if not isinstance(parameter.process_value, partial):
            hint = hints.get(parameter.name)
            kind = _kind(getattr(hint, "__origin__", bool if getattr(parameter, "is_flag", False) else str))
            limits = next((mark for mark in getattr(hint, "__metadata__", ()) if hasattr(mark, "min")), None)
            parameter.process_value = partial(_process_value, parameter, kind, limits)
            _describe(parameter, kind)
    return parameters


def _kind(hint: Any) -> Any:
    """Return the type without None; ``list`` for lists of texts."""
    kinds = (
        [kind for kind in get_args(hint) if kind is not type(None)] if get_origin(hint) not in (Literal, list) else []
    )
    kind = kinds[0] if kinds else hint
    return list if get_origin(kind) is list else kind


def _describe(parameter: Any, kind: Any) -> None:
    """Show what a value is like, and nothing of a switch's or an argument's type."""
    if parameter.param_type_name == "argument":
        name = str(parameter.metavar)
        shown = name if parameter.required else f"[{name}]"
        parameter.get_usage_pieces = lambda _: [shown + "..." * (kind is list)]
        parameter.display_type_rich = lambda ctx: ""
    elif kind is bool:
        parameter.metavar = ""
    elif parameter.metavar is None:
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        parameter.metavar = f"<{'|'.join(choices)}>" if choices else str(parameter.name).upper()


def _process_value(parameter: Any, kind: Any, limits: Any, ctx: Any, value: Any) -> Any:
    """Convert what was typed, or is a default; OptionError where it does not fit."""
    if value is None or value == ():
        if parameter.required:
            raise OptionError(f"{_name_of(parameter)} is missing ({' '.join(ctx.get_usage().split())})")
        value = () if kind is list else None
    elif kind is list:
        value = list(value)
    elif isinstance(value, str):
        value = _converted(f"{_name_of(parameter)} {value}", value, kind, limits)
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def _name_of(parameter: Any) -> str:
    """Return what the user calls a parameter: the option, or the argument's name in the help."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    return next((name for name in parameter.opts if name.startswith("--")), str(parameter.opts[0]))


def _converted(typed: str, text: str, kind: Any, limits: Any) -> Any:
    if kind is int:
        return _number(typed, text, limits.min, limits.max)
    choices = get_args(kind)
    if choices and text not in choices:
        raise OptionError(f"{typed}: choose from {', '.join(choices)}{did_you_mean(text, choices)}")
    return text


def _number(typed: str, text: str, least: int | None, most: int | None) -> int:
    try:
        number = int(text)
    except ValueError:
        raise OptionError(f"{typed}: expected a whole number") from None
    if least is not None and number < least:
        raise OptionError(f"{typed}: it must be at least {least}")
    if most is not None and number > most:
        raise OptionError(f"{typed}: it must be at most {most}")
    return number
