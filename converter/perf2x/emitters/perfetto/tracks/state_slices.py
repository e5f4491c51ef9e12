"""States of threads as slices below their tracks, for context switches without a CPU: scheduler tracks need one."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, begins_run, of_next, take_rows_of
from perf2x.base.columnar.unique import argsort_rows
from perf2x.emitters.perfetto.clocks import sequence_start
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.track_schema import TaskState
from perf2x.emitters.perfetto.tracks.slice_packets import thread_slices
from perf2x.emitters.perfetto.tracks.switch_states import Switches, switches_of
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind
from perf2x.emitters.timeline.tracks import UNKNOWN_ID
from perf2x.model.profile.profile import Profile

_NAMES = {
    TaskState.TASK_STATE_RUNNING: "Running",
    TaskState.TASK_STATE_RUNNABLE: "Runnable",
    TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP: "Sleeping",
    TaskState.TASK_STATE_UNINTERRUPTIBLE_SLEEP: "Uninterruptible sleep",
    TaskState.TASK_STATE_STOPPED: "Stopped",
    TaskState.TASK_STATE_DEAD: "Dead",
}


def state_slice_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a slice from each context switch without a CPU to its thread's next one."""
    ids = thread_ids(profile)
    switches = _without_cpu(switches_of(profile, ids), ids)
    rows, ends = _slices(switches, np.uint64(profile.meta.start_ns + profile.meta.duration_ns))
    if not len(rows):
        return
    number = np.zeros(max(_NAMES) + 1, np.int64)
    number[list(_NAMES)] = np.arange(1, len(_NAMES) + 1)
    bounds, name = np.stack([switches.time[rows], ends], axis=1), number[switches.state[rows]]
    texts = list(_NAMES.values())
    yield sequence_start(profile.meta)
    yield from thread_slices(ids, switches.thread[rows], TrackKind.STATES, "state", texts, bounds, name)


def _without_cpu(switches: Switches, ids: ThreadIds) -> Switches:
    """Return switches of known threads on unknown CPUs, by thread and time."""
    tid = ids.tid[switches.thread]
    held = np.flatnonzero((switches.cpu < 0) & (tid > 0) & (tid != UNKNOWN_ID))
    return take_rows_of(switches, held[argsort_rows([switches.thread[held], switches.time[held]])])


def _slices(switches: Switches, end: np.uint64) -> tuple[I64, U64]:
    """Return the rows that a slice begins at, and where it ends.

    A second switch in or out in a row, between which one was lost, tells nothing new. A thread's last slice is drawn to
    the end of the recording if it ran; when it came back, nobody knows. ::

        switches   10 in   20 out   30 out   40 in        slices   10…20 Running   20…40 Sleeping   40…end Running
    """
    is_first = begins_run(switches.thread)
    rows = np.flatnonzero(is_first | begins_run(switches.is_out))
    is_last = of_next(is_first[rows], True)
    ends = of_next(switches.time[rows], end)
    ends[is_last] = np.maximum(switches.time[rows[is_last]], end)
    drawn = ~is_last | ~switches.is_out[rows]
    return rows[drawn], ends[drawn]
