"""Provides a reader of single samples for formats that write each sample as it was recorded."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile
from perf2x.model.format_features import SingleSampleSettings

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded


def _add_reader(loaded: "Loaded", run: SessionRun) -> "Loaded":
    if loaded.profile.recorded is None:
        return loaded
    from perf2x.features.single_samples.reread_samples import sample_reader

    reader = sample_reader(loaded.profile, run.recording, run.filters, run.context)
    return with_profile(loaded, replace(loaded.profile, single_samples=reader))


FEATURE = Feature({Phase.REREAD: _add_reader}, SingleSampleSettings)
