"""``perf2x script``: the samples of a recording as ``perf script`` prints them, on standard output."""

from typing import Annotated

from perf2x.cli.messages import print_messages
from perf2x.cli.options.input_options import Inputs, Quiet, existing_inputs
from perf2x.cli.parameters import Honouring
from perf2x.cli.progress import load_with_progress
from perf2x.emitters.perf_script.perf_script import PerfScript
from perf2x.kernel.load_options import LoadOptions


def script(
    inputs: Inputs = (),
    *,
    emitter: PerfScript,
    load_options: Annotated[LoadOptions, Honouring(*PerfScript().needs.honours)],
    quiet: Quiet = False,
) -> None:
    """Print the samples of a recording as perf script does, in order of time.

    For flamegraph.pl, inferno, Firefox Profiler, llvm-profgen and other readers of perf script's text.

    ::

        perf2x script perf.data | stackcollapse-perf.pl | flamegraph.pl > flame.svg
        perf2x script perf.data -F +pid,-cpu --comm myserver
        perf2x script perf.data -F ip,brstack > lbr.txt
    """
    from perf2x.base.files.atomic import STDOUT, open_output
    from perf2x.cli.render.summary import quality_lines
    from perf2x.kernel.options_for_format import options_for_format

    sources = existing_inputs(inputs)
    options = options_for_format(load_options, "perf-script", emitter.needs)
    loaded = load_with_progress(sources, options, quiet)
    with open_output(STDOUT, inputs=sources) as out:
        emitter.emit(loaded.profile, out)
    print_messages(quality_lines(loaded), quiet)
