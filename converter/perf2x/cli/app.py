"""The command's skeleton: names, version, and which module answers what."""

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from perf2x import __version__
from perf2x.cli.bundle import bundle
from perf2x.cli.convert import convert
from perf2x.cli.diff import diff
from perf2x.cli.dump import dump
from perf2x.cli.exits import guarded
from perf2x.cli.formats import formats
from perf2x.cli.groups import with_groups
from perf2x.cli.info import info
from perf2x.cli.man import man
from perf2x.cli.top import top


class Root(TyperGroup):
    """Plain help for ``perf2x --help``: drawing the commands' framed one costs 0.1 s for the import of rich."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.rich_markup_mode = None


app = typer.Typer(
    cls=Root,
    help="Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (convert, top, diff, info, dump, bundle, formats):
    app.command()(guarded(with_groups(command)))
app.command()(man)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"perf2x {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more."""
    guarded(_take_defaults)(context)


def _take_defaults(context: typer.Context) -> None:
    from perf2x.cli.config import defaults

    group: Any = context.command
    context.default_map = defaults(group.commands, Path.cwd())
