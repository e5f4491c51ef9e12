"""Applies the user's filters to one recording: to batches before they are stitched, to the profile afterwards.

Filters on columns of samples come first, because they are cheap; the others need lookups.
"""

from collections.abc import Iterator, Set
from datetime import datetime

from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.errors import SettingError
from perf2x.model.cgroup_parts import cpu_and_cgroup_columns
from perf2x.model.filters.filter_options import Filters
from perf2x.model.filters.profile_filters import BEFORE_SYMBOLS, NUMBER_COLUMNS, PROFILE_FILTERS, SAMPLE_CONDITIONS
from perf2x.model.filters.sample_filters import SampleFilter, SeenValues, not_recorded
from perf2x.model.filters.time_ranges import Range, parse_times, parse_wall_times
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.profile import Profile
from perf2x.model.recording import Recording, Samples, Want, select_rows


class AppliedFilters:
    """The user's filters, applied to one recording. Call the methods in the order in which they are defined.

    ``sample_filter`` includes time ranges. With ``late_times``, `batches` leaves them out: features that need the whole
    recording apply them later.
    """

    def __init__(
        self,
        filters: Filters,
        recording: Recording,
        *,
        late_times: bool = False,
        unmatched: UnmatchedFilters | None = None,
    ) -> None:
        self._filters, self.unmatched = filters, unmatched or UnmatchedFilters(1, recording.diagnostics)
        ranges = _ranges(filters, recording)
        values = {
            name: value
            for name, value in filters.active_values().items()
            if name in NUMBER_COLUMNS or name in SAMPLE_CONDITIONS
        }
        self.sample_filter = SampleFilter(values, ranges)
        self._batch_filter = replace(self.sample_filter, times=()) if late_times else self.sample_filter
        self.seen = SeenValues()

    def batches(self, samples: Iterator[Samples]) -> Iterator[Samples]:
        """Yield the samples that pass, batch by batch."""
        if self._batch_filter == SampleFilter():
            yield from samples
            return
        for batch in samples:
            yield select_rows(batch, self.seen.add(batch, self._batch_filter))

    def check(self) -> None:
        """Report the filters that no batch matched. Raises OptionError if there is no other recording."""
        self.seen.check(self._batch_filter, self.unmatched)

    def before_symbols(self, profile: Profile) -> Profile:
        """Apply the filters that need no function names: by thread, mode and object."""
        return self._filtered(profile, BEFORE_SYMBOLS)

    def after_symbols(self, profile: Profile) -> Profile:
        """Apply all other filters, and drop unused rows from the tables."""
        if not self._filters:
            return profile
        from perf2x.model.transforms.drop_unused import compact

        profile = self._filtered(profile, PROFILE_FILTERS.keys() - BEFORE_SYMBOLS)
        return compact(profile) if profile.recorded is None else profile  # ``recorded`` may refer to unused rows

    def _filtered(self, profile: Profile, names: Set[str]) -> Profile:
        settings = self._filters.active_values()
        for name, apply_filter in PROFILE_FILTERS.items():
            if name in settings and name in names:
                profile = apply_filter(profile, settings[name], self.unmatched)
        return profile


def check_root(root: str, recording: Recording) -> None:
    """Raise OptionError if ``--root`` needs a column that was not recorded."""
    for column in cpu_and_cgroup_columns([root]):
        if not any(event.sample_type & SampleType[column.upper()] for event in recording.session.events):
            raise not_recorded("root", column)


def _ranges(filters: Filters, recording: Recording) -> tuple[Range, ...]:
    first, last = _bounds(recording) if any("%" in text for text in filters.times) else (0, 0)
    ranges = [time_range for text in filters.times for time_range in parse_times(text, first, last)]
    offset = recording.session.wall_clock_offset_ns
    if filters.wall_times and offset is None:
        reason = ": the recording has no wall-clock time; record with: perf record -k mono"
        raise SettingError("", "wall_times", reason)
    for text in filters.wall_times:
        start = datetime.fromtimestamp((_bounds(recording)[0] + (offset or 0)) / 1e9).astimezone()
        ranges += parse_wall_times(text, start, offset or 0)
    return tuple(ranges)


def _bounds(recording: Recording) -> tuple[int, int]:
    """First and last time of samples."""
    from_header = recording.session.sample_times
    if from_header[1]:
        return from_header
    bounds = [
        (int(batch.time.min()), int(batch.time.max()))
        for batch in recording.samples(Want.REREAD)
        if batch.time is not None and len(batch)
    ]
    if not bounds:
        raise not_recorded("times")
    return min(first for first, _ in bounds), max(last for _, last in bounds)
