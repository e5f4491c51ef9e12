"""Names of events under ``--anonymize``: those of the kernel and of counters stay, those that users chose do not."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf2x import read
from perf2x.model.profile.profile import ProfileEvent
from perf2x.transforms.anonymize import anonymized
from tests.forge import Event, Sample, Session, write_file
from tests.forge import kernel as k
from tests.support.command import perf2x, recording

PUBLIC = (
    "cpu-clock", "cycles:Pu", "cpu_core/cycles/", "cpu/event=0x3c,umask=0x1/u", "sched:sched_switch",
    "syscalls:sys_enter_read:k", "mem:0x404028:rw", "mem:0x404028:rw:u", "skx::INST_RETIRED:ANY",
    "raw_syscalls:sys_enter", "offcpu-time",
)  # fmt: skip
OWN = (
    "probe:tcp_sendmsg", "probe_libc:malloc", "sdt_libc:setjmp", "checkout:pay", "checkout:pay__return:u",
    "user_events:login", "synthetic:latency",
)  # fmt: skip
PAIRS = {"contention_begin:contention_end": True, "sys_enter:sys_exit/id,tid": True, "pay:pay__return": False,
         "checkout:pay:checkout:pay__return": False, "block_rq_issue:pay": False, "off-cpu": True}  # fmt: skip
"""Events of durations, and whether all that they name is public."""


def hidden(*events: ProfileEvent) -> list[str]:
    profile = read(recording("calls"), symbols=None).profile
    whole = replace(profile, events=(*profile.events, *events))
    return [event.name for event in anonymized(whole, "s3cret").events[len(profile.events) :]]


def event(name: str, is_wait: bool = False) -> ProfileEvent:
    return ProfileEvent(name, "count", 1, 0, is_wait=is_wait)


def test_events_of_the_kernel_and_of_counters_stay() -> None:
    assert hidden(*map(event, PUBLIC)) == list(PUBLIC)


@pytest.mark.parametrize("name", OWN)
def test_groups_and_names_of_probes_go(name: str) -> None:
    (shown,) = hidden(event(name))
    assert re.fullmatch(r"event-[0-9a-f]{10}", shown)


def test_durations_between_probes_go_with_them() -> None:
    shown = hidden(*map(event, OWN), *(event(name, is_wait=True) for name in PAIRS))[len(OWN) :]
    assert [after == before for before, after in zip(PAIRS, shown, strict=True)] == list(PAIRS.values())


def test_figures_of_pairs_name_no_probe(tmp_path: Path) -> None:
    shared = {"type": 2, "period": 1, "sample_type": k.IDENTIFIER | k.IP | k.TID | k.TIME | k.RAW}
    events = tuple(
        Event(name=f"checkout:{name}", config=row, ids=(row,), **shared) for row, name in ((1, "pay"), (2, "paid"))
    )
    samples = [
        Sample(event=row, id=row + 1, pid=7, tid=7, time=1000 + row, period=1, ip=1, raw=bytes(12)) for row in (0, 1)
    ]
    (tmp_path / "perf.data").write_bytes(write_file(Session(events=events), samples))
    words = ("--pair", "checkout:pay:paid/tid", "--no-symbols", "--anonymize", "s3cret", "-o", tmp_path / "out.folded")
    ran = perf2x("convert", tmp_path / "perf.data", *words, "--stats", tmp_path / "stats.json")
    assert ran.code == 0, ran.said
    assert (ran.code, [name for name in ("checkout", "pay", "paid") if name in ran.said]) == (0, [])
    text = (tmp_path / "stats.json").read_text()
    assert '"pairs": 1' in text and "checkout" not in text and "pay" not in text
