"""Everything that the threads of a Firefox profile show, computed for all of them together and written one by one."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.analysis.frames import LocationFrames
from perf2x.columnar.arrays import I64, Bools
from perf2x.emit.encoding.json_encoder import json_bytes
from perf2x.emit.firefox.categories import category_list
from perf2x.emit.firefox.counters import counters_of, running_counter
from perf2x.emit.firefox.lanes import Lane, Timeline, lanes_of, thread_head, timeline_of
from perf2x.emit.firefox.markers import Markers, event_markers, in_order, marker_table, no_markers, switch_markers
from perf2x.emit.firefox.sample_rows import SampleRows, Weights, sample_rows, weights_of
from perf2x.emit.firefox.shared_tables import SharedStacks, TextTable, shared_stacks, with_nulls
from perf2x.emit.firefox.switch_spans import switch_spans
from perf2x.emit.timeline.parallelism import running_steps
from perf2x.tables.profile import Profile


class Drawing(Struct, frozen=True):
    """Samples and markers of all tracks, sorted by track; ``lanes`` in the order in which threads are written."""

    profile: Profile
    timeline: Timeline
    lanes: list[Lane]
    stacks: SharedStacks
    samples: SampleRows
    weights: Weights
    markers: Markers
    sample_ends: I64
    """(tracks + 1,) first row of samples of each track."""
    marker_ends: I64

    def threads(self) -> Iterator[bytes]:
        """Yield each thread as JSON."""
        for lane in self.lanes:
            head = json_bytes(thread_head(self.profile, self.timeline.tracks, lane))
            samples, markers = (
                slice(*ends[lane.track : lane.track + 2].tolist()) for ends in (self.sample_ends, self.marker_ends)
            )
            table = json_bytes(self._sample_table(samples))
            yield b'%b,"samples":%b,"markers":%b}' % (head[:-1], table, marker_table(self.markers, markers))

    def _sample_table(self, rows: slice) -> dict[str, object]:
        """Rows without a stack, and those where a thread stops, have the stack null."""
        sample = self.samples.sample[rows]
        return {
            "length": len(sample),
            "weightType": self.weights.kind,
            "stack": with_nulls(np.append(self.stacks.of_sample, -1)[sample]),
            "time": (self.samples.time[rows] / 1e6).tolist(),
            "weight": np.append(self.weights.of_sample, 0)[sample].tolist(),
            "threadCPUDelta": self.samples.cpu_time[rows].tolist(),
        }

    def counters(self, rows: I64) -> Iterator[dict[str, object]]:
        """Yield the number of threads that ran, where it is known, and the counters of these samples."""
        timeline = self.timeline
        pid, steps = timeline.tracks.pid, running_steps(self.profile, timeline.origin)
        if len(steps) and self.lanes:
            yield running_counter(steps, int(pid[self.lanes[0].track]))
        main = {int(pid[lane.track]): number for number, lane in reversed(list(enumerate(self.lanes)))}
        yield from counters_of(self.profile, rows, timeline.time, pid[timeline.track], main)


def drawing_of(
    profile: Profile, frames: LocationFrames, is_sample: Bools, with_markers: bool, texts: TextTable
) -> Drawing:
    """Return what is drawn: samples where ``is_sample`` (samples,), the others as markers if these are wanted."""
    timeline, stacks = timeline_of(profile), shared_stacks(profile, frames)
    chosen = np.flatnonzero(is_sample)
    samples = sample_rows(profile, timeline, chosen)
    has_fields = False if profile.samples.fields is None else profile.samples.fields >= 0  # only markers show them
    rows = np.flatnonzero(~is_sample | has_fields)
    markers = _markers(profile, timeline, stacks, rows, texts) if with_markers else no_markers()
    numbers = np.arange(len(timeline.tracks) + 1)
    return Drawing(
        profile,
        timeline,
        list(lanes_of(timeline)),
        stacks,
        samples,
        weights_of(profile, chosen),
        markers,
        np.searchsorted(samples.track, numbers),
        np.searchsorted(markers.track, numbers),
    )


def _markers(profile: Profile, timeline: Timeline, stacks: SharedStacks, rows: I64, texts: TextTable) -> Markers:
    category = category_list(profile.events)[1]
    of_events = event_markers(profile, timeline, rows, stacks.of_sample, category, texts)
    return in_order([of_events, switch_markers(switch_spans(profile, timeline), texts)])
