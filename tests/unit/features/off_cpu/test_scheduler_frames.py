import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.features.off_cpu.wait_stacks import without_scheduler_frames
from perf2x.model.profile.profile import Profile, Wait
from perf2x.testing import ProfileBuilder

KERNEL = ("do_nanosleep", "schedule_timeout", "schedule", "__schedule", "finish_task_switch.isra.0")


def waiting(*stacks: tuple[list[str], Wait]) -> Profile:
    """Samples of one event; functions of KERNEL are the kernel's, but for those that are written with an accent."""
    builder = ProfileBuilder()
    builder.event("wall-clock", "nanoseconds")
    builder.thread("app", 7)
    known = {name: builder.function(name, CpuMode.KERNEL) for name in KERNEL}
    for time, (names, wait) in enumerate(stacks):
        frames = [known[name] if name in known else builder.function(name.strip("´")) for name in names]
        builder.sample(frames, time=time, wait=wait)
    return builder.build(timeline=True)


def innermost(profile: Profile) -> list[str]:
    found = []
    for stack in without_scheduler_frames(profile).samples.stack.tolist():
        location = profile.stacks.location[stack]
        function = profile.locations.line_function[profile.locations.line_offsets[location]]
        found.append(profile.strings[profile.functions.name[function]])
    return found


def test_a_wait_ends_at_what_called_the_scheduler() -> None:
    sleep = ["main", "do_nanosleep", "schedule_timeout", "schedule", "__schedule", "finish_task_switch.isra.0"]
    waits = [(sleep, Wait.BLOCKED), (sleep[:4], Wait.PREEMPTED), (sleep[:2], Wait.UNPLACED)]
    assert innermost(waiting(*waits)) == ["do_nanosleep"] * 3


def test_what_ran_and_what_only_has_the_name_stays() -> None:
    """A program may have a function of the name."""
    ran = (["main", "schedule"], Wait.RAN)
    assert innermost(waiting(ran, (["main", "´schedule"], Wait.BLOCKED))) == ["schedule", "schedule"]


def test_a_stack_of_nothing_else_keeps_its_outermost_frame() -> None:
    profile = waiting((["schedule", "__schedule"], Wait.BLOCKED), ([], Wait.BLOCKED))
    made = without_scheduler_frames(profile)
    assert innermost(profile)[0] == "schedule"
    assert made.samples.stack.dtype == profile.samples.stack.dtype
    assert np.array_equal(made.samples.stack < 0, profile.samples.stack < 0)
