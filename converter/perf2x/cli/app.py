"""The typer application: names of the commands, each imported when it is used."""

import contextlib
import functools
import inspect
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from perf2x import __version__
from perf2x.cli.error_handling import report_errors
from perf2x.cli.help import HelpfulCommand, examples, paragraphs, rare_options
from perf2x.cli.plain_parameters import take_plain_values
from perf2x.model.terminal_text import message

COMMANDS = {
    "convert": "Convert a perf.data recording.",
    "top": "Show the hottest functions: what each costs itself, and with all that it calls.",
    "annotate": "Show what each source line or instruction of a function costs.",
    "diff": "Compare two recordings: the functions that changed most.",
    "report": "Summarize a recording on one page: what it cost, where, and what to look at next.",
    "view": "Open a recording as a flame graph in the browser.",
    "info": "Show what is in a recording: events, samples, threads, time span, records, losses and stacks.",
    "explain": "Show which symbols, lines and unwinding information ELF files have, and what would help.",
    "dump": "Show the records of a recording in file order, one per line, without symbols.",
    "bundle": "Pack a recording with the objects it needs, to convert it on any machine.",
    "fleet ingest": "Add many recordings to a dataset, on all cores or on a Dask cluster.",
    "fleet symbolize": "Look up symbols for all addresses in a dataset, on all cores or on a Dask cluster.",
    "fleet query": "Run SQL on a dataset with DuckDB.",
    "fleet compact": "Merge small files of a dataset, and sum its old timelines.",
    "fleet gc": "Remove old recordings from a dataset, and what only they need.",
    "mcp": "Answer questions about recordings, by the Model Context Protocol on standard input and output.",
    "formats": "List the output formats, plugins included.",
    "man": "Print the manual page: perf2x man | man -l -.",
}
"""Names of commands and their lines in ``perf2x --help``; cli/commands/NAME.py defines the function NAME, with _ for a
space."""


_UsageError: Any = typer.BadParameter.__base__
"""Base class of usage errors, which typer does not export."""


@contextlib.contextmanager
def _plain_usage_errors() -> Iterator[None]:
    """Remove control characters from usage errors: they may quote file names that a script passed on."""
    try:
        yield
    except _UsageError as error:
        error.message = message(error.message)
        raise


class LazyGroup(TyperGroup):
    """Commands that are imported when they are used: making the parameters of all costs more than a conversion."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=line) for name, line in COMMANDS.items()}

    def get_params(self, ctx: Any) -> Any:
        """Return the options before the command, with those of completion and help."""
        return take_plain_values(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the stub of the command with the command itself; its name may be two words."""
        if " ".join(args[:2]) in COMMANDS:
            args = [" ".join(args[:2]), *args[2:]]
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub if name is None else command(name), rest

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the options before the command."""
        with _plain_usage_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; report errors from outside as one sentence and an exit code."""
        with report_errors(), _plain_usage_errors():
            return super().invoke(ctx)


@functools.cache
def command(name: str) -> TyperCommand:
    """Import one of COMMANDS and make its parameters."""
    from perf2x.cli.config import name_variables  # with msgspec, which perf2x --help does without

    module = name.replace(" ", "_")
    function = getattr(import_module(f"perf2x.cli.commands.{module}"), module)
    alone = typer.Typer(add_completion=False)
    text = paragraphs(inspect.getdoc(function) or "")
    alone.command(name, cls=HelpfulCommand, help=text, epilog=examples(name))(function)
    made: Any = typer.main.get_command(alone)
    made.rare = rare_options(function)
    take_plain_values(made.params, function)
    name_variables(made)
    return made  # type: ignore[no-any-return]


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
    """Take defaults from the environment and the configuration file."""
    name = context.invoked_subcommand
    if name is not None:
        from perf2x.cli.config import defaults

        context.default_map = {name: defaults(name, COMMANDS, command, Path.cwd(), os.environ)}
