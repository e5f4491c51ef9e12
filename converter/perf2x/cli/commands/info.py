"""``perf2x info``: the contents of a recording."""

from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from perf2x.cli.error_handling import CANNOT
from perf2x.cli.help import HelpAll
from perf2x.cli.messages import print_message
from perf2x.cli.options import make_group, symbols
from perf2x.cli.options.inputs import DEFAULT, Input, MaxUnpacked, Quiet, recordings
from perf2x.cli.options.symbols import SymbolFlags
from perf2x.cli.options.table import Format, Json
from perf2x.cli.progress import progress_bar
from perf2x.cli.render.report import print_report

if TYPE_CHECKING:
    from perf2x.explain.missing import UnnamedObject
    from perf2x.pipeline.context import Progress
    from perf2x.pipeline.result import Loaded
    from perf2x.symbolize.options import SymbolOptions

EXPLAINED_AT_MOST = 50
"""Number of objects that are explained, those with most frames without names."""

WithSymbols = Annotated[
    bool, typer.Option("--symbols", help="Look up names, and show the share of frames that have one.")
]
Explained = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="With --symbols: show for each object why names are missing, and what helps."),
]


def info(
    source: Input = DEFAULT,
    *,
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: Json = False,
    with_symbols: WithSymbols = False,
    verbose: Explained = False,
    symfs: symbols.Symfs = None,
    kallsyms: symbols.Kallsyms = None,
    vmlinux: symbols.Vmlinux = None,
    debug_dir: symbols.DebugDir = None,
    buildid_dir: symbols.BuildidDir = None,
    perf_map_dir: symbols.PerfMapDir = None,
    debuginfod: symbols.Debuginfod = None,
    archive: symbols.Archive = None,
    allow_build_id_mismatch: symbols.AllowBuildIdMismatch = False,
    names: symbols.Names = "short",
    inline: symbols.Inline = True,
    no_symbols: symbols.NoSymbols = False,
    max_unpacked: MaxUnpacked = None,
    quiet: Quiet = False,
    help_all: HelpAll = False,
) -> None:
    """Show what is in a recording: events, samples, threads, time span, records, losses, deferred and copied stacks.

    --symbols, or an option for the source of names, adds the share of frames that have names; with -v, perf2x also
    shows why names are missing and what would help.
    """
    wanted = make_group(SymbolFlags, locals())
    from perf2x.cli.render.info_page import info_report
    from perf2x.files.unpack_limit import limit_unpacking
    from perf2x.pipeline.load import load
    from perf2x.pipeline.options import LoadOptions

    recordings([source])
    looked_up = wanted.options() if with_symbols or replace(wanted, max_unpacked=None) != SymbolFlags() else None
    options = LoadOptions(symbols=looked_up, stacks=looked_up is not None, max_unpacked=wanted.unpacked())
    with progress_bar(quiet) as progress:
        loaded = load(source, options, progress)
        with limit_unpacking(wanted.unpacked()):
            reasons = _missing_name_reasons(loaded, looked_up, progress) if verbose and looked_up is not None else None
    print_report(info_report(loaded, reasons), "json" if as_json else format)
    if not loaded.samples:
        _tell_empty(loaded, quiet)


def _tell_empty(loaded: "Loaded", quiet: bool) -> None:
    """Print why there are no samples; exit with code 1 when damage is the reason."""
    from perf2x.pipeline.no_samples import damage, reason

    counts = loaded.diagnostics.counts
    damaged = bool(damage(counts))
    if damaged or not quiet:
        source = loaded.recording.session.source
        why = reason(loaded.recorded_samples, bool(loaded.recording.session.events), counts)
        print_message(f"perf2x: {source}: no samples: {why}")
    if damaged:
        raise typer.Exit(CANNOT)


def _missing_name_reasons(
    loaded: "Loaded", options: "SymbolOptions", progress: "Progress | None"
) -> "list[UnnamedObject]":
    """Reasons why objects have frames without names; searches for their files again."""
    from perf2x.explain.missing import explain_unnamed
    from perf2x.symbolize.make_finder import make_finder
    from perf2x.tables.diagnostics import Diagnostics

    finder = make_finder(options, Diagnostics(), progress)
    lacking = loaded.symbols.lacking() if loaded.symbols is not None else ()
    return [
        explain_unnamed(row.name, row.build_id, row.unnamed, row.reason, finder) for row in lacking[:EXPLAINED_AT_MOST]
    ]
