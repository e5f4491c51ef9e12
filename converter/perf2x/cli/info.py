"""``perf2x info``: what is in a recording."""

from typing import Annotated

from perf2x.cli import console
from perf2x.cli.common import DEFAULT, AsJson, Format, Input, Quiet, recordings
from perf2x.cli.parameters import Option
from perf2x.cli.render.show import checked_format, show
from perf2x.cli.symbol_flags import SymbolFlags

WithSymbols = Annotated[bool, Option("--symbols", help="Look names up, too, and say which share of frames has one.")]


def info(
    source: Input = DEFAULT,
    *,
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: AsJson = False,
    with_symbols: WithSymbols = False,
    names: SymbolFlags,
    quiet: Quiet = False,
) -> None:
    """Show what is in a recording: events, samples, threads, time span, records, losses, deferred and copied stacks.

    Which share of frames has a name is looked up with --symbols, or when an option says where names are.
    """
    from perf2x import pipeline
    from perf2x.cli.info_report import info_report

    shape = checked_format(format, as_json)
    recordings([source])
    symbols = names.options() if with_symbols or names != SymbolFlags() else None
    options = pipeline.LoadOptions(symbols=symbols, stacks=symbols is not None)
    with console.progress(quiet) as progress:
        loaded = pipeline.load(source, options, progress)
    show(info_report(loaded), shape)
