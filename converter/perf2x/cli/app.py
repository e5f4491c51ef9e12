"""The typer application: names of the commands, each imported when it is used.

A command is a function that an entry point of ``perf2x.commands`` names, with settings as annotations and its help as
docstring (cli/parameters.py). The command of two words ``fleet query`` has the name ``fleet.query``.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from perf2x import __version__
from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.installed_packages import EntryPoint, available
from perf2x.cli.error_handling import USAGE
from perf2x.cli.help import CONTEXT, PlainHelp, show_all
from perf2x.cli.plain_parameters import leave_as_typed
from perf2x.cli.usage_errors import report_usage_errors
from perf2x.errors import OptionError

LINES = {
    "convert": "Convert a perf.data recording.",
    "top": "Show the hottest functions: the cost of each by itself, and including everything it calls.",
    "annotate": "Show what each source line or instruction of a function costs.",
    "diff": "Compare two recordings: the functions that changed most.",
    "report": "Summarize a recording on one page: costs, where they arise, and what to look at next.",
    "view": "Open a recording as a flame graph in the browser.",
    "info": "Show what is in a recording: events, samples, threads, time span, records, losses and stacks.",
    "explain": "Show which symbols, lines and unwinding information ELF files have, and what would help.",
    "script": "Print the samples of a recording as perf script does.",
    "dump": "Show the records of a recording in file order, one per line, without symbols.",
    "bundle": "Pack a recording with the objects it needs, to convert it on any machine.",
    "web": "Write a web page that converts recordings in the browser; nothing is uploaded.",
    "fleet ingest": "Add many recordings to a dataset, on all cores or on a Dask cluster.",
    "fleet symbolize": "Look up symbols for all addresses in a dataset, on all cores or on a Dask cluster.",
    "fleet query": "Run SQL on a dataset with DuckDB.",
    "fleet rm": "Remove recordings from a dataset by name or tags.",
    "fleet maintain": "Keep a dataset in order: merge small files, remove old recordings.",
    "mcp": "Answer questions about recordings over the Model Context Protocol on standard input and output.",
    "formats": "List the output formats, plugins included.",
}
"""Descriptions of perf2x's own commands in ``perf2x --help``, in order; others are described by their docstrings.
"""


@functools.cache
def commands() -> dict[str, EntryPoint]:
    """Return all installed commands by name, such as ``fleet query``."""
    return {name.replace(".", " "): point for name, point in available("perf2x.commands").items()}


@functools.cache
def _lines() -> dict[str, str]:
    """Return the description of each command: perf2x's own, then others, which are imported."""
    found = commands()
    own = {name: line for name, line in LINES.items() if name in found}
    return own | {name: _line_of(point) for name, point in found.items() if name not in own}


def _line_of(point: EntryPoint) -> str:
    try:
        return (point.load().__doc__ or "").strip().partition("\n")[0]
    except (AttributeError, ImportError) as error:
        return f"cannot be imported: {error}"


class LazyGroup(PlainHelp, TyperGroup):
    """Commands that are imported on use, because making the parameters of all costs more than a conversion."""

    def __init__(self, *, family: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self._family = family

    def lines(self) -> Mapping[str, str]:
        """Return the descriptions of the commands by name, without the words of the family."""
        return {
            name.removeprefix(self._family): line for name, line in _lines().items() if name.startswith(self._family)
        }

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.lines())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command as needed for help and completion."""
        return TyperCommand(cmd_name, help=self.lines()[cmd_name]) if cmd_name in self.lines() else None

    def get_params(self, ctx: Any) -> Any:
        """Return the options before the command, including completion and help."""
        return leave_as_typed(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options before the command; print the help if there are no arguments."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit(USAGE)
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        with report_usage_errors(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command, or make the group of a family. Raises OptionError with a suggestion."""
        typed, *rest = args
        name = self._family + typed
        if name in commands():
            return typed, command(name), rest
        if any(command_name.startswith(f"{name} ") for command_name in commands()):
            text = f"For details: perf2x {name} COMMAND --help"
            options = [one for one in self.params if one.name == "help_all"]
            settings = {"params": options, "context_settings": CONTEXT, "rich_markup_mode": None}
            return typed, LazyGroup(name=typed, family=f"{name} ", help=text, **settings), rest
        if ctx.resilient_parsing:
            return None, None, rest
        if name == "record":
            raise OptionError(
                "perf2x reads recordings; to make one: perf record --call-graph dwarf -- ./program && perf2x view"
            )
        if not self._family and (Path(typed).exists() or "." in typed):
            raise OptionError(f"there is no command {typed}; to convert a recording: perf2x convert {typed}")
        raise OptionError(f"there is no command {name}{did_you_mean(name, commands())} (perf2x --help)")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; print an error that is not perf2x's own as one sentence, and return an exit code."""
        with report_usage_errors(ctx):
            return super().invoke(ctx)


@functools.cache
def command(name: str) -> Any:
    """Import a command and make its parameters."""
    from perf2x.cli.parameters import make_command

    return make_command(name, commands()[name].load())


app = typer.Typer(
    name="perf2x",
    cls=LazyGroup,
    help="Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more.",
    epilog="perf2x COMMAND --help shows the common options of a command, --help-all all of them.",
    context_settings=CONTEXT,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a bug report needs the whole traceback as text
)


def _show_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"perf2x {__version__}")
        raise typer.Exit


@app.callback()
def _options_before_commands(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
    help_all: Annotated[bool, typer.Option("--help-all", is_eager=True, hidden=True, callback=show_all)] = False,
) -> None:
    """Declare the options before a command; their callbacks implement them."""
