"""The typer application. It knows the names of all commands, and imports a command only when it is used.

A command is a function: its parameters are the options (cli/parameters.py), its docstring is the help. The entry point
of ``perf2x fleet query`` is ``fleet.query``, because names of entry points should not contain spaces.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from perf2x import __version__
from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.installed_packages import EntryPoint, entry_points_by_name
from perf2x.cli.error_handling import EXIT_USAGE
from perf2x.cli.help import CONTEXT_SETTINGS, PlainHelp, print_full_help
from perf2x.cli.plain_parameters import leave_as_typed
from perf2x.cli.usage_errors import report_usage_errors
from perf2x.errors import OptionError

HELP_LINES = {
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
"""The line of help for each built-in command, in the order of ``perf2x --help``.

These lines are copied here so that ``perf2x --help`` need not import the commands. For a command of a plugin, the line
is the first line of its docstring.
"""


@functools.cache
def entry_points() -> dict[str, EntryPoint]:
    """Return the entry points of all installed commands by the command's name, such as ``fleet query``."""
    return {
        name.replace(".", " "): entry_point for name, entry_point in entry_points_by_name("perf2x.commands").items()
    }


@functools.cache
def _help_lines() -> dict[str, str]:
    installed = entry_points()
    built_in = {name: line for name, line in HELP_LINES.items() if name in installed}
    of_plugins = {name: _docstring_line(point) for name, point in installed.items() if name not in built_in}
    return built_in | of_plugins


def _docstring_line(entry_point: EntryPoint) -> str:
    try:
        return (entry_point.load().__doc__ or "").strip().partition("\n")[0]
    except (AttributeError, ImportError) as error:
        return f"cannot be imported: {error}"


class LazyGroup(PlainHelp, TyperGroup):
    """A group of commands that are imported on use, because importing all takes longer than a small conversion.

    ``family`` is the first word and a space for commands of two words (``"fleet "``); "" for the top level.
    """

    def __init__(self, *, family: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self._family = family

    def help_lines(self) -> Mapping[str, str]:
        """Return the help line of each command by its name in this group."""
        return {
            name.removeprefix(self._family): line
            for name, line in _help_lines().items()
            if name.startswith(self._family)
        }

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.help_lines())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a stand-in for a command, which suffices to list and complete names; None if there is none."""
        return TyperCommand(cmd_name, help=self.help_lines()[cmd_name]) if cmd_name in self.help_lines() else None

    def get_params(self, ctx: Any) -> Any:
        """Return the options that precede the command."""
        return leave_as_typed(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options that precede the command; print the help if there are no arguments."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit(EXIT_USAGE)
        if args[:1] == ["help"]:  # perf2x help convert
            args = [*args[1:], "--help"]
        with report_usage_errors(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the first argument, the command or family that it names, and the other arguments.

        Raises OptionError with a suggestion if there is no such command.
        """
        typed, *arguments = args
        name = self._family + typed
        if name in entry_points():
            return typed, command(name), arguments
        if any(command_name.startswith(f"{name} ") for command_name in entry_points()):
            help_text = f"For details: perf2x {name} COMMAND --help"
            # a family has --help-all, but not --version
            options = [parameter for parameter in self.params if parameter.name == "help_all"]
            settings = {"params": options, "context_settings": CONTEXT_SETTINGS, "rich_markup_mode": None}
            return typed, LazyGroup(name=typed, family=f"{name} ", help=help_text, **settings), arguments
        if ctx.resilient_parsing:  # for shell completion, which must not fail
            return None, None, arguments
        if name == "record":
            raise OptionError(
                "perf2x reads recordings; to make one: perf record --call-graph dwarf -- ./program && perf2x view"
            )
        if not self._family and (Path(typed).exists() or "." in typed):
            raise OptionError(f"there is no command {typed}; to convert a recording: perf2x convert {typed}")
        raise OptionError(f"there is no command {name}{did_you_mean(name, entry_points())} (perf2x --help)")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; report a failure in one sentence, and exit."""
        with report_usage_errors(ctx):
            return super().invoke(ctx)


@functools.cache
def command(name: str) -> Any:
    """Import a command by its name (``fleet query``) and make a typer command of it."""
    from perf2x.cli.parameters import make_command

    return make_command(name, entry_points()[name].load())


app = typer.Typer(
    name="perf2x",
    cls=LazyGroup,
    help="Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more.",
    epilog="perf2x COMMAND --help shows the common options of a command, --help-all all of them.",
    context_settings=CONTEXT_SETTINGS,
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
    help_all: Annotated[bool, typer.Option("--help-all", is_eager=True, hidden=True, callback=print_full_help)] = False,
) -> None:
    """Declare the options that precede a command. Their callbacks do the work."""
