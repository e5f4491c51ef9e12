"""Writes every kernel record except samples: one dataclass each, fields in the order of perf_event.h.

``encode(events, order)`` gives the whole record with its sample_id trailer, as ``event`` (an index) asks for it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tests.forge import kernel as k
from tests.forge.events import Event


@dataclass(frozen=True)
class Stamp:
    """Values of the sample_id trailer; ``id`` None is the first id of the record's event."""

    pid: int = 0
    tid: int = 0
    time: int = 0
    cpu: int = 0
    id: int | None = None
    stream_id: int = 0

    def encode(self, event: Event, order: str) -> bytes:
        wanted = event.sample_type
        ident = self.id if self.id is not None else (event.ids[0] if event.ids else 0)
        fields = (
            (k.TID, "II", (self.pid, self.tid)), (k.TIME, "Q", (self.time,)), (k.ID, "Q", (ident,)),
            (k.STREAM_ID, "Q", (self.stream_id,)), (k.CPU, "II", (self.cpu, 0)), (k.IDENTIFIER, "Q", (ident,)),
        )  # fmt: skip
        return b"".join(struct.pack(order + code, *values) for bit, code, values in fields if wanted & bit)


def padded(text: bytes | str, to: int = 8) -> bytes:
    """Write a NUL-terminated string, zero-filled to a multiple of ``to``."""
    raw = (text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text) + b"\0"
    return raw + bytes(-len(raw) % to)


def framed(number: int, misc: int, payload: bytes, order: str) -> bytes:
    """Write struct perf_event_header and the payload behind it."""
    return struct.pack(order + "IHH", number, misc, len(payload) + 8) + payload


@dataclass(frozen=True, kw_only=True)
class Record:
    """Base of records: the event whose sample_type shapes the trailer, the trailer, and additional misc bits."""

    number: ClassVar[int] = 0
    event: int = 0
    stamp: Stamp = Stamp()
    misc: int = 0

    def payload(self, order: str) -> bytes:
        raise NotImplementedError

    def misc_bits(self) -> int:
        return self.misc

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        event = events[self.event]
        trailer = self.stamp.encode(event, order) if event.sample_id_all else b""
        return framed(self.number, self.misc_bits(), self.payload(order) + trailer, order)


@dataclass(frozen=True, kw_only=True)
class Mmap(Record):
    number = 1
    pid: int
    tid: int
    addr: int
    len: int
    pgoff: int = 0
    filename: str | bytes = "/bin/prog"

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "IIQQQ", self.pid, self.tid, self.addr, self.len, self.pgoff) + padded(self.filename)


@dataclass(frozen=True, kw_only=True)
class Lost(Record):
    number = 2
    id: int = 0
    lost: int = 1

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "QQ", self.id, self.lost)


@dataclass(frozen=True, kw_only=True)
class Comm(Record):
    number = 3
    pid: int
    tid: int
    comm: str | bytes
    is_exec: bool = False

    def misc_bits(self) -> int:
        return self.misc | (k.MISC_13 if self.is_exec else 0)

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "II", self.pid, self.tid) + padded(self.comm)


@dataclass(frozen=True, kw_only=True)
class Exit(Record):
    number = 4
    pid: int
    ppid: int
    tid: int
    ptid: int
    time: int = 0

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "IIIIQ", self.pid, self.ppid, self.tid, self.ptid, self.time)


@dataclass(frozen=True, kw_only=True)
class Fork(Exit):
    number = 7


@dataclass(frozen=True, kw_only=True)
class Throttle(Record):
    """THROTTLE, or UNTHROTTLE when ``lifted``."""

    number = 5
    time: int = 0
    id: int = 0
    stream_id: int = 0
    lifted: bool = False

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "QQQ", self.time, self.id, self.stream_id)

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        whole = super().encode(events, order)
        return struct.pack(order + "I", 6) + whole[4:] if self.lifted else whole


@dataclass(frozen=True, kw_only=True)
class Read(Record):
    number = 8
    pid: int = 0
    tid: int = 0
    words: tuple[int, ...] = (0,)

    def payload(self, order: str) -> bytes:
        return struct.pack(order + f"II{len(self.words)}Q", self.pid, self.tid, *self.words)


