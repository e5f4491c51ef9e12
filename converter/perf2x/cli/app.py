"""The front door: the commands' names, and which module answers which."""

import functools
import inspect
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from perf2x import __version__
from perf2x.cli.exits import one_sentence

COMMANDS = {
    "convert": "Convert a perf.data recording.",
    "top": "Show the hottest functions: what each costs itself, and with all that it calls.",
    "diff": "Compare two recordings: the functions that moved most.",
    "view": "Open a recording as a flame graph in the browser.",
    "info": "Show what is in a recording: events, samples, threads, time span, records, losses, deferred "
    "and copied stacks.",
    "dump": "Show the records of a recording in file order, a line for each; nothing is looked up.",
    "bundle": "Pack a recording with the objects it needs, to convert it on any machine.",
    "formats": "List the output formats, plugins included.",
    "man": "Print the manual page: perf2x man | man -l -.",
}
"""Each is the function of that name in the module of that name, and its line in ``perf2x --help``."""

ENVIRONMENT = "PERF2X_"
"""``--fail-if-lost 5`` may also be said as ``PERF2X_FAIL_IF_LOST=5``, whatever the command."""


class LazyGroup(TyperGroup):
    """Commands that are imported when they are named: the parameters of all of them cost more than a conversion."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=line) for name, line in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, made whole."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub if name is None else command(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what goes wrong outside becomes one sentence and an exit code."""
        with one_sentence():
            return super().invoke(ctx)


@functools.cache
def command(name: str) -> TyperCommand:
    """One of COMMANDS, with its parameters."""
    alone = typer.Typer(add_completion=False)
    function = getattr(import_module(f"perf2x.cli.{name}"), name)
    alone.command(name, help=_paragraphs(inspect.getdoc(function) or ""))(function)
    made: Any = typer.main.get_command(alone)
    for option in options(made):
        option.envvar = ENVIRONMENT + spelling(option).replace("-", "_").upper()
        option.show_envvar = False  # the name follows from the option's
    return made  # type: ignore[no-any-return]


def _paragraphs(text: str) -> str:
    """The text without line breaks but those between paragraphs; the terminal's width makes new ones."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def options(made: TyperCommand) -> list[TyperOption]:
    """What may be said with ``--name``, ``--help`` aside."""
    return [parameter for parameter in made.params if isinstance(parameter, TyperOption)]


def spelling(option: TyperOption) -> str:
    """``fail-if-lost`` for ``--fail-if-lost``: the option's key in a configuration file."""
    return next(name for name in option.opts if name.startswith("--")).removeprefix("--")


app = typer.Typer(
    name="perf2x",
    cls=LazyGroup,
    help="Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,  # a bug report needs the whole traceback as text
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"perf2x {__version__}")
        raise typer.Exit


@app.callback()
def before_any_command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Take defaults from the configuration file."""
    from perf2x.cli.config import defaults

    context.default_map = defaults(lambda: {name: command(name) for name in COMMANDS}, Path.cwd())
