"""Converts recordings to files, for both the command line and the library."""

from collections.abc import Callable, Iterable, Sequence

from perf2x.base.files.atomic import open_output, wants_gzip
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, Progress
from perf2x.kernel.load_result import Loaded
from perf2x.kernel.options_for_format import options_for_format
from perf2x.kernel.registry import Emitter
from perf2x.kernel.stage_timer import Stages
from perf2x.model.profile import View

Outputs = Callable[[View], Iterable[tuple[str, View]]]
"""Splits the whole profile into outputs, each with its name."""


def convert_recordings(
    outputs: Outputs,
    sources: Sequence[str],
    name: str,
    emitter: Emitter,
    options: LoadOptions,
    *,
    timeline: bool | None = None,
    progress: Progress | None = None,
    stages: Stages | None = None,
    write: Callable[[Emitter, View, str, Sequence[str]], None] | None = None,
) -> tuple[Loaded, list[str]]:
    """Load what the format ``name`` needs and pass each output to ``write``; return the result and the output names.

    ``timeline`` is that of ``options_for_format``. Raises SettingError for options that the format does not support.
    """
    stages, targets = stages or Stages(), []
    loaded = load(sources, options_for_format(options, name, emitter.needs, timeline), progress, stages)
    for target, profile in outputs(loaded.profile):
        with stages.stage("emit"):
            (write or write_file)(emitter, profile, target, sources)
        targets.append(target)
    return loaded, targets


def write_file(emitter: Emitter, profile: View, target: str, inputs: Sequence[str]) -> None:
    """Write a file atomically. Raises OptionError if it is one of ``inputs``."""
    with open_output(target, inputs=tuple(inputs), compress=wants_gzip(target, emitter.suffix)) as out:
        emitter.emit(profile, out)
