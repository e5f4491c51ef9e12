"""Converts recordings to output files, for both the command line and the library."""

from collections.abc import Callable, Iterable, Sequence

from perf2x.base.files.atomic import open_output, wants_gzip
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, Progress
from perf2x.kernel.load_result import Loaded
from perf2x.kernel.options_for_format import options_for_format
from perf2x.kernel.registry import Emitter
from perf2x.kernel.stage_timer import Stages
from perf2x.model.profile import View

OutputSplitter = Callable[[View], Iterable[tuple[str, View]]]
"""Splits the profile of all recordings into output files; yields the name and the profile of each file."""


def convert_recordings(
    outputs: OutputSplitter,
    inputs: Sequence[str],
    format_name: str,
    emitter: Emitter,
    options: LoadOptions,
    *,
    timeline: bool | None = None,
    progress: Progress | None = None,
    stages: Stages | None = None,
    write: Callable[[Emitter, View, str, Sequence[str]], None] | None = None,
) -> tuple[Loaded, list[str]]:
    """Load what the format needs, and write every output file; return the result of the load and the files' names.

    ``timeline`` overrides the format's default, unless it is None. ``write`` is called instead of ``write_file``.
    Raises SettingError for options that the format does not support.
    """
    stages, written = stages or Stages(), []
    loaded = load(inputs, options_for_format(options, format_name, emitter.needs, timeline), progress, stages)
    for output, profile in outputs(loaded.profile):
        with stages.stage("emit"):
            (write or write_file)(emitter, profile, output, inputs)
        written.append(output)
    return loaded, written


def write_file(emitter: Emitter, profile: View, output: str, inputs: Sequence[str]) -> None:
    """Write an output file atomically. Raises OptionError if ``output`` is one of the input files."""
    with open_output(output, inputs=tuple(inputs), compress=wants_gzip(output, emitter.suffix)) as out:
        emitter.emit(profile, out)
