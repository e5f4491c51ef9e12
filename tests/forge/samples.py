"""Writes PERF_RECORD_SAMPLE with every field, in the order of perf_output_sample (kernel/events/core.c)."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.forge import kernel as k
from tests.forge.events import Event
from tests.forge.records import Record, framed


@dataclass(frozen=True)
class ReadValue:
    value: int = 0
    id: int = 0
    lost: int = 0


@dataclass(frozen=True)
class GroupRead:
    """PERF_SAMPLE_READ: one value without PERF_FORMAT_GROUP, as many as the group has members with it."""

    values: tuple[ReadValue, ...] = (ReadValue(),)
    enabled: int = 0
    running: int = 0

    def encode(self, read_format: int, order: str) -> bytes:
        times = [self.enabled] * bool(read_format & k.READ_ENABLED) + [self.running] * bool(
            read_format & k.READ_RUNNING
        )
        members = [self._member(value, read_format) for value in self.values]
        if read_format & k.READ_GROUP:
            words = [len(members), *times, *(word for member in members for word in member)]
        else:
            words = [members[0][0], *times, *members[0][1:]]
        return struct.pack(order + f"{len(words)}Q", *words)

    @staticmethod
    def _member(value: ReadValue, read_format: int) -> list[int]:
        extra = [value.id] * bool(read_format & k.READ_ID) + [value.lost] * bool(read_format & k.READ_LOST)
        return [value.value, *extra]


@dataclass(frozen=True)
class Branch:
    """One struct perf_branch_entry; the bit fields under the kernel's names."""

    from_ip: int
    to_ip: int
    mispred: int = 0
    predicted: int = 0
    in_tx: int = 0
    abort: int = 0
    cycles: int = 0
    type: int = 0
    spec: int = 0
    new_type: int = 0
    priv: int = 0
    not_taken: int = 0
    counters: int = 0

    def encode(self, order: str) -> bytes:
        fields = (
            (0, 1, self.mispred), (1, 1, self.predicted), (2, 1, self.in_tx), (3, 1, self.abort), (4, 16, self.cycles),
            (20, 4, self.type), (24, 2, self.spec), (26, 4, self.new_type), (30, 3, self.priv),
            (33, 1, self.not_taken),
        )  # fmt: skip
        flags = sum(k.bit_field(shift, width, value, order) for shift, width, value in fields)
        return struct.pack(order + "QQQ", self.from_ip, self.to_ip, flags)


@dataclass(frozen=True)
class Registers:
    """``abi`` 0 (none), 1 (32-bit), 2 (64-bit), with 4 (vector registers follow); ``values`` one per bit of the mask.

    ``vectors`` and ``predicates``: the words of each register, all of one kind equally many.
    """

    abi: int = 0
    values: tuple[int, ...] = ()
    vectors: tuple[tuple[int, ...], ...] = ()
    predicates: tuple[tuple[int, ...], ...] = ()

    def encode(self, order: str) -> bytes:
        values = self.values if self.abi else ()
        general = struct.pack(order + f"Q{len(values)}Q", self.abi, *values)
        return general + self._wide(order) if self.abi & 4 else general

    def _wide(self, order: str) -> bytes:
        kinds = (self.vectors, self.predicates)
        widths = [len(kind[0]) if kind else 0 for kind in kinds]
        words = [word for kind in kinds for register in kind for word in register]
        return struct.pack(
            order + f"4H{len(words)}Q", len(self.vectors), widths[0], len(self.predicates), widths[1], *words
        )


