"""Declarations of an emitter: its options, the data and features it needs, and the conversion options it supports.

They are separate from the registry, so that emitters need not import it; plugins import them from ``perf2x.plugins``.
"""

from typing import ClassVar

from perf2x.base.frozen_struct import Frozen
from perf2x.model.setting import FeatureSettings, Settings, settings_in, settings_of

SAMPLES, FRAMES, STACKS, WAITS, NAMES, INLINE = "samples", "frames", "stacks", "waits", "names", "inline"
TAGS, START_TIME, LISTINGS = "tags", "start_time", "listings"
FINISHED = frozenset({SAMPLES, FRAMES, STACKS, WAITS, NAMES, INLINE})
"""Groups of options that every format supports that shows a finished profile."""
HONOURABLE = FINISHED | {TAGS, START_TIME, LISTINGS}
"""Groups of options that a format may support."""


class Needs(Frozen):
    """The data that an output format needs, and the groups of options that it supports."""

    timeline: bool = False
    """True: one row per sample, in time order; False: equal samples are summed."""
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
    """Why it supports no more, for the error message: the end of a sentence about the option."""
    binary: bool = False
    """Whether its output is not text for a terminal."""
    dated: bool = True
    """Whether an output without the time of day is incomplete."""
    viewer: str = ""
    """A hint on how to open the file ``{0}``: "open it: speedscope.app"."""

    def of(self, kind: type[Settings]) -> Settings:
        """Return the settings of a feature."""
        return settings_of(self.features, kind)


class Format(Frozen):
    """Base class of formats: fields with a Setting are its options, whose values are checked on creation.

    A Setting without names has no option on the command line: ``--set`` sets it.
    """

    suffix: ClassVar[str]

    def __post_init__(self) -> None:
        """Raise SettingError with field, value and choices."""
        for name, setting in settings_in(type(self)).items():
            setting.check(getattr(self, name))
