"""The two recordings of ``perf2x diff``, and their tables."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.analysis.diff.changes import Comparison, scaled
from perf2x.analysis.diff.matching_events import renamed
from perf2x.analysis.diff.matching_objects import match_objects
from perf2x.analysis.totals import totals
from perf2x.base.errors import OptionError, SettingError
from perf2x.model.profile.profile import find_event
from perf2x.pipeline.load_options import LoadOptions
from perf2x.pipeline.load_result import Loaded

if TYPE_CHECKING:
    from perf2x.cli.options.diff_options import ComparisonFlags
    from perf2x.model.profile.profile import Profile
    from perf2x.pipeline.load_options import Progress

Work = tuple[float, float]
"""Units of work that the program did in either recording."""
_NAMED = 8
"""Pairs of objects that a sentence names."""


class RecordingPair:
    """Two recordings whose events and objects have the same names, compared by one kind of value."""

    def __init__(
        self,
        sources: tuple[str, str],
        before: Loaded,
        after: Loaded,
        value: str,
        normalize: bool,
        object_names: Mapping[str, str],
        work: Work | None = None,
    ) -> None:
        profile, renamed_events = renamed(before.profile, after.profile)
        profile, self.renamed_objects = match_objects(before.profile, profile, object_names)
        """Names of objects before and after that were taken for the same object."""
        self.sources = sources
        self.before = before
        self.after = replace(after, profile=profile)
        self.notes = [*renamed_events, *_object_notes(self.renamed_objects)]
        """Sentences on what is compared under different names."""
        self.value = value
        """period or samples."""
        self.normalize = normalize
        self.work = work
        """None: costs are compared as recorded, or their shares."""
        self.periods: RecordingPair | None = None
        """The same recordings by period, where values are latencies."""
        self.compared = cache(self._compare)
        """The tables of functions, objects or threads (``function``, ``object``, ``thread``), or of functions by their
        shares (``share``), compared once each."""

    @property
    def factor(self) -> float:
        """What costs of the second recording are multiplied by."""
        return self.work[0] / self.work[1] if self.work else 1.0

    def scaled_after(self) -> "Profile":
        """The second recording's profile with the costs that its work would have had in the first."""
        profile = self.after.profile
        return scaled(profile, [self.factor] * len(profile.events)) if self.work else profile

    def _compare(self, by: str) -> Comparison:
        kind = "function" if by == "share" else by
        before = totals(self.before.profile, None, kind, self.value)
        try:
            after = totals(self.after.profile, before.event or None, kind, self.value)
        except OptionError as error:
            raise OptionError(f"{self.sources[1]}: {error}; --event NAME chooses one that both have") from None
        if self.normalize or by == "share":
            return Comparison(before, after, normalize=True)
        return Comparison(before, after, factor=self.factor)


def _object_notes(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if pairs:
        more = f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else ""
        named = ", ".join(f"{new} for {old}" for old, new in pairs[:_NAMED])
        yield f"takes {named}{more} (--map OLD=NEW chooses)"


def load_pair(
    sources: tuple[str, str],
    options: LoadOptions,
    value: str,
    compared: "ComparisonFlags",
    object_names: Mapping[str, str],
    progress: "Progress | None",
) -> RecordingPair:
    """Load both recordings with the same options; of ``latency`` the options must ask for it beside the values."""
    from perf2x.pipeline.load import load

    counts, unit, normalize = parse_work(compared.per), compared.per_value, compared.normalize
    if unit and options.value:
        raise SettingError("", "per_value", f" adds up periods, which --value {value} replaces; give --per the counts")
    kept = (*options.events, unit) if unit and options.events else options.events
    before, after = (load(source, replace(options, events=kept), progress) for source in sources)
    work = _counted(sources, (before, after), unit) if unit else counts
    if kept != options.events:
        before, after = (replace(loaded, profile=_only(loaded.profile, options)) for loaded in (before, after))
    if value != "latency":
        return RecordingPair(sources, before, after, value, normalize, object_names, work)
    from perf2x.transforms.scheduling.latency import latency_as_value

    latencies = [replace(loaded, profile=latency_as_value(loaded.profile)) for loaded in (before, after)]
    pair = RecordingPair(sources, latencies[0], latencies[1], "period", normalize, object_names, work)
    pair.periods = RecordingPair(sources, before, after, "period", normalize, object_names, work)
    return pair


def parse_work(text: str | None) -> Work | None:
    """Parse ``1000,1200``; OptionError for anything but two positive numbers."""
    if text is None:
        return None
    try:
        before, after = map(float, text.split(","))
    except ValueError:
        before = after = 0.0
    if not (before > 0 < after and isfinite(before) and isfinite(after)):
        raise OptionError(f"--per {text}: expected the units of work in BEFORE and AFTER, such as 1000,1200")
    return before, after


def _counted(sources: tuple[str, str], pair: tuple[Loaded, Loaded], event: str) -> Work:
    """What the event counted in either recording."""
    work = []
    for source, loaded in zip(sources, pair, strict=True):
        try:
            row = find_event(loaded.profile, event)
        except OptionError as error:
            raise OptionError(f"{source}: --per-value: {error}") from None
        samples = loaded.profile.samples
        work.append(float(samples.value[samples.event == row].sum()))
        if not work[-1]:
            raise OptionError(f"{source}: --per-value: there are no samples of event {event!r} to compare by")
    return work[0], work[1]


def _only(profile: "Profile", options: LoadOptions) -> "Profile":
    """Without the event that only counts work."""
    from perf2x.transforms.filters.choice import keep_events

    return keep_events(profile, options.events)
