"""Parameters whose values stay as typed (cli/parameters.py parses them), and whose help shows no Python type.

typer would make a pydantic model of each parameter, given or not: that takes longer than a small conversion, and its
messages change between versions.
"""

from functools import partial
from typing import Any

from perf2x.errors import OptionError


def leave_as_typed(parameters: list[Any]) -> list[Any]:
    """Patch typer's parameters so that their values stay as typed; return the same list.

    The values are texts, tuples of texts, and for switches whether they were typed.
    """
    for parameter in parameters:
        if not isinstance(parameter.process_value, partial):  # a partial: the parameter has been patched already
            parameter.process_value = partial(_process_value, parameter)
            if parameter.param_type_name == "argument":
                parameter.get_usage_pieces = partial(_usage_pieces, parameter)
                parameter.display_type_rich = lambda ctx: ""  # the Python type in the help
    return parameters


def _usage_pieces(parameter: Any, ctx: Any) -> list[str]:
    """Return an argument as the usage line shows it: ``FILE``, ``[FILE]`` if optional, ``[FILE]...`` if repeatable."""
    text = parameter.metavar if parameter.required else f"[{parameter.metavar}]"
    return [text + "..." * (parameter.nargs < 0)]


def _process_value(parameter: Any, ctx: Any, value: Any) -> Any:
    """Return the value of a parameter as typed, or what its callback makes of it.

    Raises OptionError if it is required and missing.
    """
    if parameter.required and value in (None, ()):
        name = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[0]
        raise OptionError(f"{name} is missing ({' '.join(ctx.get_usage().split())})")
    value = () if value is None and (parameter.multiple or parameter.nargs < 0) else value
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)
