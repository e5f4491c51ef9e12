"""Derives context switches from samples of ``sched:sched_switch``, if the recording has no context-switch records.

This needs recordings of whole CPUs (``perf record -a``), which have every switch: the thread that comes to a CPU is the
next one to leave it. Recordings of selected threads have their switches out, but hardly any switches in, and are
ignored.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    Bools,
    argsort_rows,
    as_int32,
    as_int64,
    flatnonzero,
    group_rows,
    minus_ones,
    repeat,
    sum_of,
    take_rows_of,
)
from perf2x.features.schedule.schedule import (
    SWITCH,
    SwitchSamples,
    kinds_of_states,
    rows_called,
    switch_samples,
)
from perf2x.model.profile import Profile, Threads, ThreadSwitches, Wait
from perf2x.model.recording import Recording

_COMPLETE = 0.9
"""Minimum share of samples whose thread is the one that came with the CPU's previous sample; a few may be lost."""


def with_traced_switches(profile: Profile, recording: Recording) -> Profile:
    """Return the profile with the switches of its threads, if samples of sched_switch show all of them."""
    if profile.switches is not None or not rows_called(recording.session.events, SWITCH):
        return profile
    return replace(profile, switches=traced_switches(switch_samples(recording)[0], profile.threads))


def traced_switches(traced: SwitchSamples, threads: Threads) -> ThreadSwitches | None:
    """Return switches in time order; None if too often the thread that leaves a CPU is not the one that came last.

    ::

        samples of a CPU    A → B    B → A    A → idle
        switches            A out    B out    A out
                            B in     A in
    """
    traced = take_rows_of(traced, traced.by_cpu)
    tid, leaves_next = _followed(traced)
    if not leaves_next.any():
        return None
    left = _rows_of(threads, as_int64(traced.pid), tid)
    came = np.where(leaves_next, np.append(left[1:], -1), _rows_of(threads, minus_ones(len(tid)), traced.next_tid))
    no_thread = minus_ones(len(tid))
    switches = ThreadSwitches(
        time=np.tile(traced.time, 2),
        thread=as_int32(np.append(left, came)),
        is_out=repeat([True, False], len(tid)),
        cpu=np.tile(traced.cpu, 2),
        is_preempted=np.append(kinds_of_states(traced.state) == Wait.PREEMPTED, no_thread > 0),
        state=np.append(traced.state, no_thread),
    )
    kept = flatnonzero(switches.thread >= 0)
    return take_rows_of(
        switches, kept[argsort_rows([switches.time[kept], switches.thread[kept], switches.is_out[kept]])]
    )


def _followed(traced: SwitchSamples) -> tuple[I64, Bools]:
    """Return (samples,) the tid that left, and whether the thread that came leaves with the CPU's next sample.

    ``traced`` is sorted by CPU and time. If too few samples are followed in this way (`_COMPLETE`), none counts. An
    exiting thread has lost its tid (−1); it must be the thread that came before.
    """
    same_cpu = traced.cpu[1:] == traced.cpu[:-1]
    followed = same_cpu & (traced.next_tid[:-1] >= 0)
    tid = traced.tid.copy()
    tid[1:] = np.where(followed & (tid[1:] < 0), traced.next_tid[:-1], tid[1:])
    fits = followed & (tid[1:] == traced.next_tid[:-1])
    enough = sum_of(fits) >= _COMPLETE * sum_of(same_cpu)
    return tid, np.append(fits & enough, False)[: len(tid)]


def _rows_of(threads: Threads, pid: I64, tid: I64) -> I64:
    """Return the row of Threads for each (pid, tid), else of any thread with that tid; −1 if there is none."""
    exact = dict(zip(zip(threads.pid.tolist(), threads.tid.tolist(), strict=True), range(len(threads)), strict=False))
    by_tid = {number: row for (_, number), row in exact.items()}
    first, group = group_rows([pid, tid])
    pairs = zip(pid[first].tolist(), tid[first].tolist(), strict=True)
    rows = [exact.get(pair, by_tid.get(pair[1], -1)) for pair in pairs]
    return as_int64(rows)[group]
