"""The result of a load: the profile, and reports on how it was made."""

from collections.abc import Mapping

import numpy as np

from perf2x.base.abi import ReadFormat
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.frozen_struct import Frozen
from perf2x.model.advice import Advice
from perf2x.model.number_format import format_amount, plural, shortened_list
from perf2x.model.printable_text import short
from perf2x.model.profile import Profile, View
from perf2x.model.recording import Recording
from perf2x.model.step_report import StepReport
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.symbolizer.symbol_report import SymbolReport


class EventCount(Frozen, omit_defaults=True):
    """An event, the number of its samples, and the sum of their values."""

    name: str
    samples: int
    value: int
    unit: str
    readings: int = 0
    """Number of readings of a counter (perf stat record), which has no samples."""

    @property
    def rows(self) -> int:
        """Samples or, for perf stat, readings."""
        return self.samples or self.readings


class Loaded(Frozen):
    """A profile and reports on how it was made."""

    profile: View
    recording: Recording
    """The recording; the first one if there are several."""
    recorded_samples: int
    """Number of samples in all recordings before any filter: as many as ``perf script`` prints."""
    events: tuple[EventCount, ...]
    """Counts of the samples in the profile, for every event of the profile, in recorded order."""
    deferred: DeferredReport
    unwound: UnwindReport
    symbols: SymbolReport | None
    diagnostics: Diagnostics
    sources: tuple[str, ...]
    """The names of all recordings that the profile contains."""
    record_counts: Mapping[str, int]
    """Number of records of all recordings, by type."""
    reports: tuple[StepReport, ...] = ()
    """Reports of features, such as latency, on what they did."""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Advice on how to record better."""
        return self.profile.meta.advice

    def exact_count(self, event: int) -> dict[str, int]:
        """Exact number of times that an event (by index) happened in all threads: ``{"counted": n}``.

        ``perf record -s`` writes a PERF_RECORD_READ when a thread exits; n is the sum of these records. The result is
        empty without them, for several recordings, and for counters that were read as a group.
        """
        reads = self.recording.sideband.reads
        values = reads.value[reads.event == event].tolist()
        if not values or len(self.sources) > 1 or self.recording.session.events[event].read_format & ReadFormat.GROUP:
            return {}
        return {"counted": sum(values)}

    @property
    def samples(self) -> int:
        """Samples in the profile, after all filters."""
        return sum(event.samples for event in self.events)

    def __repr__(self) -> str:
        source = short(self.recording.session.source)
        counts = [
            f"{short(event.name)} {event.samples:,} ({format_amount(event.value, event.unit)})"
            for event in self.events
            if event.samples
        ]
        kept = f"{self.samples:,} of {plural(self.recorded_samples, 'sample')}"
        return f"Loaded: {source}, {kept}\n  events: {shortened_list(counts, 3) or 'none'}\n  profile: {self.profile!r}"


def event_counts(profile: Profile) -> tuple[EventCount, ...]:
    """Sum counts and values by event, in the order of ``profile.events``."""
    samples = profile.samples
    counts = []
    for index, event in enumerate(profile.events):
        is_of_event = samples.event == index
        count, value = (int(column.sum(dtype=np.int64, where=is_of_event)) for column in (samples.count, samples.value))
        sample_count, readings = (0, count) if event.is_count else (count, 0)
        counts.append(EventCount(event.name, sample_count, value, event.unit, readings))
    return tuple(counts)
