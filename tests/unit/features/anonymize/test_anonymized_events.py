"""Names of events under ``--anonymize``: those of the kernel and of counters stay, those that users chose do not."""

import re

import pytest
from msgspec.structs import replace

from perf2x import read
from perf2x.features.anonymize.hash_names import anonymized
from perf2x.model.profile.profile import ProfileEvent
from tests.support.command import recording

PUBLIC = (
    "cpu-clock", "cycles:Pu", "cpu_core/cycles/", "cpu/event=0x3c,umask=0x1/u", "sched:sched_switch",
    "syscalls:sys_enter_read:k", "mem:0x404028:rw", "mem:0x404028:rw:u", "skx::INST_RETIRED:ANY",
    "raw_syscalls:sys_enter", "offcpu-time",
)  # fmt: skip
OWN = (
    "probe:tcp_sendmsg", "probe_libc:malloc", "sdt_libc:setjmp", "checkout:pay", "checkout:pay__return:u",
    "user_events:login", "synthetic:latency",
)  # fmt: skip


def hidden(*events: ProfileEvent) -> list[str]:
    profile = read(recording("calls"), symbols=None).profile
    whole = replace(profile, events=(*profile.events, *events))
    return [event.name for event in anonymized(whole, "s3cret").events[len(profile.events) :]]


def event(name: str) -> ProfileEvent:
    return ProfileEvent(name, "count", 1, 0)


def test_events_of_the_kernel_and_of_counters_stay() -> None:
    assert hidden(*map(event, PUBLIC)) == list(PUBLIC)


@pytest.mark.parametrize("name", OWN)
def test_groups_and_names_of_probes_go(name: str) -> None:
    (shown,) = hidden(event(name))
    assert re.fullmatch(r"event-[0-9a-f]{10}", shown)
