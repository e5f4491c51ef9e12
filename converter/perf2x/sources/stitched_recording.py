"""The base class of inputs whose samples already have stacks: datasets, and the output of other tools."""

from collections.abc import Iterable
from typing import Self

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import ListArray, arange, as_uint64, zeros
from perf2x.kernel.input_source import Stitched
from perf2x.kernel.load_options import LoadContext, LoadOptions
from perf2x.model.filters.applied_filters import AppliedFilters
from perf2x.model.profile import Profile, ProfileEvent, keep_samples, without_times
from perf2x.model.recording import Event, Samples
from perf2x.model.transforms.drop_unused import compact
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.symbolizer.known.location_names import LocationNames
from perf2x.symbolizer.symbol_options import SymbolOptions


class StitchedRecording:
    """A finished profile, to which filters are applied, and names added later.

    It is a ``kernel.input_source.Source``, and its own ``model.recording.events.Recording``.
    """

    @property
    def recording(self) -> Self:
        """Return itself, as the recording."""
        return self

    def full_profile(self, options: LoadOptions) -> Profile:
        """Return the profile of all samples, before filters."""
        raise NotImplementedError

    def completed(self, profile: Profile, options: LoadOptions) -> Profile:
        """Add the columns that ``options`` need; if they need no times, remove the times and sum equal samples."""
        samples = profile.samples
        if "cgroup" in options.columns and samples.cgroup is None:
            profile = replace(profile, samples=replace(samples, cgroup=np.zeros(len(samples), np.int32)))
        keeps_times = options.needs_times and samples.time is not None
        return profile if keeps_times else without_times(profile, keep_cpu="cpu" in options.columns)

    @property
    def recordings(self) -> tuple[str, ...]:
        """Names of the recordings in the input; empty if the input is a single recording."""
        return ()

    @property
    def reports(self) -> tuple[DeferredReport, UnwindReport]:
        """Reports on deferred callchains and on unwinding."""
        raise NotImplementedError

    def stored_names(self, profile: Profile, symbols: SymbolOptions) -> LocationNames:
        """Return the names that the input stores for a profile's locations."""
        raise NotImplementedError

    def stitched(self, filters: AppliedFilters, context: LoadContext) -> Stitched:
        """Return the profile that the user's filters leave (``Source.stitched``)."""
        with context.stages.stage("read"):
            profile = self.full_profile(context.options)
            batch = batch_of(profile)
            row_arrays = [part.position for part in filters.batches(iter([batch]))]
            filters.check()
            rows = np.concatenate([zeros(0), *row_arrays])
            if len(rows) < len(batch):
                profile = compact(keep_samples(profile, rows))
            return Stitched(self.completed(profile, context.options), *self.reports, self.stored_names, self.recordings)


def events_of(events: Iterable[ProfileEvent], sample_type: int) -> tuple[Event, ...]:
    """Return a profile's events as events of a session; attributes of perf.data files are −1 or 0."""
    return tuple(
        Event(
            index=index, name=event.name, type=-1, config=0, sample_period=event.period or event.frequency,
            sample_type=sample_type, read_format=0, flags=frozenset(["freq"] if event.frequency else []),
            unit=event.unit,
        )
        for index, event in enumerate(events)
    )  # fmt: skip


def batch_of(profile: Profile) -> Samples:
    """Return the samples of a profile as a batch for filters; a sample's position is its row."""
    samples, threads, count = profile.samples, profile.threads, len(profile.samples)
    return Samples(
        event=samples.event,
        position=arange(count),
        time=samples.time,
        pid=threads.pid[samples.thread],
        tid=threads.tid[samples.thread],
        cpu=samples.cpu,
        ip=np.zeros(count, np.uint64),
        period=as_uint64(samples.value),
        cpumode=np.zeros(count, np.uint8),
        chain=ListArray.of_empty_rows(count, np.uint64),
    )
