"""The two recordings of ``perf2x diff``, and their tables."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.analysis.diff.changed_rows import DiffTable, Shown
from perf2x.analysis.diff.changes import Change, Comparison
from perf2x.analysis.diff.matching_events import renamed
from perf2x.analysis.totals import totals
from perf2x.base.errors import OptionError
from perf2x.pipeline.load_options import LoadOptions
from perf2x.pipeline.load_result import Loaded

if TYPE_CHECKING:
    from perf2x.pipeline.load_context import Progress


class RecordingPair:
    """Two recordings whose events have the same names, compared by one kind of value."""

    def __init__(self, sources: tuple[str, str], before: Loaded, after: Loaded, value: str, normalize: bool) -> None:
        profile, renamed_events = renamed(before.profile, after.profile)
        self.sources = sources
        self.before = before
        self.after = replace(after, profile=profile)
        self.renamed_events = renamed_events
        """A sentence for every event of the second recording that was matched under another name."""
        self.value = value
        """period or samples."""
        self.normalize = normalize
        self.periods: RecordingPair | None = None
        """The same recordings by period, where values are latencies."""
        self.compared = cache(self._compare)
        """The tables of functions, objects or threads (``function``, ``object``, ``thread``), compared once each."""

    def table(self, shown: Shown, changes: Iterable[Change]) -> DiffTable:
        """The rows of ``changes`` to show."""
        periods = self.periods.compared(shown.by) if self.periods else None
        return DiffTable(self.compared(shown.by), changes, shown, self.sources, periods, self.renamed_events)

    def _compare(self, by: str) -> Comparison:
        before = totals(self.before.profile, None, by, self.value)
        try:
            after = totals(self.after.profile, before.event or None, by, self.value)
        except OptionError as error:
            raise OptionError(f"{self.sources[1]}: {error}; --event NAME chooses one that both have") from None
        return Comparison(before, after, self.normalize)


def load_pair(
    sources: tuple[str, str], options: LoadOptions, value: str, normalize: bool, progress: "Progress | None"
) -> RecordingPair:
    """Load both recordings with the same options; of ``latency`` the options must ask for it beside the values."""
    from perf2x.pipeline.load import load

    before, after = (load(source, options, progress) for source in sources)
    return pair_of(sources, before, after, value, normalize)


def pair_of(sources: tuple[str, str], before: Loaded, after: Loaded, value: str, normalize: bool) -> RecordingPair:
    """Make the pair of recordings that were read with the same options."""
    if value != "latency":
        return RecordingPair(sources, before, after, value, normalize)
    from perf2x.transforms.scheduling.latency import latency_as_value

    latencies = [replace(loaded, profile=latency_as_value(loaded.profile)) for loaded in (before, after)]
    pair = RecordingPair(sources, latencies[0], latencies[1], "period", normalize)
    pair.periods = RecordingPair(sources, before, after, "period", normalize)
    return pair
