"""Names that threads had one after the other, as slices below their tracks: readers know a thread by its last one."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64, Bools
from perf2x.base.columnar.unique import argsort_rows, unique, unique_inverse
from perf2x.emitters.perfetto.message import COMMON_SEQUENCE, STARTS, message, packet
from perf2x.emitters.perfetto.thread_ids import thread_ids
from perf2x.emitters.perfetto.trace_schema import InternedData, TracePacket
from perf2x.emitters.perfetto.tracks.slice_packets import slice_packets
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind, child_track, interned_names, thread_track, track_ids
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile

_CATEGORY = "name"


def name_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a slice for each name of threads that had several, from the first sample with it to that with the next.

    ::

        samples of a thread   10 sh   20 sh   30 ls   40 ls        slices   sh 10…30   ls 30…40
    """
    ids = thread_ids(profile)
    several = (np.bincount(ids.number) > 1) & (ids.tid > 0)
    if profile.samples.time is None or not several.any():
        return
    thread = ids.number[profile.samples.thread].astype(np.int64)
    order = np.flatnonzero(several[thread])
    order = order[argsort_rows([thread[order]])]
    thread, name = thread[order], profile.threads.comm[profile.samples.thread[order]].astype(np.int64)
    runs = _runs_of_names(thread, name)
    thread, name = thread[runs[:, 0]], name[runs[:, 0]]
    if not len(runs):
        return
    for row in unique(thread).tolist():
        yield thread_track(ids, row) + child_track(TrackKind.NAMES, row, _CATEGORY)
    names, number = unique_inverse(name)
    yield _interned([printable(profile.strings[row]) for row in names.tolist()])
    bounds = profile.samples.time[order][runs]
    yield from slice_packets(bounds, track_ids(TrackKind.NAMES, thread), number + 1, COMMON_SEQUENCE)


def _runs_of_names(thread: I64, name: I64) -> I64:
    """(runs, 2) the first row of each run of one name, and of the next one's, or else the thread's last row.

    Rows are in order of threads, then time; threads with one name have no runs.
    """
    is_new = _differs(thread)
    begins = np.flatnonzero(is_new | _differs(name))
    ends = np.append(begins[1:], len(thread))[: len(begins)]
    goes_on = ~np.append(is_new, True)[ends]
    ends -= ~goes_on
    comes = np.append(False, goes_on[:-1])[: len(begins)]
    runs: I64 = np.stack([begins, ends], axis=1)[goes_on | comes]
    return runs


def _interned(names: list[str]) -> bytes:
    tables = interned_names(InternedData.EVENT_CATEGORIES, [_CATEGORY])
    tables += interned_names(InternedData.EVENT_NAMES, names)
    return packet(message(TracePacket.INTERNED_DATA, tables), COMMON_SEQUENCE, STARTS)


def _differs(column: I64) -> Bools:
    """(n,) whether a row differs from the one before it."""
    return np.append(True, column[1:] != column[:-1])[: len(column)]
