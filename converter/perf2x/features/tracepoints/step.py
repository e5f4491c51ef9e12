"""Adds to timelines what tracepoints recorded: context switches, and the fields of samples."""

from typing import TYPE_CHECKING

from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded


def _add_switches(loaded: "Loaded", run: SessionRun) -> "Loaded":
    profile = loaded.profile
    if not run.options.timeline or not any(event.name.startswith("sched:") for event in profile.events):
        return loaded
    from perf2x.features.tracepoints.traced_switches import with_traced_switches

    return with_profile(loaded, with_traced_switches(profile, run.recording))


def _add_fields(loaded: "Loaded", run: SessionRun) -> "Loaded":
    if loaded.profile.samples.position is None:  # positions are kept only for formats that requested fields
        return loaded
    from perf2x.features.tracepoints.decode_fields import with_fields

    return with_profile(loaded, with_fields(loaded.profile, run.recording))


FEATURE = Feature({Phase.SWITCHES: _add_switches, Phase.FIELDS: _add_fields})
