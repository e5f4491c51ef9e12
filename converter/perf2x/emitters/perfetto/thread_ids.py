"""Pids and tids as readers of traces accept them, and the process tree, which names processes and threads."""

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    Frozen,
    arange,
    as_int32,
    begins_run,
    flatnonzero,
    minus_ones,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.protobuf import message, number, string
from perf2x.emitters.perfetto.packets_and_clocks import packet
from perf2x.emitters.perfetto.trace_schema import Process, ProcessTree, Thread, TracePacket
from perf2x.emitters.timeline.tracks import shown_ids
from perf2x.model.printable_text import printable
from perf2x.model.profile import Profile


class ThreadIds(Frozen):
    """Distinct pairs of pid and tid, sorted by pid, then tid; none is negative, because readers reject negative ids.

    A renamed thread has several rows in Profile.threads, but one here.
    """

    row_of_thread: I32
    """(threads of the profile,) the row here of each row of Profile.threads."""
    pid: I64
    tid: I64


def thread_ids(profile: Profile) -> ThreadIds:
    """Return the ids of all threads of a profile."""
    pid, tid = shown_ids(profile, slice(None))
    ids, row_of_thread = unique_inverse(pid << 32 | tid)
    return ThreadIds(as_int32(row_of_thread), ids >> 32, ids & 0xFFFF_FFFF)


def process_tree(profile: Profile) -> bytes:
    """Encode the names that all processes and threads had last.

    A process has the name that it had when its thread with the lowest tid was sampled last.
    """
    ids = thread_ids(profile)
    last_sampled = _last_sampled(profile, ids)
    threads, strings = profile.threads, profile.strings
    pid, tid = ids.pid.tolist(), ids.tid.tolist()
    thread_names = [printable(strings[row]) for row in threads.comm[last_sampled].tolist()]
    process_names = [printable(strings[row]) for row in threads.process[last_sampled].tolist()]
    parent_pid = _parent_pids(profile, ids, last_sampled).tolist()
    first_threads = flatnonzero(begins_run(ids.pid)).tolist()
    pieces = [_process(pid[row], parent_pid[row], process_names[row]) for row in first_threads]
    pieces += [_thread(*row) for row in zip(pid, tid, thread_names, strict=True)]
    time = number(TracePacket.TIMESTAMP, profile.meta.start_ns)
    return packet(time + message(TracePacket.PROCESS_TREE, b"".join(pieces)))


def _last_sampled(profile: Profile, ids: ThreadIds) -> I64:
    """Return (rows of ``ids``,) the row of Profile.threads that was sampled last, or any if none was sampled."""
    last_sampled = zeros(len(ids.pid))
    last_sampled[ids.row_of_thread] = arange(len(ids.row_of_thread))
    # samples are in time order, and the last assignment to an index wins
    last_sampled[ids.row_of_thread[profile.samples.thread]] = profile.samples.thread
    return last_sampled


def _parent_pids(profile: Profile, ids: ThreadIds, last_sampled: I64) -> I64:
    """The result is −1 if the parent is not in the profile."""
    if profile.parents is None:
        return minus_ones(len(last_sampled))
    parent = profile.parents[last_sampled]
    return np.where(parent >= 0, ids.pid[ids.row_of_thread[parent]], -1)


def _process(pid: int, parent_pid: int, name: str) -> bytes:
    fields = number(Process.PID, pid) + (number(Process.PPID, parent_pid) if parent_pid >= 0 else b"")
    fields += string(Process.CMDLINE, name) + number(Process.CMDLINE_IS_COMM, 1)
    return message(ProcessTree.PROCESSES, fields)


def _thread(pid: int, tid: int, name: str) -> bytes:
    return message(ProcessTree.THREADS, number(Thread.TID, tid) + string(Thread.NAME, name) + number(Thread.TGID, pid))
