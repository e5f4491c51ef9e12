"""Counts branches and samples in one object's code, for formats that compilers read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.errors import SettingError
from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile
from perf2x.model.format_features import CodeSettings
from perf2x.model.plugin_options import Needs

if TYPE_CHECKING:
    from perf2x.kernel.load_options import LoadOptions
    from perf2x.kernel.load_result import Loaded


def _count_code(loaded: "Loaded", run: SessionRun) -> "Loaded":
    settings = run.options.of(CodeSettings).code
    if settings is None:
        return loaded
    from perf2x.features.code_counts.count_code import count_code

    code = count_code(loaded.profile, run.recording, run.filters, run.context, settings)
    return with_profile(loaded, replace(loaded.profile, code=code))


def _check(options: "LoadOptions", files: Sequence[str]) -> None:
    """Refuse options that only affect stacks, and counts by line without symbols."""
    code = options.of(CodeSettings).code
    if code is not None:
        from perf2x.kernel.options_for_format import refuse_unsupported
        from perf2x.model.profile import COUNTS_NOT_STACKS

        refuse_unsupported(options, "code", Needs(honours=frozenset(), why=COUNTS_NOT_STACKS))
        if code.by_line and options.symbols is None:
            raise SettingError("functions are counted by the names that ", "symbols", " leaves out")


FEATURE = Feature({Phase.EVENTS: _count_code}, CodeSettings, check=_check)
