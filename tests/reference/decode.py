"""Bytes of a record → one Python object with the kernel's field names."""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from tests.forge import kernel as k
from tests.reference.container import Contents, contents_of, parse
from tests.reference.names import event_names
from tests.reference.sample import decode_sample

NAMES = (
    "MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE", "FORK", "READ", "SAMPLE", "MMAP2", "AUX",
    "ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL", "BPF_EVENT", "CGROUP",
    "TEXT_POKE", "AUX_OUTPUT_HW_ID", "CALLCHAIN_DEFERRED",
)  # fmt: skip
"""Kernel record types from 1 up."""


@dataclass
class Event:
    """A perf_event_attr as far as decoding and stitching need it."""

    index: int
    name: str
    type: int
    config: int
    period: int
    sample_type: int
    read_format: int
    flags: frozenset[str]
    ids: tuple[int, ...]
    branch_sample_type: int = 0
    regs_user: int = 0
    regs_intr: int = 0
    named: bool = True
    """Whether the name is in the file."""


@dataclass
class Recording:
    order: str
    events: list[Event] = field(default_factory=list)
    records: list[SimpleNamespace] = field(default_factory=list)
    """Every kernel record: ``kind`` (its name), ``at`` (place in the file), ``event``, ``misc``, trailer and fields."""

    def of(self, *kinds: str) -> list[SimpleNamespace]:
        return [record for record in self.records if record.kind in kinds]


def read(source: Path | bytes) -> Recording:
    """Everything in a recording."""
    contents = parse(source) if isinstance(source, bytes) else contents_of(source)
    recording = Recording(contents.order, _events(contents))
    for at, raw in enumerate(contents.records):
        number = struct.unpack_from(contents.order + "I", raw)[0]
        if 1 <= number <= len(NAMES):
            recording.records.append(decode(raw, at, recording.events, contents.order))
    return recording


def _events(contents: Contents) -> list[Event]:
    names = event_names(contents)
    return [_event(index, *names[index], attr, ids, contents.order) for index, (attr, ids) in enumerate(contents.attrs)]


def _event(index: int, name: str, named: bool, raw: bytes, ids: tuple[int, ...], order: str) -> Event:
    raw = raw.ljust(144, b"\0")
    kind, size, config, period, sample_type, read_format, bits = struct.unpack_from(order + "IIQQQQQ", raw)
    size = size or 64
    raw = raw[:size].ljust(144, b"\0")
    branch, regs_user, _, _, regs_intr = struct.unpack_from(order + "QQIiQ", raw, 72)
    place = (lambda bit: bit) if order == "<" else (lambda bit: 63 - bit)
    flags = frozenset(flag for flag, bit in k.FLAG_BITS.items() if bits >> place(bit) & 1)
    return Event(
        index, name, kind, config, period, sample_type, read_format, flags, ids, branch, regs_user, regs_intr, named
    )


def decode(raw: bytes, at: int, events: list[Event], order: str) -> SimpleNamespace:
    number, misc, _ = struct.unpack_from(order + "IHH", raw)
    kind = NAMES[number - 1]
    event = _event_of(raw, kind, events, order)
    found = SimpleNamespace(kind=kind, at=at, misc=misc, event=event, mode=misc & k.MISC_MODE)
    if kind == "SAMPLE":
        decode_sample(found, raw[8:], event, order)
        return found
    trailer = _trailer_codes(event) if "sample_id_all" in event.flags else []
    cut = len(raw) - 8 * len(trailer)
    _decode_trailer(found, raw[cut:], trailer, order)
    DECODERS.get(kind, lambda *_: None)(found, raw[8:cut], order)
    return found