@dataclass(frozen=True, kw_only=True)
class Mmap2(Mmap):
    """With ``build_id`` (up to 20 bytes) the union holds it, else device and inode."""

    number = 10
    build_id: bytes = b""
    major: int = 0
    minor: int = 0
    inode: int = 0
    inode_generation: int = 0
    prot: int = 5
    flags: int = 2

    def misc_bits(self) -> int:
        return self.misc | (k.MISC_14 if self.build_id else 0)

    def payload(self, order: str) -> bytes:
        place = struct.pack(order + "IIQQQ", self.pid, self.tid, self.addr, self.len, self.pgoff)
        identity = struct.pack(order + "IIQQ", self.major, self.minor, self.inode, self.inode_generation)
        if self.build_id:
            identity = struct.pack("BBH20s", len(self.build_id), 0, 0, self.build_id)
        return place + identity + struct.pack(order + "II", self.prot, self.flags) + padded(self.filename)


@dataclass(frozen=True, kw_only=True)
class Aux(Record):
    number = 11
    offset: int = 0
    aux_size: int = 0
    flags: int = 0

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "QQQ", self.offset, self.aux_size, self.flags)


@dataclass(frozen=True, kw_only=True)
class ItraceStart(Record):
    number = 12
    pid: int = 0
    tid: int = 0

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "II", self.pid, self.tid)


@dataclass(frozen=True, kw_only=True)
class LostSamples(Record):
    number = 13
    lost: int = 1

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "Q", self.lost)


@dataclass(frozen=True, kw_only=True)
class Switch(Record):
    number = 14
    is_out: bool = False
    preempted: bool = False

    def misc_bits(self) -> int:
        return self.misc | (k.MISC_13 if self.is_out else 0) | (k.MISC_14 if self.preempted else 0)

    def payload(self, order: str) -> bytes:
        return b""


@dataclass(frozen=True, kw_only=True)
class SwitchCpuWide(Switch):
    number = 15
    next_prev_pid: int = 0
    next_prev_tid: int = 0

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "II", self.next_prev_pid, self.next_prev_tid)


@dataclass(frozen=True, kw_only=True)
class Namespaces(Record):
    number = 16
    pid: int = 0
    tid: int = 0
    links: tuple[tuple[int, int], ...] = ()

    def payload(self, order: str) -> bytes:
        flat = [number for link in self.links for number in link]
        return struct.pack(order + f"IIQ{len(flat)}Q", self.pid, self.tid, len(self.links), *flat)


@dataclass(frozen=True, kw_only=True)
class Ksymbol(Record):
    number = 17
    addr: int
    len: int
    type: int = 1
    unregister: bool = False
    name: str | bytes = "bpf_prog"

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "QIHH", self.addr, self.len, self.type, int(self.unregister)) + padded(self.name)


@dataclass(frozen=True, kw_only=True)
class BpfEvent(Record):
    number = 18
    type: int = 1
    flags: int = 0
    id: int = 0
    tag: bytes = bytes(8)

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "HHI8s", self.type, self.flags, self.id, self.tag)


@dataclass(frozen=True, kw_only=True)
class Cgroup(Record):
    number = 19
    id: int
    path: str | bytes

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "Q", self.id) + padded(self.path)


@dataclass(frozen=True, kw_only=True)
class TextPoke(Record):
    number = 20
    addr: int = 0
    old: bytes = b""
    new: bytes = b""

    def payload(self, order: str) -> bytes:
        both = struct.pack(order + "QHH", self.addr, len(self.old), len(self.new)) + self.old + self.new
        return both + bytes(-len(both) % 8)


@dataclass(frozen=True, kw_only=True)
class CallchainDeferred(Record):
    """User chain for every sample that holds ``cookie``; the kernel writes misc USER."""

    number = 22
    misc: int = k.USER
    cookie: int
    ips: tuple[int, ...] = ()

    def payload(self, order: str) -> bytes:
        return struct.pack(order + f"QQ{len(self.ips)}Q", self.cookie, len(self.ips), *self.ips)


@dataclass(frozen=True, kw_only=True)
class Raw(Record):
    """Any bytes as a record of any type, without a trailer: for unknown types and for damage."""

    type: int
    body: bytes = b""

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        return framed(self.type, self.misc, self.body, order)
