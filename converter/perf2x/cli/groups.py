"""Groups of options that several commands share, each a frozen dataclass in a file of its own.

click wants one parameter per option; a command here takes whole groups instead, and ``command_of`` shows click the
fields one by one::

    @dataclass(frozen=True, slots=True)             def top(source: Input, choice: Filters) -> None: ...
    class Filters:
        pid: Annotated[list[str] | None, Option(...)] = None            # perf2x top --pid 7
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import click

from perf2x.cli.helping import PlainCommand
from perf2x.cli.parameters import given


def command_of(function: Callable[..., None], run: Callable[..., None] | None = None) -> PlainCommand:
    """The command of a function's name, help text and parameters, which calls ``run`` (or the function itself).

    Parameters that are dataclasses stand for their fields.
    """
    hints = inspect.get_annotations(function, eval_str=True)
    defaults = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    groups = {name: hints[name] for name in defaults if dataclasses.is_dataclass(hints[name])}
    parameters = [
        parameter
        for name, default in defaults.items()
        for parameter in (_fields(groups[name]) if name in groups else [_parameter(name, hints[name], default)])
    ]

    def called(**flat: Any) -> None:
        flat = given(parameters, flat)
        whole = {name: _gathered(group, flat) for name, group in groups.items()}
        (run or function)(**whole, **flat)

    return PlainCommand(function.__name__, callback=called, params=parameters, help=inspect.getdoc(function))


def _fields(group: Any) -> Iterator[click.Parameter]:
    hints = inspect.get_annotations(group, eval_str=True)
    for field in dataclasses.fields(group):
        yield _parameter(field.name, hints[field.name], field.default)


def _parameter(name: str, annotation: Any, default: Any) -> click.Parameter:
    (stated,) = annotation.__metadata__
    made: click.Parameter = stated.parameter(name, annotation.__origin__, default)
    return made


def _gathered(group: Any, flat: dict[str, Any]) -> Any:
    return group(**{field.name: flat.pop(field.name) for field in dataclasses.fields(group)})