def _event_of(raw: bytes, kind: str, events: list[Event], order: str) -> Event:
    """Return the event of a record, found by the id at a place that all events share."""
    first = events[0]
    if len(events) == 1 or (kind != "SAMPLE" and "sample_id_all" not in first.flags):
        return first
    wanted = first.sample_type
    if kind == "SAMPLE":
        place = 8 if wanted & k.IDENTIFIER else 8 + 8 * (wanted & (k.IP | k.TID | k.TIME | k.ADDR)).bit_count()
    else:
        place = len(raw) - 8 - (0 if wanted & k.IDENTIFIER else 8 * (wanted & (k.CPU | k.STREAM_ID)).bit_count())
    if not wanted & (k.ID | k.IDENTIFIER):
        return first
    ident = struct.unpack_from(order + "Q", raw, place)[0]
    return next((event for event in events if ident in event.ids), first)


def _trailer_codes(event: Event) -> list[tuple[str, str]]:
    fields = (
        (k.TID, "II", "thread"), (k.TIME, "Q", "time"), (k.ID, "Q", "id"), (k.STREAM_ID, "Q", "stream_id"),
        (k.CPU, "II", "cpu"), (k.IDENTIFIER, "Q", "id"),
    )  # fmt: skip
    return [(code, name) for bit, code, name in fields if event.sample_type & bit]


def _decode_trailer(found: SimpleNamespace, raw: bytes, codes: list[tuple[str, str]], order: str) -> None:
    found.stamp_pid = found.stamp_tid = found.time = found.cpu = found.id = None
    for row, (code, name) in enumerate(codes):
        values = struct.unpack_from(order + code, raw, 8 * row)
        if name == "thread":
            found.stamp_pid, found.stamp_tid = values
        else:
            setattr(found, name, values[0])


def _string(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("utf-8", "surrogateescape")


def _mmap(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.pid, found.tid, found.addr, found.len, found.pgoff = struct.unpack_from(order + "iiQQQ", raw)
    found.filename, found.build_id, found.prot = _string(raw[32:]), b"", -1


def _mmap2(found: SimpleNamespace, raw: bytes, order: str) -> None:
    _mmap(found, raw, order)
    found.prot, found.flags = struct.unpack_from(order + "II", raw, 56)
    found.filename = _string(raw[64:])
    if found.prot >> 16 & 0xFF:  # RHEL 7.0 has no prot and flags
        found.prot, found.flags, found.filename = -1, -1, _string(raw[56:])
    size, minor = struct.unpack_from("<II", raw, 32)
    is_inode = size <= 12 and minor < 1 << 20
    found.build_id = raw[36 : 36 + size] if found.misc & k.MISC_14 and 0 < size <= 20 and not is_inode else b""


def _comm(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.pid, found.tid = struct.unpack_from(order + "ii", raw)
    found.comm, found.is_exec = _string(raw[8:]), bool(found.misc & k.MISC_13)


def _task(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.pid, found.ppid, found.tid, found.ptid, found.own_time = struct.unpack_from(order + "iiiiQ", raw)
    found.is_exec = bool(found.misc & k.MISC_13)


def _lost(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.lost_id, found.lost = struct.unpack_from(order + "QQ", raw)


def _lost_samples(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.lost = struct.unpack_from(order + "Q", raw)[0]


def _ksymbol(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.addr, found.len, found.ksym_type, flags = struct.unpack_from(order + "QIHH", raw)
    found.unregister, found.name = bool(flags & 1), _string(raw[16:])


def _cgroup(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.cgroup, found.path = struct.unpack_from(order + "Q", raw)[0], _string(raw[8:])


def _deferred(found: SimpleNamespace, raw: bytes, order: str) -> None:
    found.cookie, count = struct.unpack_from(order + "QQ", raw)
    found.ips = struct.unpack_from(order + f"{min(count, len(raw) // 8 - 2)}Q", raw, 16)


DECODERS = {
    "MMAP": _mmap, "MMAP2": _mmap2, "COMM": _comm, "FORK": _task, "EXIT": _task, "LOST": _lost,
    "LOST_SAMPLES": _lost_samples, "KSYMBOL": _ksymbol, "CGROUP": _cgroup, "CALLCHAIN_DEFERRED": _deferred,
}  # fmt: skip
