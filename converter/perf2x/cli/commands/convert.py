"""``perf2x convert``: writes recordings in an output format, and a short summary on standard error."""

import sys
from time import monotonic
from typing import Annotated

import typer

from perf2x.cli.fail_if import exit_for_failed_gates, failed_gates, refuse_uncheckable_gates, warn_of_losses
from perf2x.cli.format_parameters import typed_format_options
from perf2x.cli.messages import print_message, print_messages
from perf2x.cli.options.format_options import FormatFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.input_options import Inputs, Quiet, Verbose, existing_inputs
from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.parameters import Hidden, Honouring
from perf2x.cli.progress import progress_bar
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.format_features import ListingSettings
from perf2x.model.plugin_options import ALL_GROUPS
from perf2x.model.setting import Setting

ProfileStages = Annotated[bool, Setting("Print on standard error how long each stage took.", rare=True)]


def convert(
    context: typer.Context,
    inputs: Inputs = (),
    *,
    output_flags: OutputFlags,
    load_options: Annotated[LoadOptions, Honouring(*ALL_GROUPS), Hidden(ListingOptions)],
    format_flags: FormatFlags,
    gate_flags: GateFlags,
    profile_stages: ProfileStages = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert a perf.data recording.

    Files of one recording session are stitched together; independent recordings are added up.

    The output goes to the current directory unless -o names a file. The input is never overwritten.

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

    sources = existing_inputs(inputs, suggest_output=output_flags.output is None)
    name = output_flags.format()
    if output_flags.is_default() and not quiet:
        print_message(f"no --to: writing {name} (perf2x formats lists the others)")
    # --event all is an option of loading, and a field of the format
    event_field = {"event": "all"} if load_options.every_event else {}
    emitter = format_flags.build(name, output_flags.set_values(), typed_format_options(context) | event_field)
    needs = emitter.needs
    target = output_flags.output or default_output(sources[0], emitter.suffix)
    if target == STDOUT and sys.stdout.isatty() and needs.binary:
        raise OptionError(f"{name} is binary and standard output is a terminal; choose a file with -o")
    # settings that only the command line has: limits of --fail-if, and --per-event
    check_command_only_settings(
        [*(f"fail_if_{limit}" for limit, _ in gate_flags.fail_if), *["per_event"] * format_flags.per_event], name, needs
    )
    listings = load_options.of(ListingSettings).listings
    options = load_options.with_values(
        listings=listings and listings.on_page(),
        **output_flags.load_option_fields(len(sources)),
        **format_flags.load_option_fields(needs),
    )
    refuse_uncheckable_gates(gate_flags, options.symbols is not None)
    started, stages = monotonic(), Stages()
    with progress_bar(quiet) as progress:
        loaded, files = convert_recordings(
            # the name and the profile of each file to write
            lambda profile: format_flags.outputs(profile, target, emitter.suffix),
            sources,
            name,
            emitter,
            options,
            progress=progress,
            stages=stages,
        )
    print_messages(stages.lines(), not profile_stages)
    failed = list(failed_gates(gate_flags, loaded))
    if gate_flags.stats:
        from perf2x.cli.render.stats_json import stats_of, write_stats

        write_seconds = stages.wall.get("emit", 0.0)
        seconds = {"read": monotonic() - started - write_seconds, "write": write_seconds}
        write_stats(
            gate_flags.stats, stats_of(loaded, {"format": name, "path": target, "paths": files}, seconds, failed)
        )
    if not quiet and gate_flags.stats != "json":
        from perf2x.cli.render.summary import summary

        written = ["standard output"] if target == STDOUT else files
        remarks = notes(emitter, loaded.profile) if len(files) == 1 else ()
        print_messages(summary(loaded, name, needs, written, remarks, verbose=verbose), quiet)
        warn_of_losses(loaded)
    exit_for_failed_gates(failed)
