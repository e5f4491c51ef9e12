"""``perf2x annotate``: what each source line or instruction of a function costs."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from perf2x.base.errors import OptionError, SettingError
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import Without, with_groups
from perf2x.cli.options.input_options import DEFAULT, Inputs, Quiet, Verbose, recordings
from perf2x.cli.options.source_options import ListingFlags
from perf2x.cli.options.table_options import Columns, PrintFlags
from perf2x.cli.progress import progress_bar
from perf2x.pipeline.load_options import LoadOptions
from perf2x.transforms.filters.filter_options import Grouping

Function = Annotated[
    str, typer.Argument(metavar="FUNCTION", help="Name of a function as perf2x top shows it, or a glob.")
]
Value = Annotated[Literal["period", "samples"], typer.Option("--value", help="What to count.", rich_help_panel="Table")]


@with_groups
def annotate(
    function: Function,
    inputs: Inputs = None,
    *,
    listing: Annotated[ListingFlags, Without("hottest")],
    value: Value = "period",
    columns: Columns = None,
    form: Annotated[PrintFlags, Without("format")],
    asked: Annotated[LoadOptions, Without(Grouping, "anonymize", "no_symbols")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show what each source line or instruction of a function costs.

    Without --source, the numbers of lines and their costs; source files are read only if you say where they are.

    ::

        perf2x annotate main perf.data --source
        perf2x annotate main perf.data --source-dir src
        perf2x annotate 'parse*' perf.data --assembly
    """
    from perf2x.cli.render.annotate_json import listing_json
    from perf2x.cli.render.annotate_page import listing_lines
    from perf2x.cli.render.report_formats import print_report_text
    from perf2x.cli.render.screen import standard_output
    from perf2x.cli.render.summary import quality_lines, verbose_lines
    from perf2x.pipeline.load import load

    if not inputs and not Path(DEFAULT).exists() and Path(function).exists():
        raise OptionError(f"the function comes first: perf2x annotate FUNCTION {function}")
    sources = recordings(inputs)
    if columns and value != "period":
        raise SettingError("", "columns", " shows what events counted; leave out ", "value")
    wanted = listing.options(function, value, columns or ())
    options = asked.but(listings=wanted, beside=bool(columns))
    with progress_bar(quiet) as progress:
        loaded = load(sources, options, progress)
    if loaded.profile.listings is None or not loaded.profile.listings.functions:
        raise OptionError(f"no function {function!r}: the recording has no samples")
    profile = loaded.profile
    screen = standard_output(wide=form.wide)
    print_report_text(
        (listing_json if form.as_json else partial(listing_lines, screen=screen))(profile, columns=columns or ())
    )
    if quiet:
        return
    for line in verbose_lines(loaded) if verbose else quality_lines(loaded):
        print_message(line)
