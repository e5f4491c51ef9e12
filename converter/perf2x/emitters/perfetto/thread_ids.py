"""Thread ids as readers accept them, and the process tree with names."""

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
from perf2x.emitters.encoding.protobuf import message, number, text
from perf2x.emitters.perfetto.packets_and_clocks import packet
from perf2x.emitters.perfetto.trace_schema import Process, ProcessTree, Thread, TracePacket
from perf2x.emitters.timeline.tracks import shown_ids
from perf2x.model.printable_text import printable
from perf2x.model.profile import Profile


class ThreadIds(Frozen):
    """Distinct threads by pid, then tid, without negative ids, which readers reject."""

    number: I32
    """(threads of the profile,) the row of each; a renamed thread has several rows in the profile."""
    pid: I64
    tid: I64


def thread_ids(profile: Profile) -> ThreadIds:
    """Return the ids of all threads of a profile."""
    pid, tid = shown_ids(profile, slice(None))
    ids, number_of = unique_inverse(pid << 32 | tid)
    return ThreadIds(as_int32(number_of), ids >> 32, ids & 0xFFFF_FFFF)


def process_tree(profile: Profile) -> bytes:
    """Encode the names of all processes and threads: the ones sampled last."""
    ids = thread_ids(profile)
    last = _last_seen(profile, ids)
    threads, strings = profile.threads, profile.strings
    pid, tid = ids.pid.tolist(), ids.tid.tolist()
    comm = [printable(strings[row]) for row in threads.comm[last].tolist()]
    process = [printable(strings[row]) for row in threads.process[last].tolist()]
    parent = _parent_pids(profile, ids, last).tolist()
    pieces = [_process(pid[row], parent[row], process[row]) for row in flatnonzero(begins_run(ids.pid)).tolist()]
    pieces += [_thread(*row) for row in zip(pid, tid, comm, strict=True)]
    time = number(TracePacket.TIMESTAMP, profile.meta.start_ns)
    return packet(time + message(TracePacket.PROCESS_TREE, b"".join(pieces)))


def _last_seen(profile: Profile, ids: ThreadIds) -> I64:
    """Return (distinct threads,) the row of Profile.threads that was sampled last; samples are sorted by time."""
    last = zeros(len(ids.pid))
    last[ids.number] = arange(len(ids.number))
    last[ids.number[profile.samples.thread]] = profile.samples.thread
    return last


def _parent_pids(profile: Profile, ids: ThreadIds, last: I64) -> I64:
    """Return (distinct threads,) the parent process of each, −1 if it has no samples."""
    if profile.parents is None:
        return minus_ones(len(last))
    parent = profile.parents[last]
    return np.where(parent >= 0, ids.pid[ids.number[parent]], -1)


def _process(pid: int, parent: int, name: str) -> bytes:
    fields = number(Process.PID, pid) + (number(Process.PPID, parent) if parent >= 0 else b"")
    fields += text(Process.CMDLINE, name) + number(Process.CMDLINE_IS_COMM, 1)
    return message(ProcessTree.PROCESSES, fields)


def _thread(pid: int, tid: int, name: str) -> bytes:
    return message(ProcessTree.THREADS, number(Thread.TID, tid) + text(Thread.NAME, name) + number(Thread.TGID, pid))
