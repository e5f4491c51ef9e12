"""Instants of a Chrome trace: samples that stand for no time, such as page faults beside a clock event.

They are asynchronous (``n``), and so have tracks of their own, one for each event of a process: Perfetto takes instants
of threads for calls without a duration, and draws them among the slices.
"""

from collections.abc import Iterator

from perf2x.base.columnar.arrays import I64, row_slices
from perf2x.emitters.chrome.trace_times import ticks_of, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved
from perf2x.emitters.encoding.json_encoder import json_string
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.sample_durations import durations_of, ran_then
from perf2x.emitters.timeline.tracks import Tracks, tracks_of
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile

_EVENTS_PER_WRITE = 1 << 12


def marker_events(profile: Profile, tracks: Tracks, origin: int, wanted: I64) -> Iterator[bytes]:
    """Yield an instant, named after its event, for each wanted sample that is drawn nowhere else."""
    samples = profile.samples
    if samples.time is None or not len(wanted):
        return
    is_moment = durations_of(profile, wanted).time == 0
    rows = wanted[is_moment & ran_then(samples, wanted)]
    if not len(rows):
        return
    track = tracks_of(profile)[1]
    ticks = ticks_of(since(samples.time[rows], origin))
    names = [json_string(one_line(event.name)).encode() for event in profile.events]
    heads = chunk_array(b'{"ph":"n","cat":%b,"name":%b,"ts":' % (name, name) for name in names)
    ids = [(pid, tid, tid, tid) for pid, tid in zip(tracks.pid.tolist(), tracks.tid.tolist(), strict=True)]
    tails = chunk_array(b',"pid":%d,"tid":%d,"id2":{"local":"%d"},"args":{"tid":%d}},\n' % one for one in ids)
    for part in row_slices(len(rows), _EVENTS_PER_WRITE):
        chosen = rows[part]
        yield interleaved(heads[samples.event[chosen]], time_chunks(ticks[part]), tails[track[chosen]])
