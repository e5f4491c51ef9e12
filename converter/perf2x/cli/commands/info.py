"""``perf2x info``: the contents of a recording."""

from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.cli.error_handling import EXIT_FAILURE
from perf2x.cli.messages import print_message
from perf2x.cli.options.input_options import DEFAULT, Input, Quiet, recordings
from perf2x.cli.options.table_options import PrintFlags
from perf2x.cli.parameters import Only, Without, make_struct
from perf2x.cli.progress import progress_bar
from perf2x.kernel.load_options import LoadOptions, Progress
from perf2x.model.setting import Setting
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded
    from perf2x.tools.explain.missing_names import UnnamedObject

EXPLAINED_AT_MOST = 50
"""Maximum number of objects to explain: those with the most unnamed frames."""

WithSymbols = Annotated[bool, Setting("Look up names, and show the share of frames that have one.", ("--symbols",))]
Explained = Annotated[
    bool,
    Setting("With --symbols: show for each object why names are missing, and what helps.", ("--verbose", "-v")),
]


def info(
    source: Input = DEFAULT,
    *,
    form: Annotated[PrintFlags, Without("wide")],
    with_symbols: WithSymbols = False,
    verbose: Explained = False,
    request: Annotated[LoadOptions, Only(SymbolOptions, "no_symbols", "max_unpacked")],
    quiet: Quiet = False,
) -> None:
    """Show what is in a recording: events, samples, threads, time span, records, losses and stacks.

    --symbols, or an option for the source of names, adds the share of frames that have names; with -v, perf2x also
    shows why names are missing and what would help.

    ::

        perf2x info perf.data
        perf2x info perf.data --symbols -v
        perf2x info perf.data --json
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.cli.render.info_page import info_report
    from perf2x.kernel.load import load

    recordings([source])
    looked_up = request.symbols if with_symbols or request.symbols != make_struct(SymbolOptions, {}) else None
    options = request.but(symbols=looked_up, stacks=looked_up is not None, counts=True, join_events=False)
    with progress_bar(quiet) as progress:
        loaded = load(source, options, progress)
        with limit_unpacking(options.max_unpacked):
            reasons = _missing_name_reasons(loaded, looked_up, progress) if verbose and looked_up is not None else None
    form.show(info_report(loaded, reasons))
    if not loaded.samples and not loaded.recording.session.counts:
        _report_empty(loaded, quiet)


def _report_empty(loaded: "Loaded", quiet: bool) -> None:
    """Print why there are no samples; exit with code 1 if damage is the reason."""
    from perf2x.kernel.no_samples import damage, reason

    counts = loaded.diagnostics.counts
    damaged = bool(damage(counts))
    if damaged or not quiet:
        source = loaded.recording.session.source
        why = reason(loaded.recorded_samples, bool(loaded.recording.session.events), counts)
        print_message(f"perf2x: {source}: no samples: {why}")
    if damaged:
        raise typer.Exit(EXIT_FAILURE)


def _missing_name_reasons(
    loaded: "Loaded", options: "SymbolOptions", progress: "Progress | None"
) -> "list[UnnamedObject]":
    """Return reasons why objects have unnamed frames; searches for their files again."""
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.symbolizer.make_object_finder import make_finder
    from perf2x.tools.explain.missing_names import explain_unnamed

    finder = make_finder(options, Diagnostics(), progress)
    lacking = loaded.symbols.lacking() if loaded.symbols is not None else ()
    return [
        explain_unnamed(row.name, row.build_id, row.unnamed, row.reason, finder) for row in lacking[:EXPLAINED_AT_MOST]
    ]
