"""A feature: its settings, and the steps that it takes between stitched samples and a finished profile.

::

    class Idle(FeatureSettings, frozen=True):
        skip_idle: Annotated[bool, Setting("Leave out samples of an idle machine.", asks="records")] = False

    def _skip(loaded: "Loaded", run: "SessionRun") -> "Loaded":
        ...

    FEATURE = Feature({Place.RUNNING: _skip}, Idle)

An entry point of the group ``perf2x.steps`` names it. A step leaves what was loaded as it is where its settings do not
ask for it, and imports what it needs when it has something to do: a command imports every feature.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, auto
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import field
from msgspec.structs import replace

from perf2x.base.frozen import Frozen
from perf2x.base.installed_packages import available
from perf2x.model.setting import FeatureSettings

if TYPE_CHECKING:
    from perf2x.kernel.load_options import LoadContext, LoadOptions
    from perf2x.kernel.load_result import Loaded
    from perf2x.kernel.open_sessions import SessionInput
    from perf2x.model.filters.applied_filters import AppliedFilters
    from perf2x.model.profile import Profile
    from perf2x.model.recording import Recording
    from perf2x.symbolizer.known.place_names import LocationNames
    from perf2x.symbolizer.symbol_options import SymbolOptions

_STEPS = "perf2x.steps"


class Place(IntEnum):
    """Places of steps: those that look at the times of samples come first, then names, then groups."""

    STITCHED = auto()
    """Samples are as they were stitched."""
    SWITCHES = auto()
    """Context switches of a timeline are completed."""
    FIELDS = auto()
    """Samples of a timeline get further columns."""
    WAITS = auto()
    """Samples of a timeline get others beside them."""
    RUNNING = auto()
    """Samples of a timeline are looked at together with the threads that ran."""
    SUMMED = auto()
    """Times that nobody wants any more go, and equal samples become one."""
    EVENTS = auto()
    """Events are chosen."""
    JOINED = auto()
    """Events that are one are joined."""
    SYMBOLIZED = auto()
    """Samples are chosen by what needs no names; names are looked up."""
    NAMED = auto()
    """Frames are changed by their names."""
    CHOSEN = auto()
    """Samples and frames are chosen by names."""
    HIDDEN = auto()
    """Names are hidden."""
    RECORDED = auto()
    """Samples are read once more, as they were recorded."""
    GROUPED = auto()
    """Samples are grouped."""
    VALUED = auto()
    """Values become others."""
    DESCRIBED = auto()
    """Facts of the recording are added."""


class SessionRun(Frozen):
    """Facts that steps know besides what was loaded."""

    recording: "Recording"
    filters: "AppliedFilters"
    """The user's filters, applied to this recording."""
    context: "LoadContext"
    session: "SessionInput"
    names: "Callable[[Profile, SymbolOptions], LocationNames] | None"
    """The names that the source has."""

    @property
    def options(self) -> "LoadOptions":
        """The options of the load."""
        return self.context.options


Step = Callable[["Loaded", SessionRun], "Loaded"]


class Feature(Frozen):
    """Steps by their places, and the settings that ask for them."""

    steps: Mapping[Place, Step] = field(default_factory=dict)
    settings: type[FeatureSettings] | None = None
    finish: "Callable[[Loaded, LoadContext], Loaded] | None" = None
    """The last step, of all recordings together."""
    check: "Callable[[LoadOptions, Sequence[str]], None] | None" = None
    """Refuses options that do not go together, or files to read; OptionError."""


def with_profile(loaded: "Loaded", profile: "Profile") -> "Loaded":
    """The result with another profile."""
    return replace(loaded, profile=profile)


@cache
def features() -> tuple[Feature, ...]:
    """All installed features, by the names of their entry points."""
    return tuple(point.load() for point in available(_STEPS).values())


def feature_settings() -> tuple[type[FeatureSettings], ...]:
    """The settings of all features."""
    return tuple(one.settings for one in features() if one.settings is not None)


def with_settings(given: tuple[FeatureSettings, ...], values: Mapping[str, Any]) -> tuple[FeatureSettings, ...]:
    """The settings with other values, by the name of the setting; TypeError for names that no feature has."""
    known = {kind: kind() for kind in feature_settings()} | {type(one): one for one in given}
    left = dict(values)
    for kind, one in known.items():
        known[kind] = replace(one, **{name: left.pop(name) for name in kind.__struct_fields__ if name in left})
    if left:
        raise TypeError(f"there is no option {', '.join(left)}")
    return tuple(one for kind, one in known.items() if one != kind())
