"""``perf2x convert``: one recording in, one file out, at most five lines on standard error."""

import sys
from typing import Annotated

import typer

from perf2x.cli import console
from perf2x.cli.common import Inputs, Quiet, Verbose
from perf2x.cli.output_flags import OutputFlags, compress
from perf2x.cli.stitch_flags import StitchFlags
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.model.errors import OptionError

Event = Annotated[
    str | None, typer.Option("--event", "-e", metavar="NAME", help="Only this event; collapsed also takes 'all'.")
]


def convert(
    inputs: Inputs = None,
    *,
    written: OutputFlags,
    event: Event = None,
    stitching: StitchFlags,
    names: SymbolFlags,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert a perf.data recording.

    Writes beside where you stand unless -o says otherwise; never overwrites its input.
    """
    from perf2x import pipeline, plugins
    from perf2x.callgraphs import CallGraphOptions
    from perf2x.cli.output import STANDARD, writing
    from perf2x.cli.summary import summary

    sources = tuple(inputs or ["perf.data"])
    name = written.format()
    emitter = plugins.build_emitter(name, written.chosen(event=_all(event)))
    stitching.check()
    target = written.target(sources[0], emitter.suffix)
    _refuse_terminal(target, name)
    options = pipeline.LoadOptions(
        timeline=emitter.timeline,
        deferred_missing=stitching.deferred_missing,
        call_graphs=CallGraphOptions(stitch_lbr=stitching.stitch_lbr),
        merge_callchains=stitching.merge_callchains,
        events=() if event in (None, "all") else (str(event),),
        symbols=names.options(),
    )
    with console.progress(quiet) as progress:
        loaded = pipeline.load(sources, options, progress)
        profile = loaded.profile
        with writing(target, inputs=sources, compress=compress(target, emitter.suffix)) as out:
            emitter.emit(profile, out)
    if not quiet:
        where = "standard output" if target == STANDARD else target
        for line in summary(loaded, name, where, plugins.notes(emitter, profile), verbose=verbose):
            console.note(line)


def _refuse_terminal(target: str, name: str) -> None:
    if target == "-" and sys.stdout.isatty() and name == "pprof":
        raise OptionError("pprof is binary and standard output is a terminal; name a file with -o")


def _all(event: str | None) -> str | None:
    """``all`` goes to the output format, which may be able to count all events; names choose samples before that."""
    return event if event == "all" else None
