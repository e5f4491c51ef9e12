"""``perf2x convert``: converts recordings to one file, with a short summary on standard error."""

import sys
from time import monotonic
from typing import Annotated

import typer

from perf2x.cli.fail_if import check_gates, exit_for_failed_gates, failed_gates, warn_of_losses
from perf2x.cli.format_parameters import typed_format_options
from perf2x.cli.messages import print_message, print_messages
from perf2x.cli.options.format_options import FormatFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.input_options import Inputs, Quiet, Verbose, recordings
from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.parameters import Hidden, Honouring
from perf2x.cli.progress import progress_bar
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.format_features import ListingSettings
from perf2x.model.plugin_options import HONOURABLE
from perf2x.model.setting import Setting

ProfileStages = Annotated[bool, Setting("Print on standard error how long each stage took.", rare=True)]


def convert(
    context: typer.Context,
    inputs: Inputs = (),
    *,
    written: OutputFlags,
    request: Annotated[LoadOptions, Honouring(*HONOURABLE), Hidden(ListingOptions)],
    formatting: FormatFlags,
    gates: GateFlags,
    profile_stages: ProfileStages = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert a perf.data recording.

    Files of one recording session are stitched together, independent recordings are added up.

    Writes to the current directory unless -o names another place; never overwrites its input.

    ::

        perf2x convert perf.data -o profile.pb.gz
        perf2x convert perf.data -t html --comm myserver --time 10%-20%
        perf2x convert perf.data -t collapsed -o - | flamegraph.pl > flame.svg
    """
    from perf2x.base.files.atomic import STDOUT, default_output
    from perf2x.kernel.conversion import convert_recordings
    from perf2x.kernel.options_for_format import check_command_only_settings
    from perf2x.kernel.registry import notes
    from perf2x.kernel.stage_timer import Stages

    sources = recordings(inputs, writes=written.output is None)
    name = written.format()
    if written.is_default() and not quiet:
        print_message(f"no --to: writing {name} (perf2x formats lists the others)")
    more = {"event": "all"} if request.every_event else {}
    emitter = formatting.build(name, written.format_settings(), typed_format_options(context) | more)
    needs = emitter.needs
    target = written.output or default_output(sources[0], emitter.suffix)
    if target == STDOUT and sys.stdout.isatty() and needs.binary:
        raise OptionError(f"{name} is binary and standard output is a terminal; choose a file with -o")
    check_command_only_settings(
        [*(f"fail_if_{limit}" for limit, _ in gates.fail_if), *["per_event"] * formatting.per_event], name, needs
    )
    listings = request.of(ListingSettings).listings
    options = request.but(
        listings=listings and listings.on_page(),
        **written.part_of(len(sources)),
        **formatting.part_for(needs),
    )
    check_gates(gates, options.symbols is not None)
    started, stages = monotonic(), Stages()
    with progress_bar(quiet) as progress:
        loaded, files = convert_recordings(
            lambda whole: formatting.outputs(whole, target, emitter.suffix),
            sources,
            name,
            emitter,
            options,
            progress=progress,
            stages=stages,
        )
    print_messages(stages.lines(), not profile_stages)
    failed = list(failed_gates(gates, loaded))
    if gates.stats:
        from perf2x.cli.render.stats_json import stats_of, write_stats

        write = stages.wall.get("emit", 0.0)
        seconds = {"read": monotonic() - started - write, "write": write}
        write_stats(gates.stats, stats_of(loaded, {"format": name, "path": target}, seconds, failed))
    if not quiet and gates.stats != "json":
        from perf2x.cli.render.summary import summary

        shown = ["standard output"] if target == STDOUT else files
        remarks = notes(emitter, loaded.profile) if len(files) == 1 else ()
        print_messages(summary(loaded, name, needs, shown, remarks, verbose=verbose), quiet)
        warn_of_losses(loaded)
    exit_for_failed_gates(failed)
