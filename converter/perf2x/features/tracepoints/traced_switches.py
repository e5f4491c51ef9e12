"""Derives context switches from samples of ``sched:sched_switch``, if the recording has no context-switch records.

Recordings of whole CPUs (``perf record -a``) have a sample for every switch: the thread that gets a CPU (next_pid) is
also the one that leaves it in the CPU's next sample. From recordings of selected threads, nothing is derived.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    Bools,
    argsort_rows,
    as_int32,
    as_int64,
    falses,
    flatnonzero,
    group_rows,
    minus_ones,
    repeat,
    sum_of,
    take_rows_of,
)
from perf2x.features.schedule.schedule import (
    SCHED_SWITCH,
    SwitchSamples,
    event_rows_named,
    read_switch_samples,
    waits_of_states,
)
from perf2x.model.profile import Profile, Threads, ThreadSwitches, Wait
from perf2x.model.recording import Recording

# In at least this share of samples, the thread that leaves the CPU must be the one that got it in the CPU's previous
# sample. The share is below 1, because a few samples may be lost.
_MIN_SHARE = 0.9


def with_traced_switches(profile: Profile, recording: Recording) -> Profile:
    """Add the switches of all threads to the profile, if it has none yet and samples of sched_switch show every one."""
    if profile.switches is not None or not event_rows_named(recording.session.events, SCHED_SWITCH):
        return profile
    return replace(profile, switches=traced_switches(read_switch_samples(recording)[0], profile.threads))


def traced_switches(samples: SwitchSamples, threads: Threads) -> ThreadSwitches | None:
    """Return the switches in order of time; None if the samples do not show every switch.

    Each sample is a switch-out and a switch-in::

        samples of a CPU    A → B    B → A    A → idle
        switches            A out    B out    A out
                            B in     A in
    """
    samples = take_rows_of(samples, samples.rows_by_cpu)
    tid, leaves_in_next = _departing_tids(samples)
    if not leaves_in_next.any():
        return None
    departing = _thread_rows(threads, as_int64(samples.pid), tid)
    arriving = np.where(
        leaves_in_next, np.append(departing[1:], -1), _thread_rows(threads, minus_ones(len(tid)), samples.next_tid)
    )
    switches = ThreadSwitches(
        time=np.tile(samples.time, 2),
        thread=as_int32(np.append(departing, arriving)),
        is_out=repeat([True, False], len(tid)),
        cpu=np.tile(samples.cpu, 2),
        is_preempted=np.append(waits_of_states(samples.state) == Wait.PREEMPTED, falses(len(tid))),
        state=np.append(samples.state, minus_ones(len(tid))),  # a switch-in has no state
    )
    kept = flatnonzero(switches.thread >= 0)
    return take_rows_of(
        switches, kept[argsort_rows([switches.time[kept], switches.thread[kept], switches.is_out[kept]])]
    )


def _departing_tids(samples: SwitchSamples) -> tuple[I64, Bools]:
    """Return (samples,) the tid of the thread that leaves, and whether the one that gets the CPU leaves it next.

    ``samples`` are sorted by CPU and time. An exiting thread's tid is −1; the previous ``next_tid`` replaces it. The
    second result is all False below `_MIN_SHARE`.
    """
    same_cpu = samples.cpu[1:] == samples.cpu[:-1]
    has_next = same_cpu & (samples.next_tid[:-1] >= 0)
    tid = samples.tid.copy()
    tid[1:] = np.where(has_next & (tid[1:] < 0), samples.next_tid[:-1], tid[1:])
    leaves_in_next = has_next & (tid[1:] == samples.next_tid[:-1])
    is_complete = sum_of(leaves_in_next) >= _MIN_SHARE * sum_of(same_cpu)
    return tid, np.append(leaves_in_next & is_complete, False)[: len(tid)]


def _thread_rows(threads: Threads, pid: I64, tid: I64) -> I64:
    """Prefer threads with the pid; −1 if no thread has the tid."""
    row_by_pid_and_tid = dict(
        zip(zip(threads.pid.tolist(), threads.tid.tolist(), strict=True), range(len(threads)), strict=False)
    )
    row_by_tid = {number: row for (_, number), row in row_by_pid_and_tid.items()}
    first, group = group_rows([pid, tid])
    pairs = zip(pid[first].tolist(), tid[first].tolist(), strict=True)
    rows = [row_by_pid_and_tid.get(pair, row_by_tid.get(pair[1], -1)) for pair in pairs]
    return as_int64(rows)[group]
