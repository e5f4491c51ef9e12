"""``--off-cpu``: time that threads waited."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec.structs import replace

from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile
from perf2x.model.plugin_options import WAITS
from perf2x.model.setting import FeatureSettings, Setting

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded


class _OffCpu(FeatureSettings):
    """The setting of ``--off-cpu``."""

    PANEL = "Grouping"
    NEEDS_TIMES = True
    LATE_TIMES = True

    off_cpu: Annotated[
        Literal["", "apart", "beside", "merged"],
        Setting(
            "Show the time that threads waited: alone, as another event, or added to the clock event.",
            group=WAITS,
            asks="records",
        ),
    ] = ""
    """Show the time that threads waited: alone, as another event, or added to the clock event; empty: not at all."""


def _add_waits(loaded: "Loaded", run: SessionRun) -> "Loaded":
    mode = run.options.of(_OffCpu).off_cpu
    if not mode:
        return loaded
    from perf2x.features.off_cpu.measure_waits import off_cpu
    from perf2x.model.value_limits import check_total

    profile, report = off_cpu(loaded.profile, run.recording, mode, run.context.diagnostics, run.filters.sample_filter)
    check_total(run.recording.session.source, profile.samples.value)
    return replace(loaded, profile=profile, reports=(*loaded.reports, report))


def _hide_scheduler(loaded: "Loaded", run: SessionRun) -> "Loaded":
    if not run.options.of(_OffCpu).off_cpu:
        return loaded
    from perf2x.features.off_cpu.wait_stacks import without_scheduler_frames

    return with_profile(loaded, without_scheduler_frames(loaded.profile))


FEATURE = Feature({Phase.WAITS: _add_waits, Phase.NAMED: _hide_scheduler}, _OffCpu)
