"""Context switches of threads from samples of ``sched:sched_switch``, if no records have them.

Recordings of whole CPUs (``perf record -a``) have every switch: the thread that comes to a CPU is the next to leave it.
Recordings of some threads have their switches out, but hardly any in; such samples are ignored here.
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
"""The minimum share of a CPU's neighbouring samples that fit together; a few may be lost."""


def with_traced_switches(profile: Profile, recording: Recording) -> Profile:
    """Return the profile with the switches of its threads, if samples of sched_switch show all of them."""
    if profile.switches is not None or not rows_called(recording.session.events, SWITCH):
        return profile
    return replace(profile, switches=traced_switches(switch_samples(recording)[0], profile.threads))


def traced_switches(traced: SwitchSamples, threads: Threads) -> ThreadSwitches | None:
    """Return switches in time order; None if too many neighbouring samples of a CPU do not fit together.

    ::

        samples of a CPU    A → B    B → A    A → idle
        switches            A out    B out    A out
                            B in     A in
    """
    traced = take_rows_of(traced, traced.by_cpu)
    tid, goes_on = _followed(traced)
    if not goes_on.any():
        return None
    left = _rows_of(threads, as_int64(traced.pid), tid)
    came = np.where(goes_on, np.append(left[1:], -1), _rows_of(threads, minus_ones(len(tid)), traced.next_tid))
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
    """Return (samples,) the thread that left, and whether the CPU's next sample is of the thread that came.

    If too few are, all are False. An exiting thread has lost its tid; it must be the thread that came before.
    """
    same = traced.cpu[1:] == traced.cpu[:-1]
    followed = same & (traced.next_tid[:-1] >= 0)
    tid = traced.tid.copy()
    tid[1:] = np.where(followed & (tid[1:] < 0), traced.next_tid[:-1], tid[1:])
    fits = followed & (tid[1:] == traced.next_tid[:-1])
    enough = sum_of(fits) >= _COMPLETE * sum_of(same)
    return tid, np.append(fits & enough, False)[: len(tid)]


def _rows_of(threads: Threads, pid: I64, tid: I64) -> I64:
    """Return the row of Threads of each thread; if the process is unknown, one with the same tid; else −1."""
    exact = dict(zip(zip(threads.pid.tolist(), threads.tid.tolist(), strict=True), range(len(threads)), strict=False))
    any_process = {number: row for (_, number), row in exact.items()}
    first, group = group_rows([pid, tid])
    pairs = zip(pid[first].tolist(), tid[first].tolist(), strict=True)
    rows = [exact.get(pair, any_process.get(pair[1], -1)) for pair in pairs]
    return as_int64(rows)[group]
