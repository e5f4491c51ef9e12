"""Declarations of an emitter: its options, the data and features it needs, and the conversion options it supports.

Separate from the registry, so that emitters need not import that; plugins import it from ``perf2x.plugins``.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any, ClassVar, dataclass_transform

from perf2x.base.frozen import Frozen
from perf2x.errors import SettingError
from perf2x.model.setting import FeatureSettings, Settings, settings_of

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
    viewer: str = ""
    """Hint on how to open the file ``{0}``: "open it: speedscope.app"."""

    def of(self, kind: type[Settings]) -> Settings:
        """Return the settings of a feature."""
        return settings_of(self.features, kind)


def option(default: Any, sentence: str, choices: Iterable[str] = (), least: int = 0, flag: str | None = None) -> Any:
    """Declare a dataclass field with a sentence of help; `Format` refuses values outside ``choices``.

    Numbers below ``least`` are refused when the format is made by name. With a ``flag`` the field is an option of the
    command line instead of a ``--set`` key: with this name, or with the field's name and a letter (``-F``) or none
    (empty).
    """
    metadata = {"help": sentence, "choices": tuple(choices), "least": least, "flag": flag}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass_transform(frozen_default=True)
class Format:
    """Base class of formats: a frozen dataclass whose options refuse values outside their choices."""

    suffix: ClassVar[str]

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        """Raise SettingError with field, value and choices."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            choices = field.metadata.get("choices", ())
            value = getattr(self, field.name)
            for entry in value if isinstance(value, tuple) else (value,):
                if choices and entry is not None and entry not in choices:
                    raise SettingError("", field.name, f"={entry}: choose from {', '.join(choices)}")
