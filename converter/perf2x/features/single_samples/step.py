"""Gives formats that write each sample as it was recorded a reader of single samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.errors import SettingError
from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile
from perf2x.model.format_features import SingleSampleSettings

if TYPE_CHECKING:
    from perf2x.kernel.load_options import LoadOptions
    from perf2x.kernel.load_result import Loaded


def _add_reader(loaded: "Loaded", run: SessionRun) -> "Loaded":
    """Add the reader of single samples."""
    if loaded.profile.recorded is None:
        return loaded
    from perf2x.features.single_samples.reread_samples import sample_reader

    reader = sample_reader(loaded.profile, run.recording, run.filters, run.context)
    return with_profile(loaded, replace(loaded.profile, single_samples=reader))


def _check(options: "LoadOptions", files: Sequence[str]) -> None:
    """Refuse ``--no-merge-callchains``: the stacks of single samples are always joined."""
    if options.as_recorded and not options.merge_callchains:
        raise SettingError("samples as they were recorded cannot take ", "merge_callchains", ": chains are joined")


FEATURE = Feature({Phase.REREAD: _add_reader}, SingleSampleSettings, check=_check)
