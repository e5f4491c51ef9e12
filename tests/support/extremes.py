"""Recordings in which one number after the other has the values that numbers of its width end at."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from tests import forge
from tests.forge import kernel as k

_NOT_NUMBERS = frozenset({"event", "size"})
"""The record to forge: its event, and its length in bytes."""
_UNSAID = frozenset({"id", "stack_used", "nr"})
"""Numbers that the forge works out when they are None."""
VALUES = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
SAMPLED = (
    k.IDENTIFIER | k.IP | k.TID | k.TIME | k.ADDR | k.ID | k.STREAM_ID | k.CPU | k.PERIOD | k.CALLCHAIN | k.WEIGHT
    | k.DATA_SRC | k.TRANSACTION | k.PHYS_ADDR | k.CGROUP | k.DATA_PAGE_SIZE | k.CODE_PAGE_SIZE
)  # fmt: skip
FLAGS = frozenset({"sample_id_all", "mmap", "comm", "task", "context_switch", "cgroup"})
EVENT = forge.Event(sample_type=SAMPLED, flags=FLAGS, ids=(5, 6))
COUNTING = forge.Event(
    name="counting", sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CPU | k.READ | k.CALLCHAIN, flags=FLAGS,
    ids=(15, 16), read_format=k.READ_ENABLED | k.READ_RUNNING | k.READ_ID | k.READ_GROUP,
)  # fmt: skip
BRANCHING = forge.Event(
    name="branching", sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CPU | k.BRANCH_STACK | k.CALLCHAIN,
    flags=FLAGS, ids=(25,), branch_sample_type=k.BRANCH_CALL_STACK | k.BRANCH_HW_INDEX,
)  # fmt: skip
COPYING = forge.Event(
    name="copying", ids=(35,), flags=FLAGS, sample_regs_user=0xFF0FFF, sample_stack_user=64,
    sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CPU | k.REGS_USER | k.STACK_USER | k.CALLCHAIN,
)  # fmt: skip
EVENTS = (EVENT, COUNTING, BRANCHING, COPYING)
SESSION = forge.Session(EVENTS)
STAMP = forge.Stamp(10, 10, 500, 1, 5)
SAMPLE = forge.Sample(
    pid=10, tid=11, time=1000, cpu=1, ip=0x1100, period=7, chain=(k.CONTEXT_USER, 0x1100, 0x1200), cgroup=3,
)  # fmt: skip
RECORDS: tuple[forge.Record, ...] = (
    SAMPLE,
    forge.Mmap(pid=10, tid=10, addr=0x1000, len=0x1000),
    forge.Mmap2(pid=10, tid=10, addr=0x3000, len=0x1000, major=8, minor=1, inode=77, filename="/bin/other"),
    forge.Comm(pid=10, tid=11, comm="worker"),
    forge.Fork(pid=12, ppid=10, tid=12, ptid=10, time=700),
    forge.Exit(pid=12, ppid=10, tid=12, ptid=10, time=900),
    forge.Lost(id=5, lost=3),
    forge.LostSamples(lost=2),
    forge.Throttle(time=800, id=5, stream_id=5),
    forge.Throttle(time=810, id=5, stream_id=5, lifted=True),
    forge.Read(pid=10, tid=10, words=(1,)),
    forge.Switch(is_out=True),
    forge.SwitchCpuWide(next_prev_pid=10, next_prev_tid=11),
    forge.Namespaces(pid=10, tid=10, links=((1, 2), (1, 3))),
    forge.Ksymbol(addr=0xFFFFFFFF81000000, len=0x100),
    forge.BpfEvent(id=1),
    forge.Cgroup(id=3, path="/slice"),
    forge.TextPoke(addr=1, old=b"a", new=b"b"),
    forge.CallchainDeferred(cookie=9, ips=(0x1100, 0x1200)),
    forge.Aux(),
    forge.ItraceStart(pid=10, tid=10),
    forge.HeaderEventType(),
    forge.IdIndex(entries=((5, 0, 1, 10),)),
    forge.ThreadMap(threads=((10, "worker"),)),
    forge.TimeConv(),
    forge.BuildId(build_id=bytes(range(20)), filename="/bin/prog"),
    forge.EventUpdate(kind=0, id=5, value="ns"),
)
FEATURES = forge.Features(
    cpus=(4, 4), total_memory_kb=100, build_ids=(("/bin/prog", bytes(20)),), pmus=((4, "cpu"),),
    groups=(("g", 0, 2),), sample_time=(5, 9), clock=(1, 10, 20), compressed=(1, 1, 1, 2, 4096),
)  # fmt: skip
DEFERRED_SAMPLE = replace(SAMPLE, time=480, chain=(k.CONTEXT_USER_DEFERRED, 9))
OTHERS = (
    replace(SAMPLE, event=1, id=15, read=forge.GroupRead((forge.ReadValue(4, 15), forge.ReadValue(5, 16)), 6, 7)),
    replace(SAMPLE, event=2, id=25, branches=(forge.Branch(0x1100, 0x1200), forge.Branch(0x1210, 0x1300))),
    replace(SAMPLE, event=3, id=35, regs_user=forge.Registers(2, (0x1100,) * 20), stack=bytes(64)),
)
BASE = (*(replace(record, stamp=STAMP) for record in RECORDS), DEFERRED_SAMPLE, *OTHERS)


def places() -> Iterator[tuple[str, Callable[[], list[bytes]]]]:
    """Each number of each record, event and section: its name, and recordings with each of the values in its place.

    A recording is empty where the place is too narrow for the value.
    """
    for number, record in enumerate(BASE):
        for name, variants in _variants(record):
            kind = type(record).__name__ + (str(record.event) if record.event else "")
            yield f"{kind}.{name}", partial(_with_records, number, variants)
    for number, event in enumerate(EVENTS):
        for name, variants in _variants(event):
            changed = [(*EVENTS[:number], one, *EVENTS[number + 1 :]) for one in variants]
            sessions = [replace(SESSION, events=events) for events in changed]
            yield f"Event{number}.{name}", partial(_of_sessions, sessions)
    for name, variants in _variants(FEATURES):
        yield f"Features.{name}", partial(_of_sessions, [replace(SESSION, features=one) for one in variants])


def with_all_at_once(value: int) -> bytes:
    """A recording that has this value in every number of every record, in each in a record of its own."""
    at, records = VALUES.index(value), list(BASE)
    for record in BASE:
        changed = [variants[at] for _, variants in _variants(record)]
        records += [one for one in changed if _is_encodable(one)]
    return forge.write_file(SESSION, records)


def _is_encodable(record: forge.Record) -> bool:
    try:
        record.encode(EVENTS, "<")
    except struct.error:
        return False
    return True


def _variants(holder: Any) -> Iterator[tuple[str, list[Any]]]:
    """Each number in a dataclass, also in what it holds: the place, and what it is with each value there."""
    for field in fields(holder):
        held = getattr(holder, field.name)
        if field.name in _NOT_NUMBERS or (held is None and field.name not in _UNSAID):
            continue
        for name, values in _changed(held):
            yield f"{field.name}{name}", [replace(holder, **{field.name: value}) for value in values]


def _changed(held: Any) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(held, bool):
        return
    if isinstance(held, int) or held is None:
        yield "", list(VALUES)
    elif isinstance(held, tuple):
        for at, one in enumerate(held[:2]):
            for name, values in _changed(one):
                yield f"[{at}]{name}", [(*held[:at], value, *held[at + 1 :]) for value in values]
    elif hasattr(held, "__dataclass_fields__"):
        for name, values in _variants(held):
            yield f".{name}", values


def _with_records(number: int, records: list[forge.Record]) -> list[bytes]:
    return [_written(SESSION, [*BASE[:number], record, *BASE[number:]]) for record in records]


def _of_sessions(sessions: list[forge.Session]) -> list[bytes]:
    return [_written(session, BASE) for session in sessions]


def _written(session: forge.Session, records: Sequence[forge.Record]) -> bytes:
    try:
        return forge.write_file(session, records)
    except (struct.error, OverflowError, ValueError):
        return b""
