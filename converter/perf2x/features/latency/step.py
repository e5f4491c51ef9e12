"""``--value latency`` and ``--parallelism``: divide values, or select samples, by the number of running threads."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec.structs import replace

from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile
from perf2x.model.filters.filter_options import SAMPLES_PANEL
from perf2x.model.plugin_options import STACKS
from perf2x.model.setting import FeatureSettings, Setting

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded
    from perf2x.model.profile import Profile


class _Parallelism(FeatureSettings):
    """Options for the number of running threads."""

    NEEDS_TIMES = True

    latency: Annotated[Literal["", "value", "beside"], Setting(group=STACKS, asks="records")] = ""
    """Divide values by the number of running threads: ``value`` replaces the values, ``beside`` adds samples.latency.

    Empty: do neither.
    """
    parallelism: Annotated[
        tuple[int, ...],
        Setting(
            "Taken while this many threads ran; needs context switches.",
            metavar="1-2",
            panel=SAMPLES_PANEL,
            rare=True,
            group=STACKS,
            asks="records",
        ),
    ] = ()
    """Keep samples taken while this many threads ran (running_threads.py); empty: all."""


def _count_running_threads(loaded: "Loaded", run: SessionRun) -> "Loaded":
    settings, pids = run.options.of(_Parallelism), run.options.filters.pids
    profile: Profile = loaded.profile
    if settings != _Parallelism():
        from perf2x.features.latency.divide_values import with_latency

        unmatched = run.filters.unmatched
        profile = with_latency(profile, run.recording, settings.latency, settings.parallelism, pids, unmatched)
    elif run.options.timeline and profile.switches is not None:
        from perf2x.features.latency.running_threads import running_threads

        profile = replace(profile, running=running_threads(profile, run.recording, pids))
    return with_profile(loaded, profile)


def _drop_unused(loaded: "Loaded", run: SessionRun) -> "Loaded":
    if not run.options.of(_Parallelism).parallelism:
        return loaded
    from perf2x.model.transforms.drop_unused import compact

    return with_profile(loaded, compact(loaded.profile))


def _replace_values(loaded: "Loaded", run: SessionRun) -> "Loaded":
    if run.options.of(_Parallelism).latency != "value":
        return loaded
    from perf2x.features.latency.divide_values import latency_as_value

    return with_profile(loaded, latency_as_value(loaded.profile))


FEATURE = Feature(
    {Phase.RUNNING: _count_running_threads, Phase.FILTERED: _drop_unused, Phase.REVALUED: _replace_values}, _Parallelism
)
