"""``perf2x info``: what is in a recording."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.cli import console
from perf2x.cli.exits import CANNOT
from perf2x.cli.help import HelpAll
from perf2x.cli.options import gather, symbols
from perf2x.cli.options.inputs import DEFAULT, Input, MaxUnpacked, Quiet, recordings
from perf2x.cli.options.symbols import SymbolFlags
from perf2x.cli.options.table import Format, Json
from perf2x.cli.render.show import show

if TYPE_CHECKING:
    from perf2x.pipeline import Loaded

WithSymbols = Annotated[
    bool, typer.Option("--symbols", help="Look names up, too, and say which share of frames has one.")
]


def info(
    source: Input = DEFAULT,
    *,
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: Json = False,
    with_symbols: WithSymbols = False,
    symfs: symbols.Symfs = None,
    kallsyms: symbols.Kallsyms = None,
    vmlinux: symbols.Vmlinux = None,
    debug_dir: symbols.DebugDir = None,
    buildid_dir: symbols.BuildidDir = None,
    perf_map_dir: symbols.PerfMapDir = None,
    debuginfod: symbols.Debuginfod = None,
    archive: symbols.Archive = None,
    allow_build_id_mismatch: symbols.AllowBuildIdMismatch = False,
    demangle: symbols.DemangleStyle = "simple",
    inline: symbols.Inline = True,
    no_symbols: symbols.NoSymbols = False,
    max_unpacked: MaxUnpacked = None,
    quiet: Quiet = False,
    help_all: HelpAll = False,
) -> None:
    """Show what is in a recording: events, samples, threads, time span, records, losses, deferred and copied stacks.

    Which share of frames has a name is looked up with --symbols, or when an option says where names are.
    """
    names = gather(SymbolFlags, locals())
    from perf2x import pipeline
    from perf2x.cli.info_report import info_report

    recordings([source])
    looked_up = names.options() if with_symbols or replace(names, max_unpacked=None) != SymbolFlags() else None
    options = pipeline.LoadOptions(symbols=looked_up, stacks=looked_up is not None, max_unpacked=names.unpacked())
    with console.progress(quiet) as progress:
        loaded = pipeline.load(source, options, progress)
    show(info_report(loaded), "json" if as_json else format)
    if not loaded.samples:
        _tell_empty(loaded, quiet)


def _tell_empty(loaded: "Loaded", quiet: bool) -> None:
    """The reason on standard error; exit code 1 where damage keeps the samples from being read."""
    from perf2x.emptiness import damage, reason

    counts = loaded.diagnostics.counts
    damaged = bool(damage(counts))
    if damaged or not quiet:
        source = loaded.recording.session.source
        console.note(f"perf2x: {source}: no samples: {reason([loaded.recording], counts)}")
    if damaged:
        raise typer.Exit(CANNOT)
