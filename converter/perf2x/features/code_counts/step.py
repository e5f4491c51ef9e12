"""Formats of compilers: a second pass over the samples."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.kernel.feature import Feature, Place, SessionRun, with_profile

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded


def _count_code(loaded: "Loaded", run: SessionRun) -> "Loaded":
    """Count branches and samples of one object's code."""
    wanted = run.options.code
    if wanted is None:
        return loaded
    from perf2x.features.code_counts.count_code import count_code

    code = count_code(loaded.profile, run.recording, run.selection, run.context, wanted)
    return with_profile(loaded, replace(loaded.profile, code=code))


FEATURE = Feature({Place.EVENTS: _count_code})
