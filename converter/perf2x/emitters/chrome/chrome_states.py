"""Thread states of a Chrome trace: when each thread had a CPU, and when not, as context switches say.

Perfetto (from version 54 on) makes its scheduler tracks of them, ``CPU 3`` among them where the CPU is known; other
viewers pass them over. The names are those that its importer looks for.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, arange, argsort, flatnonzero, row_slices
from perf2x.emitters.chrome.trace_times import ids_of, ticks_of, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved
from perf2x.emitters.timeline.running_spans import RunningSpans
from perf2x.emitters.timeline.shown_samples import thread_runs
from perf2x.emitters.timeline.tracks import Tracks
from perf2x.model.profile.profile import Profile

_STATES_PER_WRITE = 1 << 12
_SLEEPING, _PREEMPTED = 0, 1
_NAMES = (b"S", b"R+")
"""What the kernel's own traces call a thread that sleeps, and one that was preempted."""


def state_events(profile: Profile, tracks: Tracks) -> Iterator[bytes]:
    """Yield a state for each run, and one for the time until the thread's next run."""
    runs = thread_runs(profile)
    track, start, end, state = _states(runs)
    numbers = arange(int(runs.cpu.max(initial=-1)) + 1).tolist()
    running = [b'"Running"', *(b'"Running","args":{"cpu":%d}' % cpu for cpu in numbers)]
    names = [*(b'"%b"' % name for name in _NAMES), *running]
    heads = chunk_array(b'{"ph":"T","name":%b,"ts":' % name for name in names)
    tails = ids_of(tracks.pid, tracks.tid)
    for rows in row_slices(len(track), _STATES_PER_WRITE):
        times = time_chunks(start[rows], b',"dur":'), time_chunks(end[rows] - start[rows])
        yield interleaved(heads[state[rows]], *times, tails[track[rows]])


def _states(runs: RunningSpans) -> tuple[AnyArray, I64, I64, I64]:
    """Return track, start, end (ticks) and number of the name of all states, by track, then start."""
    start, end = ticks_of(runs.start), ticks_of(runs.end)
    off = flatnonzero(runs.track[1:] == runs.track[:-1])
    order = argsort(np.concatenate([arange(len(runs)) * 2, off * 2 + 1]))
    columns = (
        (runs.track, runs.track[off]),
        (start, end[off]),
        (end, start[off + 1]),
        (len(_NAMES) + 1 + runs.cpu, np.where(runs.is_preempted[off], _PREEMPTED, _SLEEPING)),
    )
    track, begin, finish, state = (np.concatenate(pair)[order] for pair in columns)
    some = finish > begin
    return track[some], begin[some], finish[some], state[some]
