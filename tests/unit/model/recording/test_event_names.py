"""perf's many names of an event are parsed to the event that is counted."""

import pytest

from perf2x.model.recording.event_names import EventName, parse_event_name


@pytest.mark.parametrize(
    ("text", "event", "pmu", "modes"),
    [
        ("cycles", "cycles", "", ""),
        ("cycles:P", "cycles", "", ""),
        ("cpu-clock:pppH", "cpu-clock", "", ""),
        ("cpu-clock/freq=499/", "cpu-clock", "", ""),
        ("cycles/period=5/P", "cycles", "", ""),
        ("cpu_core/cycles/", "cycles", "cpu_core", ""),
        ("cpu_core/cycles/P", "cycles", "cpu_core", ""),
        ("cpu_core/cycles,freq=99/u", "cycles", "cpu_core", "u"),
        ("cycles:u", "cycles", "", "u"),
        ("cycles:ukP", "cycles", "", ""),
        ("cycles:G", "cycles", "", "G"),
        ("cycles:ukh", "cycles", "", ""),
        ("cycles:kh", "cycles", "", "kh"),
        ("cycles:ukG", "cycles", "", "G"),
        ("cpu/event=0x3c,umask=0x0/", "cpu/event=0x3c,umask=0x0/", "", ""),
        ("sched:sched_switch", "sched:sched_switch", "", ""),
        ("syscalls:sys_enter_read:u", "syscalls:sys_enter_read", "", "u"),
        ("r1a8", "r1a8", "", ""),
        ("mem:0x1000:rw", "mem:0x1000:rw", "", ""),
    ],
)
def test_a_name_is_split_into_event_pmu_and_modes(text: str, event: str, pmu: str, modes: str) -> None:
    assert parse_event_name(text) == EventName(event, pmu, frozenset(modes))


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("cycles", "cpu_core/cycles/", True),
        ("cpu_atom/cycles/", "cpu_core/cycles/", True),
        ("armv8_pmuv3_0/cycles/", "cycles:u", True),
        ("uncore_imc_0/clockticks/", "uncore_cha_0/clockticks/", False),
        ("uncore_imc_0/clockticks/", "uncore_imc_0/clockticks/u", True),
        ("cpu/clockticks/", "uncore_imc_0/clockticks/", False),
        ("cpu-clock", "task-clock", False),
        ("cpu/event=0x3c/", "cpu/event=0x3d/", False),
    ],
)
def test_names_of_one_event_count_alike(first: str, second: str, alike: bool) -> None:
    assert parse_event_name(first).counts_like(parse_event_name(second)) == alike
    assert parse_event_name(second).counts_like(parse_event_name(first)) == alike
