"""The result of a load: the profile, and reports on how it was made."""

from collections.abc import Mapping

import numpy as np

from perf2x.base.abi import ReadFormat
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.frozen_struct import Frozen
from perf2x.model.advice import Advice
from perf2x.model.number_format import first_of, format_amount, plural
from perf2x.model.printable_text import short
from perf2x.model.profile import Profile, View
from perf2x.model.recording import Recording
from perf2x.model.step_report import StepReport
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.symbolizer.symbol_report import SymbolReport


class EventCount(Frozen, omit_defaults=True):
    """One event, its samples and the sum of their values."""

    name: str
    samples: int
    value: int
    unit: str
    readings: int = 0
    """Number of readings of perf stat, which have no samples."""

    @property
    def rows(self) -> int:
        """Number of samples, or of readings."""
        return self.samples or self.readings


class Loaded(Frozen):
    """A profile and reports on how it was made."""

    profile: View
    recording: Recording
    """The first recording, if there are several."""
    recorded_samples: int
    """Number of samples in the recording before any filter, as ``perf script`` prints them."""
    events: tuple[EventCount, ...]
    """Every event of the recording, in recorded order, with its samples in the profile."""
    deferred: DeferredReport
    unwound: UnwindReport
    symbols: SymbolReport | None
    diagnostics: Diagnostics
    sources: tuple[str, ...]
    """The name of every recording; only that of ``recording`` unless independent ones were merged."""
    record_counts: Mapping[str, int]
    """Number of records of all recordings, by type."""
    reports: tuple[StepReport, ...] = ()
    """Reports of features."""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Advice on recording."""
        return self.profile.meta.advice

    def counted(self, row: int) -> dict[str, int]:
        """Return an event's counts in the threads that exited (``perf record -s``), for a single recording.

        Else ``counted``.
        """
        reads = self.recording.sideband.reads
        values = reads.value[reads.event == row].tolist()
        if not values or len(self.sources) > 1 or self.recording.session.events[row].read_format & ReadFormat.GROUP:
            return {}
        return {"counted": sum(values)}

    @property
    def samples(self) -> int:
        """Number of samples in the profile, after all filters."""
        return sum(event.samples for event in self.events)

    def __repr__(self) -> str:
        source = short(self.recording.session.source)
        counts = [
            f"{short(one.name)} {one.samples:,} ({format_amount(one.value, one.unit)})"
            for one in self.events
            if one.samples
        ]
        kept = f"{self.samples:,} of {plural(self.recorded_samples, 'sample')}"
        return f"Loaded: {source}, {kept}\n  events: {first_of(counts, 3) or 'none'}\n  profile: {self.profile!r}"


def event_counts(profile: Profile) -> tuple[EventCount, ...]:
    """Return the samples and summed values of every event, in the order of ``profile.events``."""

    samples = profile.samples
    counts = []
    for index, event in enumerate(profile.events):
        chosen = samples.event == index
        number, value = (int(column.sum(dtype=np.int64, where=chosen)) for column in (samples.count, samples.value))
        sampled, read = (0, number) if event.is_count else (number, 0)
        counts.append(EventCount(event.name, sampled, value, event.unit, read))
    return tuple(counts)
