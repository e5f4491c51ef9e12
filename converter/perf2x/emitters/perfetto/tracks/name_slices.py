"""Names that threads had one after the other, as slices below their tracks: readers know a thread by its last one."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64, begins_run, bincount, flatnonzero, of_next, of_previous
from perf2x.base.columnar.ragged import argsort_small
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.perfetto.clocks import sequence_start
from perf2x.emitters.perfetto.thread_ids import thread_ids
from perf2x.emitters.perfetto.tracks.slice_packets import thread_slices
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile


def name_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a slice for each name of threads that had several, from the first sample with it to that with the next.

    ::

        samples of a thread   10 sh   20 sh   30 ls   40 ls        slices   sh 10…30   ls 30…40
    """
    ids = thread_ids(profile)
    several = (bincount(ids.number) > 1) & (ids.tid > 0)
    if profile.samples.time is None or not several.any():
        return
    thread = ids.number[profile.samples.thread].astype(np.int64)
    order = flatnonzero(several[thread])
    order = order[argsort_small(thread[order])]
    thread, name = thread[order], profile.threads.comm[profile.samples.thread[order]].astype(np.int64)
    runs = _runs_of_names(thread, name)
    thread, name = thread[runs[:, 0]], name[runs[:, 0]]
    if not len(runs):
        return
    names, number = unique_inverse(name)
    texts = [printable(profile.strings[row]) for row in names.tolist()]
    yield sequence_start(profile.meta)
    yield from thread_slices(ids, thread, TrackKind.NAMES, "name", texts, profile.samples.time[order][runs], number + 1)


def _runs_of_names(thread: I64, name: I64) -> I64:
    """(runs, 2) the first row of each run of one name, and of the next one's, or else the thread's last row.

    Rows are in order of threads, then time; threads with one name have no runs.
    """
    is_new = begins_run(thread)
    begins = flatnonzero(is_new | begins_run(name))
    ends = of_next(begins, len(thread))
    goes_on = ~np.append(is_new, True)[ends]
    ends -= ~goes_on
    runs: I64 = np.stack([begins, ends], axis=1)[goes_on | of_previous(goes_on, False)]
    return runs
