"""Formats that write each sample as it was recorded."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.kernel.feature import Feature, Place, SessionRun, with_profile

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded


def _read_again(loaded: "Loaded", run: SessionRun) -> "Loaded":
    """Add what reads the samples once more, as they were recorded."""
    if loaded.profile.recorded is None:
        return loaded
    from perf2x.features.single_samples.read_again import sample_reader

    reader = sample_reader(loaded.profile, run.recording, run.selection, run.context)
    return with_profile(loaded, replace(loaded.profile, single_samples=reader))


FEATURE = Feature({Place.RECORDED: _read_again})
