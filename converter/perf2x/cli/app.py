"""The command's skeleton: names, version, and which module answers what."""

import functools
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from perf2x import __version__
from perf2x.cli import completing
from perf2x.cli.exits import guarded
from perf2x.cli.helping import PlainGroup

COMMANDS = ("convert", "top", "diff", "info", "dump", "bundle", "formats", "man")
"""Each is a function of the module of that name; only the one that is asked for is imported."""


def make_app() -> click.Group:
    """The command."""
    version = click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
    )
    return PlainGroup(
        COMMANDS,
        command,
        name="perf2x",
        help="Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more.",
        params=[version, *completing.options()],
        callback=guarded(_take_defaults),
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


@functools.cache
def command(name: str) -> click.Command:
    """One of COMMANDS."""
    from perf2x.cli.groups import command_of

    function: Any = getattr(import_module(f"perf2x.cli.{name}"), name)
    return command_of(function, guarded(function))


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"perf2x {__version__}")
        context.exit()


def _take_defaults() -> None:
    from perf2x.cli.config import defaults

    context = click.get_current_context()
    context.default_map = defaults(lambda: {name: command(name) for name in COMMANDS}, Path.cwd())
