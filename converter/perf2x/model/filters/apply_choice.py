"""Holds a user's Choice against one recording: batches before they are stitched, the profile afterwards.

Separate from the pipeline, which it serves. What a sample says itself (pid, tid, CPU, time) is asked of the columns, so
that what is not wanted costs next to nothing; what must be looked up first (names of threads, objects, functions) is
asked of the finished profile.
"""

from collections.abc import Iterator, Set
from datetime import datetime

from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.errors import SettingError
from perf2x.model.filters.choice import BEFORE_SYMBOLS, COLUMNS, FILTERS, ROWS
from perf2x.model.filters.filter_batches import SampleFilter, Seen, not_recorded
from perf2x.model.filters.filter_options import Choice
from perf2x.model.filters.time_ranges import Range, parse_times, parse_wall_times
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.profile import Profile
from perf2x.model.recording import Recording, Samples, Want, select_rows


class Selection:
    """One Choice and one recording; call the methods in the order in which they stand.

    ``passing`` is the filter of samples, ``unmatched`` notes those that no sample matches. With ``late_times``
    samples of all times pass ``batches``: what is worked out from the whole recording asks for its times afterwards.
    """

    def __init__(
        self,
        choice: Choice,
        recording: Recording,
        *,
        late_times: bool = False,
        unmatched: UnmatchedFilters | None = None,
    ) -> None:
        self._choice, self.unmatched = choice, unmatched or UnmatchedFilters(1, recording.diagnostics)
        ranges = _ranges(choice, recording)
        asked = {name: value for name, value in choice.given().items() if name in COLUMNS or name in ROWS}
        self.passing = SampleFilter(asked, ranges)
        self._filter = replace(self.passing, times=()) if late_times else self.passing
        self.seen = Seen()

    def batches(self, samples: Iterator[Samples]) -> Iterator[Samples]:
        """The samples that pass."""
        if self._filter == SampleFilter():
            yield from samples
            return
        for batch in samples:
            yield select_rows(batch, self.seen.look(batch, self._filter))

    def check(self) -> None:
        """Note what was asked for and in no batch; OptionError if there is no other recording."""
        self.seen.check(self._filter, self.unmatched)

    def before_symbols(self, profile: Profile) -> Profile:
        """Choose by what needs no names of functions: threads, modes, objects."""
        return self._filtered(profile, BEFORE_SYMBOLS)

    def after_symbols(self, profile: Profile) -> Profile:
        """Choose by function, cut stacks, and leave out of the tables what no sample uses any more."""
        if not self._choice:
            return profile
        from perf2x.model.transforms.drop_unused import compact

        profile = self._filtered(profile, FILTERS.keys() - BEFORE_SYMBOLS)
        return compact(profile) if profile.recorded is None else profile  # whose rows are numbers of all tables

    def _filtered(self, profile: Profile, names: Set[str]) -> Profile:
        asked = self._choice.given()
        for name, keep in FILTERS.items():
            if name in asked and name in names:
                profile = keep(profile, asked[name], self.unmatched)
        return profile


def check_root(root: str, recording: Recording) -> None:
    """OptionError when samples are to be grouped by what they do not say."""
    wanted = {"cpu": SampleType.CPU, "cgroup": SampleType.CGROUP}.get(root)
    if wanted and not any(event.sample_type & wanted for event in recording.session.events):
        raise not_recorded("root", root)


def _ranges(choice: Choice, recording: Recording) -> tuple[Range, ...]:
    """The spans of recorded time that are wanted."""
    first, last = _bounds(recording) if any("%" in text for text in choice.times) else (0, 0)
    ranges = [span for text in choice.times for span in parse_times(text, first, last)]
    offset = recording.session.wall_clock_offset_ns
    if choice.wall_times and offset is None:
        words = ": the recording does not say what time of day it was made; record with: perf record -k 1"
        raise SettingError("", "wall_times", words)
    for text in choice.wall_times:
        start = datetime.fromtimestamp((_bounds(recording)[0] + (offset or 0)) / 1e9).astimezone()
        ranges += parse_wall_times(text, start, offset or 0)
    return tuple(ranges)


def _bounds(recording: Recording) -> tuple[int, int]:
    """First and last time of samples: as perf wrote it down (HEADER_SAMPLE_TIME), else read from the samples."""
    known = recording.session.sample_times
    if known[1]:
        return known
    bounds = [
        (int(batch.time.min()), int(batch.time.max()))
        for batch in recording.samples(Want.REREAD)
        if batch.time is not None and len(batch)
    ]
    if not bounds:
        raise not_recorded("times")
    return min(first for first, _ in bounds), max(last for _, last in bounds)
