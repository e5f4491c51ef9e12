"""Tracks of a timeline: one for each thread, and one for each CPU's idle thread; or one for each CPU."""

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
"""Replaces unknown ids (−1), because viewers turn negative ids into 0; just above the kernel's PID_MAX_LIMIT."""

FIRST_CPU_ID = 4_194_306
"""Pid and tid of the track of CPU 0; CPU n has this number plus n.

Each CPU is a process of its own, so that viewers, which show a process's name first, show "CPU 3".
"""


class Tracks(ColumnTable):
    """One row per track, by pid, then tid."""

    pid: I64
    tid: I64
    thread: I64
    """Row of Profile.threads that names the track; of several, the one that was sampled last. Tracks of CPUs have 0."""
    cpu: I64
    """The CPU of an idle thread's or a CPU's track; −1 for all other threads."""


def tracks_of(profile: Profile) -> tuple[Tracks, I64]:
    """Return all tracks of threads, and (samples,) the track of each sample, a row of Tracks.

    Idle threads get the tid 1 + CPU, because viewers merge threads of equal ids, and take tid 0 for "unknown".
    """
    cpus = profile.samples.cpus
    width = int(cpus.max(initial=-1)) + 2
    pairs, sample_pairs = unique_inverse(as_int64(profile.samples.thread) * width + cpus + 1)
    thread, cpu = pairs // width, pairs % width - 1
    pid, tid = shown_ids(profile, thread)
    is_idle = (pid == 0) & (tid == 0)
    cpu[~is_idle] = -1
    tid[is_idle] = 1 + np.maximum(cpu[is_idle], 0)
    ids, pair_tracks = unique_inverse(pid << 32 | tid)
    sample_tracks = pair_tracks[sample_pairs]
    last_sample = zeros(len(ids))
    last_sample[sample_tracks] = arange(len(sample_tracks))  # the last assignment wins: samples are in time order
    last_pair = sample_pairs[last_sample]
    return Tracks(ids >> 32, ids & 0xFFFFFFFF, thread[last_pair], cpu[last_pair]), sample_tracks


def switch_tracks(profile: Profile, switches: ThreadSwitches) -> I64:
    """Return (switches,) the track of each switch's thread; −1 for a thread that has none."""
    tracks, _ = tracks_of(profile)
    pid, tid = shown_ids(profile, as_int64(switches.thread))
    is_idle = (pid == 0) & (tid == 0)
    tid[is_idle] = 1 + switches.cpu[is_idle]
    tid[is_idle & (switches.cpu < 0)] = -1
    ids = tracks.pid << 32 | tracks.tid
    row = np.minimum(searchsorted(ids, pid << 32 | tid), max(len(ids) - 1, 0))
    return np.where(ids[row] == (pid << 32 | tid), row, -1) if len(ids) else minus_ones(len(pid))


def has_cpus(profile: Profile) -> bool:
    """Return whether the CPU of any sample is known."""
    return int(profile.samples.cpus.max(initial=-1)) >= 0


def cpu_tracks_of(profile: Profile) -> Tracks:
    """Return one track per CPU of the samples."""
    cpu = profile.samples.cpus
    cpus = as_int64(unique(cpu[cpu >= 0]))
    return Tracks(FIRST_CPU_ID + cpus, FIRST_CPU_ID + cpus, zeros(len(cpus)), cpus)


def track_names(profile: Profile, tracks: Tracks) -> list[tuple[str, str]]:
    """Return the names of each track and its process: ``swapper/3`` and ``idle`` for an idle thread.

    Tracks of CPUs have ``CPU 3`` for both.
    """
    threads, strings = profile.threads, profile.strings
    comm, process = (column[tracks.thread].tolist() for column in (threads.comm, threads.process))
    rows = zip(tracks.pid.tolist(), tracks.cpu.tolist(), comm, process, strict=True)
    return [
        (f"CPU {cpu}",) * 2
        if pid >= FIRST_CPU_ID
        else (strings[name] if cpu < 0 else f"swapper/{cpu}", strings[process_name] if pid else "idle")
        for pid, cpu, name, process_name in rows
    ]


def shown_ids(profile: Profile, thread: I64 | slice) -> tuple[I64, I64]:
    """Return pids and tids of threads (rows of Profile.threads); UNKNOWN_ID for unknown ones.

    Perfetto would take tid 0 for the process's main thread; only process 0 keeps it.
    """
    pid, tid = as_int64(profile.threads.pid), as_int64(profile.threads.tid)
    is_unknown = (tid < 0) | ((tid == 0) & (pid != 0))
    return np.where(pid < 0, UNKNOWN_ID, pid)[thread], np.where(is_unknown, UNKNOWN_ID, tid)[thread]
