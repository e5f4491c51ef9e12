"""Waits without the scheduler's own frames: what called it is what a thread waited for."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import Bools
from perf2x.base.columnar.ragged import row_numbers
from perf2x.model.profile.profile import Profile, Wait

_SCHEDULER = frozenset({
    "__schedule", "__schedule_loop", "finish_task_switch", "io_schedule", "io_schedule_timeout", "preempt_schedule",
    "preempt_schedule_common", "preempt_schedule_irq", "preempt_schedule_notrace", "prepare_to_wait_event", "schedule",
    "schedule_hrtimeout", "schedule_hrtimeout_range", "schedule_hrtimeout_range_clock", "schedule_preempt_disabled",
    "schedule_timeout",
})  # fmt: skip
"""Functions of kernel/sched/core.c and kernel/time/{timer,sleep_timeout}.c that every wait ends in."""


def without_scheduler_frames(profile: Profile) -> Profile:
    """Return the profile with each wait at its innermost frame outside of the scheduler; a wait keeps its outermost."""
    samples, parent = profile.samples, profile.stacks.parent.astype(np.int64)
    is_cut = (_in_scheduler(profile)[profile.stacks.location] if len(parent) else np.zeros(0, np.bool_)) & (parent >= 0)
    stack = samples.stack.astype(np.int64)
    rows = np.flatnonzero(_waits(profile) & (stack >= 0))
    while len(rows := rows[is_cut[stack[rows]]]):
        stack[rows] = parent[stack[rows]]
    return replace(profile, samples=replace(samples, stack=stack.astype(samples.stack.dtype)))


def _waits(profile: Profile) -> Bools:
    """(samples,) bool"""
    samples = profile.samples
    of_waits = np.array([event.is_wait for event in profile.events], np.bool_)[samples.event]
    if samples.wait is None:
        return of_waits
    return of_waits | ~np.isin(samples.wait, (Wait.RAN, Wait.TRACED))


def _in_scheduler(profile: Profile) -> Bools:
    """(locations,) True for code of the kernel all of whose functions are the scheduler's."""
    locations, strings = profile.locations, profile.strings
    names = [strings[row].partition(".")[0] in _SCHEDULER for row in profile.functions.name.tolist()]
    lines = np.diff(locations.line_offsets)
    inside = np.zeros(len(locations), np.int64)
    np.add.at(inside, row_numbers(lines), np.array(names, np.bool_)[locations.line_function])
    found: Bools = (lines > 0) & (inside == lines) & (locations.mode == CpuMode.KERNEL)
    return found
