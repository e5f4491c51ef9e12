"""Waits cost the same functions however ``--off-cpu`` shows them, in sums and in timelines, from every kind of record.

The recordings of the repository have stacks of programs alone, so kernel stacks are forged.
"""

import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perf2x import SymbolOptions, read, sample_table
from tests.forge import Comm, Event, Mmap, Record, Sample, Session, Stamp, Switch, write_file
from tests.forge import kernel as k
from tests.support.recordings import ROOT

KERNEL = 0xFFFF_FFFF_8100_0000
NAMES = (
    "_stext", "do_syscall_64", "futex_do_wait", "poll_idle", "schedule", "__schedule", "schedule_timeout_idle",
    "schedule_timeout", "finish_task_switch.isra.0", "kswapd", "preempt_schedule_irq",
)  # fmt: skip
RAN = ("do_syscall_64", "schedule", "__schedule", "finish_task_switch.isra.0")
"""The scheduler itself on a CPU: no wait, so nothing is cut."""
WAITS = (
    ("do_syscall_64", "futex_do_wait", "schedule", "__schedule"),
    ("kswapd", "schedule_timeout_idle", "schedule_timeout", "schedule", "__schedule"),
    RAN,
)
ENDS = "futex_do_wait", "kswapd", "do_syscall_64"
"""The innermost function of each of WAITS that is not the scheduler's."""
MS = 1_000_000
TYPE = Event().sample_type | k.IDENTIFIER
CLOCK = Event(sample_type=TYPE, ids=(1,), flags=frozenset({"sample_id_all", "freq"}), period=1000)
TRACED = Event(name="sched:sched_switch", type=2, config=316, period=1, sample_type=TYPE, ids=(2,))
MEASURED = Event(name="offcpu-time", type=1, config=10, sample_type=TYPE | k.RAW, ids=(2,), period=1)
DATA = ROOT / "tests"
RECORDINGS = (
    "unit/cli/data/clocked.data", "unit/cli/data/sleepers.data", "laws/schedules/switches.data",
    "laws/schedules/tracepoint.data",
)  # fmt: skip
"""Real ones, of programs alone."""


def chain(names: tuple[str, ...]) -> tuple[int, ...]:
    """Innermost first; each address lies within its function, behind a call."""
    return (k.CONTEXT_KERNEL, *(KERNEL + 0x100 * NAMES.index(name) + 0x10 for name in reversed(names)))


def sampled(event: int, time: int, names: tuple[str, ...], **more: object) -> Sample:
    addresses = chain(names)
    return Sample(
        event=event, id=1 + event, pid=7, tid=7, time=time, ip=addresses[1], chain=addresses, mode=k.KERNEL, **more
    )


def switch(time: int, *, out: bool) -> Switch:
    return Switch(is_out=out, stamp=Stamp(pid=7, tid=7, time=time, id=1))


def records_of(kind: str) -> list[Record]:
    """Waits of 5 ms in each of WAITS; a sample of the clock in the same stack stands shortly before and behind each."""
    records: list[Record] = []
    for turn, names in enumerate(WAITS):
        left = (10 + 6 * turn) * MS
        records += [sampled(0, time, names, period=MS) for time in (left - 20_000, left + 5 * MS)]
        if kind == "tracepoint":
            records.append(sampled(1, left, names, period=1))
        elif kind == "switches":
            records += [switch(left, out=True), switch(left + 5 * MS, out=False)]
        else:
            raw = struct.pack(f"<iiQQ{len(chain(names))}QQ", 7, 7, 5 * MS, len(chain(names)), *chain(names), 0)
            records.append(sampled(1, left + 5 * MS, names, period=1, raw=raw))
    return records


def recorded(kind: str, folder: Path) -> tuple[Path, SymbolOptions]:
    """A forged recording with kernel stacks, and where the kernel's names are."""
    events = {"switches": (CLOCK,), "tracepoint": (CLOCK, TRACED), "measured": (CLOCK, MEASURED)}[kind]
    lines = [f"{KERNEL + 0x100 * row:x} T {name}\n" for row, name in enumerate((*NAMES, "_etext"))]
    (folder / "kallsyms").write_text("".join(lines))
    kernel = Mmap(
        pid=2**32 - 1, tid=0, addr=KERNEL, len=0x10_0000, pgoff=KERNEL, filename="[kernel.kallsyms]_text", misc=k.KERNEL
    )
    path = folder / "waits.data"
    path.write_bytes(write_file(Session(events=events), [kernel, Comm(pid=7, tid=7, comm="app"), *records_of(kind)]))
    return path, SymbolOptions(kallsyms=folder / "kallsyms")


def selfs(path: Path, *, timeline: bool, events: set[str], **options: Any) -> Counter[tuple[int, str, str]]:
    """Cost in nanoseconds by thread, innermost function and object."""
    table = sample_table(read(path, timeline=timeline, **options).profile)
    found: Counter[tuple[int, str, str]] = Counter()
    for shown, cost, *key in zip(
        *(table[name] for name in ("event", "value", "tid", "function", "object")), strict=True
    ):
        if shown in events:
            found[*key] += cost
    return found


TIMES = pytest.mark.parametrize("timeline", [False, True], ids=["sums", "timeline"])


def check(path: Path, clock: str, *, timeline: bool, **options: Any) -> Counter[tuple[int, str, str]]:
    """Return what waits cost, which is the same in every way."""
    waits, ways = {"off-cpu", "offcpu-time"}, {"": {clock}, "merged": {"wall-clock"}}
    alone, merged, apart, beside = (
        selfs(path, timeline=timeline, events=ways.get(how, waits), off_cpu=how, **options)
        for how in ("", "merged", "apart", "beside")
    )
    assert apart == beside and apart
    assert merged == alone + apart
    return apart


@TIMES
@pytest.mark.parametrize("kind", ["tracepoint", "switches", "measured"])
def test_a_wait_costs_what_called_the_scheduler(kind: str, timeline: bool, tmp_path: Path) -> None:
    path, symbols = recorded(kind, tmp_path)
    apart = check(path, "cpu-clock", timeline=timeline, symbols=symbols)
    assert {name: cost for (_, name, _), cost in apart.items()} == dict.fromkeys(ENDS, 5 * MS)


@TIMES
@pytest.mark.parametrize("name", RECORDINGS)
def test_waits_and_the_clock_are_the_wall_clock(name: str, timeline: bool) -> None:
    clock = "cpu-clock/freq=999/" if "tracepoint" in name else "cpu-clock"
    check(DATA / name, clock, timeline=timeline, symbols=None)
