"""``--start-time``: the time of day of a recording that does not tell."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec.structs import replace

from perf2x.model.plugin_options import START_TIME
from perf2x.model.setting import FeatureSettings, Setting
from perf2x.pipeline.feature import Feature, Place, SessionRun, with_profile

if TYPE_CHECKING:
    from perf2x.pipeline.load_result import Loaded


def _parse(_: str, text: str) -> int | Literal["file"]:
    from perf2x.transforms.start_time import parse_start_time

    return parse_start_time(text)


class _StartTime(FeatureSettings, frozen=True):
    """The start of a recording that does not tell it."""

    PANEL: ClassVar[str] = "Output"

    start_time: Annotated[
        int | Literal["file"] | None,
        Setting(
            "Time of day of the first sample, if it was not recorded: 2026-11-21T10:00:05Z, seconds since the epoch, "
            "or file for its date.",
            metavar="TIME|file",
            rare=True,
            group=START_TIME,
            read=_parse,
        ),
    ] = None
    """Nanoseconds since the epoch; ``file``: the date of the recording's files, less its duration."""


def _set_start_time(loaded: "Loaded", run: SessionRun) -> "Loaded":
    wanted = run.options.of(_StartTime).start_time
    if wanted is None:
        return loaded
    from perf2x.transforms.start_time import with_start_time

    meta = with_start_time(loaded.profile.meta, run.recording.session, wanted, run.session.files)
    return with_profile(loaded, replace(loaded.profile, meta=meta))


FEATURE = Feature({Place.DESCRIBED: _set_start_time}, _StartTime)
