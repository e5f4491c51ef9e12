"""An output format's declarations: its options, the data and features it needs, and other options it supports."""

from typing import ClassVar

from perf2x.base.frozen_struct import Frozen
from perf2x.model.setting import FeatureSettings, Settings, settings_in, settings_of

SAMPLES, FRAMES, STACKS, WAITS, NAMES, INLINE = "samples", "frames", "stacks", "waits", "names", "inline"
TAGS, START_TIME, LISTINGS = "tags", "start_time", "listings"
# Groups of options that any format supports, because their effect is complete in the finished profile.
FINISHED = frozenset({SAMPLES, FRAMES, STACKS, WAITS, NAMES, INLINE})
ALL_GROUPS = FINISHED | {TAGS, START_TIME, LISTINGS}


class Needs(Frozen):
    """The data that an output format needs, and the groups of options that it supports."""

    timeline: bool = False
    """True: the format gets a row for each sample, in time order; False: equal samples are summed."""
    times: bool = False
    """Whether the format cannot show samples without times."""
    columns: frozenset[str] = frozenset()
    """Optional columns of Profile.samples that the format uses, and optional kinds of samples.

    Columns: ``cpu``, ``cgroup``, ``data_src``, ``fields`` (of tracepoints), ``latency`` (if the user requests latency,
    the format shows it in addition to the values). Samples: ``counts``, readings of perf stat; ``events``, samples of
    events that the user did not select.
    """
    threads: bool = True
    """Whether the format distinguishes threads of the same name."""
    full_names: bool = False
    """Whether the format can contain full names in addition to display names (``Profile.full_names``)."""
    features: tuple[FeatureSettings, ...] = ()
    """Settings of the features that the format needs (``model/format_features.py``)."""
    lines: bool = True
    """Whether the format shows source lines or inlined functions, which need debug info."""
    honours: frozenset[str] = FINISHED
    """Groups of options that affect the output; kernel/options_for_format.py refuses the options of all other groups.

    ``samples`` (which samples to convert), ``frames`` (which frames or functions they must have), ``stacks`` (which
    frames to show), ``waits`` (off-CPU time), ``names`` (how to write names), ``inline`` (inlined functions), ``tags``,
    ``start_time``, ``listings`` (source lines and instructions).
    """
    why: str = ""
    """Why options are refused; the error message about a refused option ends with it."""
    binary: bool = False
    """Whether the output is not text for a terminal."""
    dated: bool = True
    """Whether the output should have the time of day, so that advice is given if the recording lacks it."""
    viewer: str = ""
    """A hint on how to open the output file, whose name replaces ``{0}``: "open it: speedscope.app"."""

    def of(self, kind: type[Settings]) -> Settings:
        """Return the requested settings of this type."""
        return settings_of(self.features, kind)


class Format(Frozen):
    """Base class of output formats: fields with a Setting are options, whose values are checked on creation.

    A Setting without names has no option of its own on the command line: ``--set`` sets it.
    """

    suffix: ClassVar[str]

    def __post_init__(self) -> None:
        """Raise SettingError with field, value and choices."""
        for name, setting in settings_in(type(self)).items():
            setting.check(getattr(self, name))
