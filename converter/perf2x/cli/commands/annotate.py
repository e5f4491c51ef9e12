"""``perf2x annotate``: the cost of each source line or instruction of a function."""

import shlex
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec.structs import replace

from perf2x.cli.messages import print_message, print_messages
from perf2x.cli.options.input_options import DEFAULT_INPUT, Inputs, Quiet, Verbose, existing_inputs
from perf2x.cli.options.table_options import Columns, PrintFlags
from perf2x.cli.parameters import Honouring, Without
from perf2x.cli.progress import load_with_progress
from perf2x.errors import OptionError, SettingError, SeveralFunctionsError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.filters.filter_options import Grouping
from perf2x.model.format_features import ListingSettings
from perf2x.model.plugin_options import FINISHED, LISTINGS
from perf2x.model.setting import Argument, Setting

Function = Annotated[str, Argument("Name of a function, with or without its scope, or a glob.", metavar="FUNCTION")]
Value = Annotated[Literal["period", "samples"], Setting("Value to sum.", panel="Table")]


def annotate(
    context: typer.Context,
    function: Function,
    inputs: Inputs = (),
    *,
    value: Value = "period",
    columns: Columns = (),
    print_flags: Annotated[PrintFlags, Without("format")],
    load_options: Annotated[
        LoadOptions, Honouring(*FINISHED, LISTINGS), Without(Grouping, "anonymize", "no_symbols", "hottest")
    ],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show what each source line or instruction of a function costs.

    By default, the listing has line numbers and costs, but not the text of the lines: --source reads it from the files
    at their recorded paths, --source-dir from files in a folder.

    ::

        perf2x annotate main perf.data --source
        perf2x annotate main perf.data --source-dir src
        perf2x annotate 'parse*' perf.data --assembly
    """
    from perf2x.cli.render.annotate_page import listing_report
    from perf2x.cli.render.summary import quality_lines

    if not inputs and not Path(DEFAULT_INPUT).exists() and Path(function).exists():
        raise OptionError(f"the function comes first: perf2x annotate FUNCTION {function}")
    sources = existing_inputs(inputs)
    if columns and value != "period":
        raise SettingError("", "columns", " shows counts of events; leave out ", "value")
    typed_options = load_options.of(ListingSettings).listings or ListingOptions()
    # source lines are shown unless --assembly was typed without --source, which sets as_recorded
    shows_lines = typed_options.as_recorded or not typed_options.assembly
    listing_options = replace(typed_options, function=function, source=shows_lines, columns=columns, value=value)
    options = load_options.with_values(listings=listing_options, keep_other_events=bool(columns))
    try:
        loaded = load_with_progress(sources, options, quiet)
    except SeveralFunctionsError as error:
        for name, cost in islice(error.candidates.items(), 10):
            # print the cost of each candidate, and the same command with its full name, for the user to copy
            print_message(f"{cost:>7}  perf2x {shlex.join(_typed_arguments_with(name, function, context))}")
        raise
    print_flags.show(listing_report(loaded.profile, columns))
    print_messages(quality_lines(loaded, verbose), quiet)


def _typed_arguments_with(name: str, function: str, context: typer.Context) -> list[str]:
    """Return what the user typed, with ``name`` instead of FUNCTION; an equal value of an option stays."""
    command, *arguments = sys.argv[1:]
    typed = [[*arguments[:at], name, *arguments[at + 1 :]] for at, text in enumerate(arguments) if text == function]
    parser: Any = context.command.make_parser(context)
    return [command, *next(words for words in typed if parser.parse_args([*words])[0]["function"] == name)]
