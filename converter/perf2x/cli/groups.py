"""Groups of options that several commands share, each a frozen dataclass in a file of its own.

typer wants one parameter per option; a command here takes whole groups instead, and ``with_groups`` shows typer the
fields one by one::

    @dataclass(frozen=True, slots=True)             def top(source: Input, choice: Filters = Filters()) -> None: ...
    class Filters:
        pid: Annotated[list[str] | None, typer.Option(...)] = None      # perf2x top --pid 7
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints

from typer.models import OptionInfo

from perf2x.cli.completing import completion_of

ENVIRONMENT = "PERF2X_"
"""``--fail-if-lost 5`` may also be said as ``PERF2X_FAIL_IF_LOST=5``, whatever the command."""


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every parameter that is a dataclass replaced by that class's fields, as typer wants them."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    groups = {name: hints[name] for name in parameters if dataclasses.is_dataclass(hints[name])}

    @functools.wraps(command)
    def run(**flat: Any) -> None:
        whole = {name: _gathered(group, flat) for name, group in groups.items()}
        command(**whole, **{name: value for name, value in flat.items() if name in parameters})

    flat = list(_flattened(parameters, hints))
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


def _flattened(parameters: Any, hints: dict[str, Any]) -> Iterator[inspect.Parameter]:
    for name, parameter in parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            types = get_type_hints(hints[name], include_extras=True)
            fields: Any = dataclasses.fields(hints[name])
            yield from (_keyword(field.name, types[field.name], field.default) for field in fields)
        else:
            yield _keyword(name, hints[name], parameter.default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    for info in get_args(annotation):
        if isinstance(info, OptionInfo) and info.envvar is None:
            info.envvar = ENVIRONMENT + name.upper()
            info.show_envvar = False
            info.autocompletion = info.autocompletion or completion_of(name, info.metavar)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _gathered(group: Any, flat: dict[str, Any]) -> Any:
    return group(**{field.name: flat.pop(field.name) for field in dataclasses.fields(group)})
