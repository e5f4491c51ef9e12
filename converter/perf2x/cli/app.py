"""The command's skeleton: names, version, and which module answers what."""

import typer

from perf2x import __version__
from perf2x.cli.convert import convert
from perf2x.cli.exits import guarded
from perf2x.cli.formats import formats
from perf2x.cli.info import info

app = typer.Typer(
    help="Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(guarded(convert))
app.command()(guarded(info))
app.command()(guarded(formats))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"perf2x {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Convert Linux perf.data recordings to pprof, Chrome trace JSON, collapsed stacks and more."""
