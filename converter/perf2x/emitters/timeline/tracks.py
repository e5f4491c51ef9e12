"""Tracks of a timeline: one per thread and idle CPU, or one per CPU."""

import numpy as np

from perf2x.base.columnar import (
    I64,
    ColumnTable,
    arange,
    as_int64,
    minus_ones,
    searchsorted,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.model.profile import Profile, ThreadSwitches

UNKNOWN_ID = 4_194_305
"""Replaces pid −1: just above the kernel's largest pid (PID_MAX_LIMIT); viewers turn negative ids into 0."""

CPUS_ID = 4_194_306
"""Pid and tid of CPU 0's track; other CPUs' follow.

Each CPU is a process of its own, so that viewers, which show a process's name first, show "CPU 3".
"""


class Tracks(ColumnTable):
    """One row per track of a viewer, by pid, then tid."""

    pid: I64
    tid: I64
    thread: I64
    """The row of Profile.threads that was sampled last, whose name is the track's."""
    cpu: I64
    """CPU of an idle thread's or a CPU's track, −1 for threads."""


def tracks_of(profile: Profile) -> tuple[Tracks, I64]:
    """Return all tracks, and the track of each sample.

    Idle threads all have pid and tid 0, one per CPU: each gets a tid of its own (1 + CPU), because viewers merge
    threads of equal ids, and take tid 0 for "unknown".
    """
    cpus = profile.samples.cpus
    width = int(cpus.max(initial=-1)) + 2
    kinds, seen = unique_inverse(as_int64(profile.samples.thread) * width + cpus + 1)  # pairs of thread and CPU
    thread, cpu = kinds // width, kinds % width - 1
    pid, tid = shown_ids(profile, thread)
    idle = (pid == 0) & (tid == 0)
    cpu[~idle] = -1
    tid[idle] = 1 + np.maximum(cpu[idle], 0)
    ids, track_of_seen = unique_inverse(pid << 32 | tid)
    track = track_of_seen[seen]
    last = zeros(len(ids))
    last[track] = arange(len(track))  # the last assignment wins: rows are in time order
    return Tracks(ids >> 32, ids & 0xFFFFFFFF, thread[seen[last]], cpu[seen[last]]), track


def switch_tracks(profile: Profile, switches: ThreadSwitches) -> I64:
    """Return (switches,) the track of each switch's thread, as numbered by ``tracks_of``; −1 for none."""
    known, _ = tracks_of(profile)
    pid, tid = shown_ids(profile, as_int64(switches.thread))
    idle = (pid == 0) & (tid == 0)
    tid[idle] = 1 + switches.cpu[idle]
    tid[idle & (switches.cpu < 0)] = -1
    ids = known.pid << 32 | known.tid
    row = np.minimum(searchsorted(ids, pid << 32 | tid), max(len(ids) - 1, 0))
    return np.where(ids[row] == (pid << 32 | tid), row, -1) if len(ids) else minus_ones(len(pid))


def knows_cpus(profile: Profile) -> bool:
    """Return whether any sample has its CPU."""
    return int(profile.samples.cpus.max(initial=-1)) >= 0


def cpu_tracks_of(profile: Profile) -> Tracks:
    """Return one track per CPU of the samples."""
    cpu = profile.samples.cpus
    cpus = as_int64(unique(cpu[cpu >= 0]))
    return Tracks(CPUS_ID + cpus, CPUS_ID + cpus, zeros(len(cpus)), cpus)


def track_names(profile: Profile, tracks: Tracks) -> list[tuple[str, str]]:
    """Return the recorded name of each track (``swapper/3`` for an idle one), and that of its process."""
    threads, text = profile.threads, profile.strings
    comm, process = (column[tracks.thread].tolist() for column in (threads.comm, threads.process))
    rows = zip(tracks.pid.tolist(), tracks.cpu.tolist(), comm, process, strict=True)
    return [
        (f"CPU {cpu}",) * 2
        if pid >= CPUS_ID
        else (text[name] if cpu < 0 else f"swapper/{cpu}", text[leader] if pid else "idle")
        for pid, cpu, name, leader in rows
    ]


def shown_ids(profile: Profile, thread: I64 | slice) -> tuple[I64, I64]:
    """Return pids and tids of threads as viewers accept them: UNKNOWN_ID for unknown ones.

    Tid 0 of any process but 0 is replaced, too: Perfetto would take it for the process's main thread.
    """
    pid, tid = as_int64(profile.threads.pid), as_int64(profile.threads.tid)
    nameless = (tid < 0) | ((tid == 0) & (pid != 0))
    return np.where(pid < 0, UNKNOWN_ID, pid)[thread], np.where(nameless, UNKNOWN_ID, tid)[thread]
