"""The command's skeleton: names, version, and which module answers what."""

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from perf2x import __version__
from perf2x.cli.exits import guarded
from perf2x.cli.helping import PlainCommand, PlainGroup

COMMANDS = ("convert", "top", "diff", "info", "dump", "bundle", "formats", "man")
"""Each is a function of the module of that name."""


def make_app(words: Sequence[str] = ()) -> typer.Typer:
    """The command; when ``words``, the command line, begin with a subcommand's name, with that one alone.

    typer makes an object of every option of every subcommand at each start; one subcommand's take a fifth of that.
    """
    app = typer.Typer(
        cls=PlainGroup,
        help="Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for name in words[:1] if set(words[:1]) & set(COMMANDS) - {"man"} else COMMANDS:
        app.command(name, cls=PlainCommand)(_command(name))
    return app


@functools.cache
def _command(name: str) -> Callable[..., None]:
    from perf2x.cli.groups import with_groups

    function: Callable[..., None] = getattr(import_module(f"perf2x.cli.{name}"), name)
    return function if name == "man" else guarded(with_groups(function))


def _all_commands() -> Mapping[str, Any]:
    whole: Any = typer.main.get_command(make_app())
    commands: Mapping[str, Any] = whole.commands
    return commands


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"perf2x {__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more."""
    guarded(_take_defaults)(context)


def _take_defaults(context: typer.Context) -> None:
    from perf2x.cli.config import defaults

    context.default_map = defaults(_all_commands, Path.cwd())
