"""``perf2x convert``: one recording in, one file out, at most five lines on standard error."""

import sys

from perf2x.cli import console
from perf2x.cli.common import Inputs, Quiet, Verbose
from perf2x.cli.filter_flags import FilterFlags, GroupFlags
from perf2x.cli.output_flags import OutputFlags, compress
from perf2x.cli.stitch_flags import StitchFlags
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.model.errors import OptionError


def convert(
    inputs: Inputs = None,
    *,
    written: OutputFlags,
    chosen: FilterFlags,
    groups: GroupFlags,
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
    emitter = plugins.build_emitter(name, _settings(name, written, chosen, groups))
    stitching.check()
    target = written.target(sources[0], emitter.suffix)
    _refuse_terminal(target, name)
    options = pipeline.LoadOptions(
        timeline=emitter.timeline,
        deferred_missing=stitching.deferred_missing,
        call_graphs=CallGraphOptions(stitch_lbr=stitching.stitch_lbr),
        merge_callchains=stitching.merge_callchains,
        events=chosen.events(),
        choice=chosen.choice(),
        grouping=groups.grouping(),
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


def _settings(name: str, written: OutputFlags, chosen: FilterFlags, groups: GroupFlags) -> dict[str, object]:
    """Options of the output format; collapsed has a root of its own, which another one replaces."""
    own_root = False if name == "collapsed" and groups.root else None
    return written.chosen(event="all" if chosen.all_events() else None, root=own_root)
