"""Filters on a profile: by event, thread, object, function, mode and depth."""

from collections.abc import Callable

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.errors import OptionError
from perf2x.model.filters.profile_filters import (
    keep_comms,
    keep_events,
    keep_frames,
    keep_functions,
    keep_innermost,
    keep_objects,
    matches_event_pattern,
)
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import stack_locations
from perf2x.testing import ProfileBuilder


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("cycles:P", "cycles", True),
        ("cycles:P", "cycles:P", True),
        ("page-faults/period=50/", "page-faults", True),
        ("cpu/cycles,period=9/u", "cpu", True),
        ("sched:sched_switch", "sched", False),
        ("sched:sched_switch", "sched:*", True),
        ("cycles", "cycle", False),
    ],
)
def test_event_patterns(name: str, pattern: str, expected: bool) -> None:
    assert matches_event_pattern(pattern, name) is expected


@pytest.fixture
def profile() -> Profile:
    """Samples worth 1, 2, 4 … so that every sum tells which are in it."""
    made = ProfileBuilder()
    made.event("cycles:P", "count")
    made.event("page-faults", "count")
    main, pool = made.thread("main", 7), made.thread("pool-1", 7, 8)
    app, libc = made.mapping("/opt/bin/app"), made.mapping("/lib/libc.so.6", 0x7F0000)
    kernel = made.mapping("[kernel.kallsyms]_text", 0xFFFF0000, kernel=True)
    start = made.location(0x400010, app, ["start"], is_caller=True)
    copy = made.location(0x7F0010, libc, [("memcpy", "copy.c", 3), ("parse", "parse.c", 9)])
    bare, other = made.location(0x7F0100, libc), made.location(0x10)
    syscall = made.location(0xFFFF0010, kernel, ["sys_read"], mode=CpuMode.KERNEL)
    entry = made.location(0xFFFF0100, kernel, mode=CpuMode.KERNEL)
    stacks = (
        ([start], main, 0), ([start, copy], main, 0), ([start, bare], pool, 0), ([other], pool, 0),
        ([start, copy, syscall], main, 0), ([entry], main, 1), ([], main, 0),
    )  # fmt: skip
    for bit, (stack, thread, event) in enumerate(stacks):
        made.sample(stack, thread, event, value=1 << bit, count=1 << bit)
    return made.build()


def kept(profile: Profile) -> int:
    """The sum of what is left."""
    profile.check()
    return int(profile.samples.value.sum())


@pytest.mark.parametrize(
    ("how", "patterns", "left"),
    [
        (keep_events, ("cycles",), 95),
        (keep_events, ("page*",), 32),
        (keep_events, ("page*", "cycles:P"), 127),
        (keep_comms, ("main",), 115),
        (keep_comms, ("pool-*",), 12),
        (keep_comms, ("pool-?", "main"), 127),
        (keep_objects, ("app",), 1),
        (keep_objects, ("/opt/bin/app",), 1),
        (keep_objects, ("libc.so.6",), 6),
        (keep_objects, ("lib*", "app"), 7),
        (keep_objects, ("[kernel.kallsyms]",), 48),
        (keep_objects, ("[[]kernel*",), 48),
        (keep_objects, ("[kernel.kallsyms]_text",), 48),
        (keep_functions, ("start",), 1),
        (keep_functions, ("memcpy",), 2),  # inlined into parse
        (keep_functions, ("parse",), 2),
        (keep_functions, ("[libc.so.6]",), 4),
        (keep_functions, ("[unknown]",), 8),
        (keep_functions, ("[kernel.kallsyms]",), 32),
        (keep_functions, ("[[]*",), 44),
        (keep_functions, ("sys_*", "start"), 17),
        (keep_functions, ("0x7f0100",), 4),
        (keep_functions, ("0x7f0010-0x7f0100",), 6),
        (keep_functions, ("0x7f0011-0x7f0100",), 4),
        (keep_functions, ("0x7f0010-0x7f00ff", "0x10"), 10),
        (keep_functions, ("0x10", "start"), 9),
    ],
)
def test_what_is_kept(
    profile: Profile, how: Callable[[Profile, tuple[str, ...]], Profile], patterns: tuple[str, ...], left: int
) -> None:
    """Of samples taken in an object or function; its callers do not count."""
    assert kept(how(profile, patterns)) == left


@pytest.mark.parametrize(
    ("how", "pattern", "sentence"),
    [
        (keep_events, "cycle", "no event 'cycle'; did you mean cycles:P? The file has: cycles:P, page-faults"),
        (keep_comms, "idle", "no thread called 'idle'; the file has: main, pool-1"),
        (keep_objects, "lib", "no object 'lib'; the file has: [kernel.kallsyms], libc.so.6, app"),
        (keep_functions, "x", "no function 'x'; the file has: sys_read, "),
        (keep_functions, "0x7f0011", "no sample at 0x7f0011"),
        (keep_functions, "0x7f0011-0x7f0012", "no sample at 0x7f0011 to 0x7f0012"),
        (keep_functions, "0xffffffffffffffff", "no sample at 0xffffffffffffffff"),
    ],
)
def test_what_is_not_there(
    profile: Profile, how: Callable[[Profile, tuple[str, ...]], Profile], pattern: str, sentence: str
) -> None:
    """The message lists what the file has, most samples first."""
    with pytest.raises(OptionError) as error:
        how(profile, (pattern,))
    assert str(error.value).startswith(sentence)


def test_a_caller_is_no_place_where_a_sample_was_taken() -> None:
    made = ProfileBuilder()
    made.event("cycles", "count")
    made.thread()
    made.sample([made.location(0x10, lines=["outer"]), made.location(0x20, lines=["inner"])])
    with pytest.raises(OptionError, match=r"no function 'outer'; the file has: inner$"):
        keep_functions(made.build(), ("outer",))
    with pytest.raises(OptionError, match=r"no sample at 0x10$"):
        keep_functions(made.build(), ("0x10",))


def test_the_first_event_that_is_left_is_the_default(profile: Profile) -> None:
    assert keep_events(profile, ("page-faults",)).default_event == 1
    assert keep_events(profile, ("*",)).default_event == 0


def frames(profile: Profile) -> dict[int, list[int]]:
    """Value of each sample to the addresses of its stack, outermost first."""
    held = profile.samples.stack >= 0
    rows = stack_locations(profile, profile.samples.stack[held].astype("int64"))
    stacks = [profile.locations.address[row].tolist() for row in rows.rows()]
    return dict(zip(profile.samples.value[held].tolist(), stacks, strict=True))


def test_frames_of_one_mode_leave_the_others(profile: Profile) -> None:
    """Samples without a frame that is left go: 32 is the kernel's alone, 64 had none."""
    user = keep_frames(profile, "user")
    assert kept(user) == 31
    assert frames(user)[2 + 16] == [0x400010, 0x7F0010]  # these two are alike now
    kernel = keep_frames(profile, "kernel")
    assert kept(kernel) == 48
    assert frames(kernel)[16] == [0xFFFF0010]


@pytest.mark.parametrize(
    ("depth", "stack"), [(1, [0xFFFF0010]), (2, [0x7F0010, 0xFFFF0010]), (9, [0x400010, 0x7F0010, 0xFFFF0010])]
)
def test_innermost_frames(profile: Profile, depth: int, stack: list[int]) -> None:
    cut = keep_innermost(profile, depth)
    assert kept(cut) == 127
    assert frames(cut)[16] == stack
    assert frames(cut)[1] == [0x400010]
