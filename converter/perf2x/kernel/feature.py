"""A feature: its settings, and its steps between stitched samples and the finished profile.

::

    class Idle(FeatureSettings):
        skip_idle: Annotated[bool, Setting("Leave out samples of an idle machine.", asks="records")] = False

    def _skip(loaded: "Loaded", run: "SessionRun") -> "Loaded":
        ...

    FEATURE = Feature({Place.RUNNING: _skip}, Idle)

An entry point of the group ``perf2x.steps`` names it. A step returns its input unchanged unless its settings
request something, and imports modules only when it has work to do, because every command imports every feature.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, auto
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import field
from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.base.installed_packages import available
from perf2x.model.setting import FeatureSettings

if TYPE_CHECKING:
    from perf2x.kernel.load_options import LoadContext, LoadOptions
    from perf2x.kernel.load_result import Loaded
    from perf2x.kernel.open_sessions import SessionInput
    from perf2x.model.filters.applied_filters import AppliedFilters
    from perf2x.model.profile import Profile
    from perf2x.model.recording import Recording
    from perf2x.symbolizer.known.location_names import LocationNames
    from perf2x.symbolizer.symbol_options import SymbolOptions

_STEPS = "perf2x.steps"


class Place(IntEnum):
    """Points of the pipeline at which steps run: first those that need times of samples, then names, then groups."""

    STITCHED = auto()
    """Samples are stitched and otherwise unchanged."""
    SWITCHES = auto()
    """Context switches of a timeline are completed."""
    FIELDS = auto()
    """Samples of a timeline get further columns."""
    WAITS = auto()
    """Samples of a timeline get waits added."""
    RUNNING = auto()
    """Samples of a timeline are related to the number of running threads."""
    SUMMED = auto()
    """Times that are no longer needed are dropped, and equal samples summed."""
    EVENTS = auto()
    """Events are filtered."""
    JOINED = auto()
    """Parts of one event are merged."""
    SYMBOLIZED = auto()
    """Filters that need no names are applied; then addresses are symbolized."""
    NAMED = auto()
    """Frames are changed by name."""
    CHOSEN = auto()
    """Samples and frames are filtered by name."""
    HIDDEN = auto()
    """Names are hidden."""
    RECORDED = auto()
    """Single samples are read again, as recorded."""
    GROUPED = auto()
    """Samples are grouped."""
    VALUED = auto()
    """Values are replaced."""
    DESCRIBED = auto()
    """Facts about the recording are added."""


class SessionRun(Frozen):
    """Input of steps besides the loaded result."""

    recording: "Recording"
    filters: "AppliedFilters"
    """The user's filters, applied to this recording."""
    context: "LoadContext"
    session: "SessionInput"
    names: "Callable[[Profile, SymbolOptions], LocationNames] | None"
    """Names that come from the source itself."""

    @property
    def options(self) -> "LoadOptions":
        """The options of the load."""
        return self.context.options


Step = Callable[["Loaded", SessionRun], "Loaded"]


class Feature(Frozen):
    """A feature's settings, and its steps by place."""

    steps: Mapping[Place, Step] = field(default_factory=dict)
    settings: type[FeatureSettings] | None = None
    finish: "Callable[[Loaded, LoadContext], Loaded] | None" = None
    """The last step, for all recordings together."""
    check: "Callable[[LoadOptions, Sequence[str]], None] | None" = None
    """Refuses incompatible options or files by raising OptionError."""


def with_profile(loaded: "Loaded", profile: "Profile") -> "Loaded":
    """Return the result with another profile."""
    return replace(loaded, profile=profile)


@cache
def features() -> tuple[Feature, ...]:
    """Return all installed features, in the order of their entry points."""
    return tuple(point.load() for point in available(_STEPS).values())


def feature_settings() -> tuple[type[FeatureSettings], ...]:
    """Return the settings classes of all features."""
    return tuple(one.settings for one in features() if one.settings is not None)


def with_settings(given: tuple[FeatureSettings, ...], values: Mapping[str, Any]) -> tuple[FeatureSettings, ...]:
    """Return settings with some values replaced, by setting name. Raises TypeError for unknown names."""
    known = {kind: kind() for kind in feature_settings()} | {type(one): one for one in given}
    left = dict(values)
    for kind, one in known.items():
        known[kind] = replace(one, **{name: left.pop(name) for name in kind.__struct_fields__ if name in left})
    if left:
        raise TypeError(f"there is no option {', '.join(left)}")
    return tuple(one for kind, one in known.items() if one != kind())
