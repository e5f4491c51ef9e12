"""Declarations of an emitter: its options, the data and features it needs, and the options of a conversion it honours.

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
"""What a format honours that shows a finished profile."""
HONOURABLE = FINISHED | {TAGS, START_TIME, LISTINGS}
"""Groups of options that a format may honour."""


class Needs(Frozen):
    """What an output format is made of, and which options it honours."""

    timeline: bool = False
    """True: one row a sample, in order of time; False: equal samples summed."""
    times: bool = False
    """Whether it can show only samples that have times."""
    columns: frozenset[str] = frozenset()
    """Optional columns of Profile.samples that it takes: ``cpu``, ``cgroup``, ``data_src``, ``fields`` (of
    tracepoints), ``latency`` (beside the values, where it is asked for); ``counts``: it shows what perf stat read;
    ``events``: it shows others beside those that were chosen."""
    threads: bool = True
    """Whether it tells threads of one name apart."""
    full_names: bool = False
    """Whether it has a place for full names beside the displayed ones (``Profile.full_names``)."""
    features: tuple[FeatureSettings, ...] = ()
    """Features that it is made of (``model/format_features.py``): counts of code, listings, single samples, bytes."""
    lines: bool = True
    """Whether it shows anything that only debug info tells."""
    honours: frozenset[str] = FINISHED
    """Groups of options that show in the output; kernel/options_for_format.py has their options, and refuses others.

    ``samples`` (as stitched), ``frames`` (filters of stacks), ``stacks``, ``waits`` (off-CPU time), ``names`` and
    ``inline`` (of a finished profile), ``tags``, ``start_time``, ``listings`` (source lines and instructions).
    """
    why: str = ""
    """Why it honours no more, for the error: the end of a sentence about the option."""
    binary: bool = False
    """Whether its bytes are not for a terminal."""
    viewer: str = ""
    """What to do with the file ``{0}``: "open it: speedscope.app"."""

    def of(self, kind: type[Settings]) -> Settings:
        """The settings of a feature."""
        return settings_of(self.features, kind)


def option(default: Any, sentence: str, choices: Iterable[str] = (), least: int = 0, flag: str | None = None) -> Any:
    """Declare a dataclass field with a sentence of help; `Format` refuses values outside ``choices``.

    Who makes the format by its name refuses numbers below ``least``. With a ``flag`` the field has an option of the
    command line in place of ``--set``: called so, or as the field, with a letter (``-F``) or without (empty).
    """
    metadata = {"help": sentence, "choices": tuple(choices), "least": least, "flag": flag}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass_transform(frozen_default=True)
class Format:
    """The base of a format: a frozen dataclass, whose options refuse values outside their choices."""

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
