"""Parameters take plain values as typer's own conversion does, without making a model of each."""

import inspect
from importlib import import_module
from typing import Any, get_args, get_origin

import pytest
import typer
from typer.core import TyperArgument, TyperOption

from perf2x.cli.app import COMMANDS, command

GIVEN: dict[Any, list[Any]] = {str: ["text", "7"], list: [("one", "two"), ["one"], ("7",)]}


def outcome(process: Any, ctx: Any, value: object) -> object:
    """Return what a value becomes, with sequences as lists, or the error about it."""
    try:
        result = process(ctx, value)
    except typer.BadParameter as error:
        return type(error).__name__, error.message
    return list(result) if isinstance(result, list | tuple) else result


@pytest.mark.parametrize("name", ["convert", "annotate"])
def test_values_become_what_typer_makes_of_them(name: str) -> None:
    made: Any = command(name)
    function = getattr(import_module(f"perf2x.cli.commands.{name}"), name)
    ctx, hints = made.context_class(made), inspect.get_annotations(function)
    for parameter in made.params:
        if parameter.callback is None:
            own = TyperArgument if isinstance(parameter, TyperArgument) else TyperOption
            kind = next(iter(get_args(hints[parameter.name].__origin__)), hints[parameter.name].__origin__)
            for value in [None, parameter.default, *GIVEN.get(get_origin(kind) or kind, [])]:
                theirs = outcome(lambda *given, of=parameter, own=own: own.process_value(of, *given), ctx, value)
                assert outcome(parameter.process_value, ctx, value) == theirs, (parameter.name, value)


def test_every_command_takes_plain_values_itself() -> None:
    for name in COMMANDS:
        made: Any = command(name)
        params = made.get_params(made.context_class(made))
        assert all("plain_parameters" in parameter.process_value.func.__module__ for parameter in params), name
