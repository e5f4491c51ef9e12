"""``perf2x info``: the contents of a recording."""

from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.cli.error_handling import EXIT_FAILURE
from perf2x.cli.messages import print_message
from perf2x.cli.options.input_options import DEFAULT_INPUT, Input, Quiet, existing_inputs
from perf2x.cli.options.table_options import PrintFlags
from perf2x.cli.parameters import Only, Without, make_struct
from perf2x.cli.progress import progress_bar
from perf2x.kernel.load_options import LoadOptions, Progress
from perf2x.model.setting import Setting
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded
    from perf2x.tools.explain.missing_names import UnnamedObject

# Maximum number of objects whose missing names are explained.
_MAX_EXPLAINED = 50

WithSymbols = Annotated[bool, Setting("Look up names, and show the share of frames that have one.", ("--symbols",))]
VerboseSymbols = Annotated[
    bool,
    Setting("With --symbols: show for each object why names are missing, and what helps.", ("--verbose", "-v")),
]


def info(
    source: Input = DEFAULT_INPUT,
    *,
    print_flags: Annotated[PrintFlags, Without("wide")],
    with_symbols: WithSymbols = False,
    verbose: VerboseSymbols = False,
    load_options: Annotated[LoadOptions, Only(SymbolOptions, "no_symbols", "max_unpacked")],
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

    existing_inputs([source])  # raises the error for a missing recording
    symbol_options = (
        load_options.symbols if with_symbols or load_options.symbols != make_struct(SymbolOptions, {}) else None
    )
    options = load_options.with_values(
        symbols=symbol_options, stacks=symbol_options is not None, counts=True, join_events=False
    )
    with progress_bar(quiet) as progress:
        loaded = load(source, options, progress)
        with limit_unpacking(options.max_unpacked):
            explained = (
                _explain_missing_names(loaded, symbol_options, progress)
                if verbose and symbol_options is not None
                else None
            )
    print_flags.show(info_report(loaded, explained))
    if not loaded.samples and not loaded.recording.session.is_perf_stat:
        _report_empty(loaded, quiet)


def _report_empty(loaded: "Loaded", quiet: bool) -> None:
    from perf2x.kernel.no_samples import damage, reason

    counts = loaded.diagnostics.counts
    is_damaged = bool(damage(counts))
    if is_damaged or not quiet:
        source = loaded.recording.session.source
        explanation = reason(loaded.recorded_samples, bool(loaded.recording.session.events), counts)
        print_message(f"perf2x: {source}: no samples: {explanation}")
    if is_damaged:
        raise typer.Exit(EXIT_FAILURE)


def _explain_missing_names(
    loaded: "Loaded", options: "SymbolOptions", progress: "Progress | None"
) -> "list[UnnamedObject]":
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.symbolizer.make_object_finder import make_finder
    from perf2x.tools.explain.missing_names import explain_unnamed

    finder = make_finder(options, Diagnostics(), progress)
    unnamed_objects = loaded.symbols.unnamed_objects() if loaded.symbols is not None else ()
    return [
        explain_unnamed(row.name, row.build_id, row.unnamed, row.reason, finder)
        for row in unnamed_objects[:_MAX_EXPLAINED]
    ]
