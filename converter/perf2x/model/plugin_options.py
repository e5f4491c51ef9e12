"""Declarations of an emitter: its options, the data and features it needs, and the conversion options it supports.

Separate from the registry, so that emitters need not import that; plugins import it from ``perf2x.plugins``.
"""

from typing import ClassVar

from perf2x.base.frozen_struct import Frozen
from perf2x.model.setting import FeatureSettings, Settings, settings_in, settings_of

SAMPLES, FRAMES, STACKS, WAITS, NAMES, INLINE = "samples", "frames", "stacks", "waits", "names", "inline"
TAGS, START_TIME, LISTINGS = "tags", "start_time", "listings"
FINISHED = frozenset({SAMPLES, FRAMES, STACKS, WAITS, NAMES, INLINE})
"""Groups of options that a format supports if it shows a finished profile."""
HONOURABLE = FINISHED | {TAGS, START_TIME, LISTINGS}
"""Groups of options that a format may support."""


class Needs(Frozen):
    """The data that an output format needs, and the groups of options that it supports."""

    timeline: bool = False
    """True: one row per sample, in order of time; False: equal samples summed."""
    times: bool = False
    """Whether it can only show samples with times."""
    columns: frozenset[str] = frozenset()
    """Optional columns of Profile.samples that it uses, and what else it shows.

    ``cpu``, ``cgroup``, ``data_src``, ``fields`` (of tracepoints), ``latency`` (in addition to the values, if
    requested); ``counts``: readings of perf stat; ``events``: events that were not selected, too.
    """
    threads: bool = True
    """Whether it distinguishes threads of the same name."""
    full_names: bool = False
    """Whether it can carry full names in addition to displayed ones (``Profile.full_names``)."""
    features: tuple[FeatureSettings, ...] = ()
    """Features that it needs (``model/format_features.py``): counts of code, listings, single samples, bytes."""
    lines: bool = True
    """Whether it shows anything that needs debug info."""
    honours: frozenset[str] = FINISHED
    """Groups of options that affect the output; kernel/options_for_format.py refuses the options of all other groups.

    ``samples`` (as stitched), ``frames`` (filters of stacks), ``stacks``, ``waits`` (off-CPU time), ``names`` and
    ``inline`` (of a finished profile), ``tags``, ``start_time``, ``listings`` (source lines and instructions).
    """
    why: str = ""
    """The reason why it supports no more, for the error: the end of a sentence about the option."""
    binary: bool = False
    """Whether its output is not text for a terminal."""
    dated: bool = True
    """Whether an output without the time of day lacks something."""
    viewer: str = ""
    """Hint on how to open the file ``{0}``: "open it: speedscope.app"."""

    def of(self, kind: type[Settings]) -> Settings:
        """Return the settings of a feature."""
        return settings_of(self.features, kind)


class Format(Frozen):
    """Base class of formats: fields with a Setting are its options, whose values are checked when it is made.

    A Setting without names has no option of the command line: ``--set`` sets it.
    """

    suffix: ClassVar[str]

    def __post_init__(self) -> None:
        """Raise SettingError with field, value and choices."""
        for name, setting in settings_in(type(self)).items():
            setting.check(getattr(self, name))
