"""Names of threads at a moment from the side-band records alone, for threads without samples."""

import numpy as np

from perf2x.model.recording.sideband import Sideband
from perf2x.transforms.scheduling.thread_times import ThreadTimes, last_at_or_before

_GENERATIONS = 64


def names_of_threads(sideband: Sideband, wanted: ThreadTimes) -> list[str]:
    """Return each thread's last name until a moment; a new thread has its parent's.

    Names come from COMM records, births from FORK records. Where none is known, and after 64 generations without one,
    it is perf's ``:TID``.
    """
    latest_first = slice(None, None, -1)  # of several names at one moment the last one holds
    comms = ThreadTimes(sideband.comms.tid[latest_first].astype(np.int64), sideband.comms.time[latest_first])
    tid, time, name = wanted.tid.copy(), wanted.time.copy(), np.full(len(wanted), -1, np.int64)
    for _ in range(_GENERATIONS):
        lacking = np.flatnonzero((name < 0) & (tid >= 0))
        if not len(lacking):
            break
        asked = ThreadTimes(tid[lacking], time[lacking])
        said, parent = last_at_or_before(asked, comms), _parents(sideband, asked)
        is_own = (said >= 0) & (np.append(comms.time, np.uint64(0))[said] >= parent.time)
        name[lacking[is_own]] = said[is_own]
        tid[lacking], time[lacking] = parent.tid, parent.time
    texts = sideband.comms.comm[latest_first]
    found = zip(name.tolist(), wanted.tid.tolist(), strict=True)
    return [texts[row] if row >= 0 else f":{number}" for row, number in found]


def _parents(sideband: Sideband, wanted: ThreadTimes) -> ThreadTimes:
    """Return who made each thread, and when; thread −1 at 0 where no FORK record says it."""
    forks = ThreadTimes(sideband.forks.tid.astype(np.int64), sideband.forks.time)
    born = last_at_or_before(wanted, forks)
    maker = np.append(sideband.forks.ptid.astype(np.int64), -1)[born]
    return ThreadTimes(maker, np.append(forks.time, np.uint64(0))[born])