@dataclass(frozen=True, kw_only=True)
class Sample(Record):
    """Fields that the event's sample_type lacks are left out; ``mode`` is the cpumode in misc."""

    number = 9
    mode: int = k.USER
    ip: int = 0
    pid: int = 1
    tid: int = 1
    time: int = 0
    addr: int = 0
    id: int | None = None
    stream_id: int = 0
    cpu: int = 0
    period: int = 1
    read: GroupRead = GroupRead()
    chain: tuple[int, ...] = ()
    raw: bytes = b""
    branches: tuple[Branch, ...] = ()
    hw_index: int = 0
    regs_user: Registers = Registers()
    stack: bytes = b""
    stack_used: int | None = None
    weight: int = 0
    data_src: int = 0
    transaction: int = 0
    regs_intr: Registers = Registers()
    phys_addr: int = 0
    cgroup: int = 0
    data_page_size: int = 0
    code_page_size: int = 0
    aux: bytes = b""
    nr: int | None = field(default=None)
    """False length of the callchain."""

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        event = events[self.event]
        ident = self.id if self.id is not None else (event.ids[0] if event.ids else 0)
        fields = b"".join(
            encode(self, event, ident, order) for bit, encode in FIELDS if event.sample_type & bit
        )  # fmt: skip
        return framed(self.number, self.misc | self.mode, fields, order)


def _u64(name: str) -> "Encoder":
    return lambda sample, event, ident, order: struct.pack(order + "Q", getattr(sample, name))


def _ident(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    return struct.pack(order + "Q", ident)


def _thread(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    return struct.pack(order + "II", sample.pid, sample.tid)


def _cpu(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    return struct.pack(order + "II", sample.cpu, 0)


def _read(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    return sample.read.encode(event.read_format, order)


def _chain(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    count = len(sample.chain) if sample.nr is None else sample.nr
    return struct.pack(order + f"Q{len(sample.chain)}Q", count, *sample.chain)


def _raw(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    data = sample.raw + bytes(-(len(sample.raw) + 4) % 8)
    return struct.pack(order + "I", len(data)) + data


def _branches(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    wanted = event.branch_sample_type
    head = struct.pack(order + "Q", len(sample.branches))
    if wanted & k.BRANCH_HW_INDEX:
        head += struct.pack(order + "Q", sample.hw_index)
    entries = b"".join(branch.encode(order) for branch in sample.branches)
    counters = [branch.counters for branch in sample.branches] if wanted & k.BRANCH_COUNTERS else []
    return head + entries + struct.pack(order + f"{len(counters)}Q", *counters)


def _stack(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    if not sample.stack:
        return struct.pack(order + "Q", 0)
    used = len(sample.stack) if sample.stack_used is None else sample.stack_used
    return struct.pack(order + "Q", len(sample.stack)) + sample.stack + struct.pack(order + "Q", used)


def _aux(sample: Sample, event: Event, ident: int, order: str) -> bytes:
    data = sample.aux + bytes(-len(sample.aux) % 8)
    return struct.pack(order + "Q", len(data)) + data


def _registers(name: str) -> "Encoder":
    return lambda sample, event, ident, order: getattr(sample, name).encode(order)


Encoder = Callable[[Sample, Event, int, str], bytes]
FIELDS: tuple[tuple[int, Encoder], ...] = (
    (k.IDENTIFIER, _ident), (k.IP, _u64("ip")), (k.TID, _thread), (k.TIME, _u64("time")), (k.ADDR, _u64("addr")),
    (k.ID, _ident), (k.STREAM_ID, _u64("stream_id")), (k.CPU, _cpu), (k.PERIOD, _u64("period")), (k.READ, _read),
    (k.CALLCHAIN, _chain), (k.RAW, _raw), (k.BRANCH_STACK, _branches), (k.REGS_USER, _registers("regs_user")),
    (k.STACK_USER, _stack), (k.WEIGHT | k.WEIGHT_STRUCT, _u64("weight")), (k.DATA_SRC, _u64("data_src")),
    (k.TRANSACTION, _u64("transaction")), (k.REGS_INTR, _registers("regs_intr")), (k.PHYS_ADDR, _u64("phys_addr")),
    (k.CGROUP, _u64("cgroup")), (k.DATA_PAGE_SIZE, _u64("data_page_size")),
    (k.CODE_PAGE_SIZE, _u64("code_page_size")), (k.AUX, _aux),
)  # fmt: skip
