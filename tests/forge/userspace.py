"""Writes records of perf itself (types from 64 on), which have no sample_id trailer."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tests.forge.events import Event
from tests.forge.records import Record, framed, padded


@dataclass(frozen=True, kw_only=True)
class UserRecord(Record):
    def encode(self, events: Sequence[Event], order: str) -> bytes:
        return framed(self.number, self.misc_bits(), self.payload(order), order)


@dataclass(frozen=True, kw_only=True)
class HeaderEventType(UserRecord):
    """HEADER_EVENT_TYPE, which newer versions of perf do not write."""

    number = 65
    id: int = 0
    name: str = "cycles"

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "Q64s", self.id, self.name.encode())


@dataclass(frozen=True, kw_only=True)
class TracingData(UserRecord):
    """HEADER_TRACING_DATA: the blob follows the record and is not counted in its size."""

    number = 66
    blob: bytes = b""

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "II", len(self._padded), 0)

    @property
    def _padded(self) -> bytes:
        return self.blob + bytes(-len(self.blob) % 8)

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        return super().encode(events, order) + self._padded


@dataclass(frozen=True, kw_only=True)
class BuildId(UserRecord):
    """HEADER_BUILD_ID; with ``sized`` it holds the id's length (PERF_RECORD_MISC_BUILD_ID_SIZE)."""

    number = 67
    pid: int = -1
    build_id: bytes = b""
    filename: str | bytes = ""
    sized: bool = True

    def misc_bits(self) -> int:
        return self.misc | (1 << 15 if self.sized else 0)

    def payload(self, order: str) -> bytes:
        size = len(self.build_id) if self.sized else 0
        fixed = struct.pack(order + "i20sBBH", self.pid, self.build_id, size, 0, 0)
        return fixed + padded(self.filename, 64) + bytes(4)


@dataclass(frozen=True, kw_only=True)
class FinishedRound(UserRecord):
    number = 68

    def payload(self, order: str) -> bytes:
        return b""


@dataclass(frozen=True, kw_only=True)
class FinishedInit(FinishedRound):
    number = 82


@dataclass(frozen=True, kw_only=True)
class IdIndex(UserRecord):
    number = 69
    entries: tuple[tuple[int, int, int, int], ...] = ()
    """(id, idx, cpu, tid)"""

    def payload(self, order: str) -> bytes:
        flat = [word for entry in self.entries for word in entry]
        return struct.pack(order + f"Q{len(flat)}Q", len(self.entries), *flat)


@dataclass(frozen=True, kw_only=True)
class ThreadMap(UserRecord):
    number = 73
    threads: tuple[tuple[int, str], ...] = ()

    def payload(self, order: str) -> bytes:
        entries = b"".join(struct.pack(order + "q16s", pid, comm.encode()) for pid, comm in self.threads)
        return struct.pack(order + "Q", len(self.threads)) + entries


@dataclass(frozen=True, kw_only=True)
class StatConfig(UserRecord):
    """STAT_CONFIG: numbers by tag, aggr_mode first."""

    number = 75
    values: tuple[int, ...] = (1, 100, 1)

    def payload(self, order: str) -> bytes:
        flat = [number for pair in enumerate(self.values) for number in pair]
        return struct.pack(order + f"Q{len(flat)}Q", len(self.values), *flat)


@dataclass(frozen=True, kw_only=True)
class Stat(UserRecord):
    """STAT: a counter's value; ``thread`` is a place in THREAD_MAP."""

    number = 76
    id: int
    value: int
    enabled: int = 100
    running: int = 100
    cpu: int = 0xFFFFFFFF
    thread: int = 0

    def payload(self, order: str) -> bytes:
        counted = (self.value, self.enabled, self.running)
        return struct.pack(order + "QII3Q", self.id, self.cpu, self.thread, *counted)


@dataclass(frozen=True, kw_only=True)
class StatRound(UserRecord):
    """STAT_ROUND: the end of a round of STAT records."""

    number = 77
    time: int
    type: int = 0

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "QQ", self.type, self.time)


@dataclass(frozen=True, kw_only=True)
class EventUpdate(UserRecord):
    """EVENT_UPDATE: ``kind`` 0 unit (text), 1 scale (float), 2 name (text) for the event with ``id``."""

    number = 78
    kind: int
    id: int
    value: str | float = ""

    def payload(self, order: str) -> bytes:
        data = struct.pack(order + "d", self.value) if isinstance(self.value, float) else padded(self.value)
        return struct.pack(order + "QQ", self.kind, self.id) + data


@dataclass(frozen=True, kw_only=True)
class TimeConv(UserRecord):
    number = 79
    shift: int = 31
    mult: int = 1
    zero: int = 0
    cycles: int = 0
    mask: int = 0
    short: bool = False
    """Ticks wrap at ``mask``."""

    def payload(self, order: str) -> bytes:
        numbers = self.shift, self.mult, self.zero, self.cycles, self.mask
        return struct.pack(order + "QQQQQBB6x", *numbers, 1, self.short)


@dataclass(frozen=True, kw_only=True)
class AuxtraceInfo(UserRecord):
    """AUXTRACE_INFO: the kind of hardware trace, and words whose meaning depends on it."""

    number = 70
    kind: int = 1
    words: tuple[int, ...] = ()

    def payload(self, order: str) -> bytes:
        return struct.pack(order + f"II{len(self.words)}Q", self.kind, 0, *self.words)


@dataclass(frozen=True, kw_only=True)
class Auxtrace(UserRecord):
    """AUXTRACE: the trace follows the record and is not counted in its size."""

    number = 71
    data: bytes = b""
    offset: int = 0
    idx: int = 0
    tid: int = -1
    cpu: int = 0

    def payload(self, order: str) -> bytes:
        return struct.pack(order + "QQQIiiI", len(self._padded), self.offset, 0x1234, self.idx, self.tid, self.cpu, 0)

    @property
    def _padded(self) -> bytes:
        return self.data + bytes(-len(self.data) % 8)

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        return super().encode(events, order) + self._padded


@dataclass(frozen=True, kw_only=True)
class Compressed(UserRecord):
    """COMPRESSED2 (83), or COMPRESSED (81, unpadded): a chunk of the file's one zstd stream.

    ``data_size`` None tells the truth; anything else is what some versions of perf wrote by mistake.
    """

    number = 83
    piece: bytes
    legacy: bool = False
    data_size: int | None = None

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        if self.legacy:
            return framed(81, 0, self.piece, order)
        size = len(self.piece) if self.data_size is None else self.data_size
        return framed(83, 0, struct.pack(order + "Q", size) + self.piece + bytes(-len(self.piece) % 8), order)
