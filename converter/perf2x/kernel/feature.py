"""A feature: its settings, and its steps between stitched samples and the finished profile.

A feature that leaves out samples, for instance::

    class Idle(FeatureSettings):
        skip_idle: Annotated[bool, Setting("Leave out samples of an idle machine.", asks="records")] = False

    def _skip(loaded: "Loaded", run: "SessionRun") -> "Loaded":
        ...

    FEATURE = Feature({Phase.RUNNING: _skip}, Idle)

An entry point of the group ``perf2x.steps`` names the object ``FEATURE``. A step runs in every load, and returns its
input unchanged unless the feature's settings request work. It imports the modules that do the work only then.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, auto
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import field
from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.base.installed_packages import entry_points_by_name
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

_STEPS = "perf2x.steps"  # group of entry points


class Phase(IntEnum):
    """The phases between stitching and the finished profile, in the order in which they run.

    Steps up to RUNNING get single samples with times, if an option needs times. In each phase, perf2x's own steps
    (session_steps.py) come first.
    """

    STITCHED = auto()  # looks at the samples as the stitcher made them
    SWITCHES = auto()  # completes the context switches of a timeline
    FIELDS = auto()  # adds columns to the samples of a timeline, such as the fields of tracepoints
    WAITS = auto()  # adds the times at which threads waited to a timeline, as samples
    RUNNING = auto()  # filters or divides samples of a timeline by the number of running threads
    SUMMED = auto()  # drops times that are no longer needed, and sums equal samples
    EVENTS = auto()  # filters events
    JOINED = auto()  # merges events that perf opened in parts, such as one for each kind of CPU core
    SYMBOLIZED = auto()  # applies the filters that need no names of functions, then symbolizes addresses
    NAMED = auto()  # changes frames whose functions have certain names
    FILTERED = auto()  # filters samples and frames by the names of functions
    HIDDEN = auto()  # replaces names that must not be published
    REREAD = auto()  # provides single samples as they were recorded, by a second pass over the recording
    GROUPED = auto()  # groups samples
    REVALUED = auto()  # replaces the values of samples
    DESCRIBED = auto()  # adds facts about the recording, such as its time of day


class SessionRun(Frozen):
    """Arguments of a step besides the result of the previous step: the recording and the options of the load."""

    recording: "Recording"
    filters: "AppliedFilters"
    """The user's filters, applied to this recording."""
    context: "LoadContext"
    session: "SessionInput"
    stored_names: "Callable[[Profile, SymbolOptions], LocationNames] | None"
    """Returns the names that the input itself stores for a profile's locations; None: it stores none."""

    @property
    def options(self) -> "LoadOptions":
        """The options of the load."""
        return self.context.options


Step = Callable[["Loaded", SessionRun], "Loaded"]


class Feature(Frozen):
    """A feature's settings, and its steps by phase."""

    steps: Mapping[Phase, Step] = field(default_factory=dict)  # they run for each recording
    settings: type[FeatureSettings] | None = None
    finish: "Callable[[Loaded, LoadContext], Loaded] | None" = None
    """Runs once, after all recordings were merged."""
    check: "Callable[[LoadOptions, Sequence[str]], None] | None" = None
    """Called with the options and the paths of all inputs, before any input is read.

    Raises OptionError if the feature cannot do its work with them.
    """


def with_profile(loaded: "Loaded", profile: "Profile") -> "Loaded":
    """Return the result with another profile."""
    return replace(loaded, profile=profile)


@cache
def features() -> tuple[Feature, ...]:
    """Return all installed features, in the order of their entry points."""
    return tuple(point.load() for point in entry_points_by_name(_STEPS).values())


def feature_settings() -> tuple[type[FeatureSettings], ...]:
    """Return the settings classes of all features."""
    return tuple(feature.settings for feature in features() if feature.settings is not None)


def with_settings(settings: tuple[FeatureSettings, ...], new_values: Mapping[str, Any]) -> tuple[FeatureSettings, ...]:
    """Return the settings with ``new_values``, by field name; objects that have only default values are left out.

    Raises TypeError for a field that no feature has.
    """
    by_class = {cls: cls() for cls in feature_settings()} | {type(changed): changed for changed in settings}
    unused = dict(new_values)
    for cls, old in by_class.items():
        by_class[cls] = replace(old, **{name: unused.pop(name) for name in cls.__struct_fields__ if name in unused})
    if unused:
        raise TypeError(f"there is no option {', '.join(unused)}")
    return tuple(new for cls, new in by_class.items() if new != cls())
