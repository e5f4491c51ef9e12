"""``perf2x convert``: one recording in, one file out, at most five lines on standard error."""

import sys
import time
from typing import Annotated

from perf2x.cli import console
from perf2x.cli.common import Inputs, Quiet, Verbose, recordings
from perf2x.cli.filter_flags import FilterFlags, GroupFlags
from perf2x.cli.format_flags import FormatFlags
from perf2x.cli.gates import GateFlags, leave_closed, warn_of_losses
from perf2x.cli.loading import load_options
from perf2x.cli.output_flags import OutputFlags, compress
from perf2x.cli.parameters import Option
from perf2x.cli.stitch_flags import StitchFlags
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.model.errors import OptionError

Tag = Annotated[
    list[str] | None,
    Option(
        metavar="KEY=VALUE",
        help="pprof: a label of all inputs, or, given for each input, of one.",
        panel="Output",
    ),
]
Stats = Annotated[
    str | None,
    Option(metavar="json|FILE.json", help="Quality as JSON: on standard error, or in a file.", panel="For CI"),
]
ProfileStages = Annotated[bool, Option("--profile-stages", help="Say on standard error how long each stage took.")]


def convert(
    inputs: Inputs = None,
    *,
    written: OutputFlags,
    chosen: FilterFlags,
    groups: GroupFlags,
    formatting: FormatFlags,
    stitching: StitchFlags,
    names: SymbolFlags,
    tag: Tag = None,
    gates: GateFlags,
    stats: Stats = None,
    profile_stages: ProfileStages = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert a perf.data recording.

    Files of one recording session are stitched together, independent recordings are added up.

    Writes beside where you stand unless -o says otherwise; never overwrites its input.
    """
    from perf2x import pipeline, plugins
    from perf2x.cli.output import STANDARD, writing
    from perf2x.cli.summary import summary
    from perf2x.model.stages import Stages

    sources = recordings(inputs)
    name = written.format()
    emitter = plugins.build_emitter(name, formatting.chosen() | _settings(name, written, chosen, groups))
    target = written.target(sources[0], emitter.suffix)
    _refuse_terminal(target, name)
    columns = plugins.wanted_columns(emitter)
    options = load_options(
        chosen,
        groups,
        stitching,
        names,
        timeline=emitter.timeline,
        columns=columns,
        tags=_tags(tag, len(sources), name, columns),
    )
    gates.check(options.symbols is not None)
    if stats:
        from perf2x.cli.stats import check_stats

        check_stats(stats)
    started, stages = time.monotonic(), Stages()
    with console.progress(quiet) as progress:
        loaded = pipeline.load(sources, options, progress, stages)
        read = time.monotonic()
        outputs = dict(formatting.outputs(loaded.profile, target, emitter.suffix))
        for file, part in outputs.items():
            with writing(file, inputs=sources, compress=compress(file, emitter.suffix)) as out, stages.stage("emit"):
                emitter.emit(part, out)
    for line in stages.lines() if profile_stages else ():
        console.note(line)
    closed = list(gates.closed(loaded))
    if stats:
        from perf2x.cli.stats import stats_of, write_stats

        seconds = {"read": read - started, "write": time.monotonic() - read}
        write_stats(stats, stats_of(loaded, {"format": name, "path": target}, seconds, closed))
    if not quiet and stats != "json":
        where = ["standard output"] if target == STANDARD else list(outputs)
        notes = plugins.notes(emitter, loaded.profile) if len(where) == 1 else ()
        for line in summary(loaded, name, where, notes, verbose=verbose):
            console.note(line)
        warn_of_losses(loaded)
    leave_closed(closed)


def _tags(said: list[str] | None, inputs: int, name: str, columns: frozenset[str]) -> tuple[dict[str, str], ...]:
    if not said:
        return ()
    if "tags" not in columns:
        raise OptionError(f"{name} has no labels, so it cannot keep --tag; pprof can")
    from perf2x.merging import tags_of_inputs

    return tuple(tags_of_inputs(said, inputs))


def _refuse_terminal(target: str, name: str) -> None:
    if target == "-" and sys.stdout.isatty() and name == "pprof":
        raise OptionError("pprof is binary and standard output is a terminal; name a file with -o")


def _settings(name: str, written: OutputFlags, chosen: FilterFlags, groups: GroupFlags) -> dict[str, object]:
    """Options of the output format; collapsed has a root of its own, which another one replaces."""
    own_root = False if name == "collapsed" and groups.root else None
    return written.chosen(event="all" if chosen.all_events() else None, root=own_root)
