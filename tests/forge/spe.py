"""Writes Arm SPE trace packet by packet, from the formats in Arm's Architecture Reference Manual.

``b"".join`` of packets is a buffer; ``spe_session`` and ``spe_records`` make a recording of buffers.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.forge import kernel as k
from tests.forge.events import Event
from tests.forge.features import Features
from tests.forge.records import Comm, Mmap2, Record, Stamp
from tests.forge.session import Session
from tests.forge.userspace import Auxtrace, AuxtraceInfo, TimeConv

PAD, END = b"\0", b"\1"
EL0, EL1, EL2 = 0, 1, 2
LOAD, STORE = 0, 1
PMU = 8
"""Type of the event arm_spe_0."""
N1, AMPEREONE, HIP12, OTHER_CPU = 0x413FD0C1, 0xC00FAC40, 0x480FD060, 0x410FD030
CLOCK = TimeConv(shift=0, mult=40)
"""A tick is 40 ns."""
PROGRAM, SIZE = 0x400000, 0x10000


def instruction(address: int, level: int = EL0, index: int = 0, secure: bool = False) -> bytes:
    """Address packet of an instruction: 0 its own, 1 the target of the branch, 4 that of the branch before."""
    payload = address & (1 << 56) - 1 | level << 61 | (not secure) << 63
    return struct.pack("<BQ", 0xB0 | index, payload)


def target(address: int, level: int = EL0) -> bytes:
    return instruction(address, level, 1)


def previous(address: int, level: int = EL0) -> bytes:
    return instruction(address, level, 4)


def data(address: int) -> bytes:
    return struct.pack("<BQ", 0xB2, address)


def physical(address: int, secure: bool = False) -> bytes:
    return struct.pack("<BQ", 0xB3, address | (not secure) << 63)


def events(*bits: int, size: int = 0) -> bytes:
    """Events packet of 1, 2, 4 or 8 bytes, as few as hold the bits unless ``size`` says more."""
    word = sum(1 << bit for bit in bits)
    size = size or next(one for one in (1, 2, 4, 8) if word < 1 << 8 * one)
    return bytes([0x42 | size.bit_length() - 1 << 4]) + word.to_bytes(size, "little")


def operation(kind: int, detail: int) -> bytes:
    """Operation of class 0 other, 1 load or store, 2 branch."""
    return bytes([0x48 | kind, detail])


def counter(index: int, cycles: int) -> bytes:
    """Counter 0 total, 1 issue, 2 translation latency."""
    return struct.pack("<BH", 0x98 | index, cycles)


def context(thread: int, level: int = EL1) -> bytes:
    return struct.pack("<BI", 0x64 | level - 1, thread)


def source(code: int, size: int = 1) -> bytes:
    return bytes([0x43 | size.bit_length() - 1 << 4]) + code.to_bytes(size, "little")


def timestamp(ticks: int) -> bytes:
    return struct.pack("<BQ", 0x71, ticks)


def extended(packet: bytes, high: int = 0) -> bytes:
    """Address or counter packet with a header of two bytes; ``high`` are bits 4:3 of its index."""
    return bytes([0x20 | high]) + packet


def aligned(so_far: bytes, step: int) -> bytes:
    """Alignment packet behind ``so_far``, up to the next multiple of 2, 4, 8 or 16."""
    return bytes([0x20 | step.bit_length() - 2, 0]).ljust(step - len(so_far) % step, b"\xff")


@dataclass(frozen=True)
class Buffer:
    """Trace of one CPU (``tid`` −1), or of one thread (``cpu`` −1)."""

    data: bytes
    cpu: int = 0
    tid: int = -1
    offset: int = 0
    queue: int | None = None


def spe_session(timed: bool = True, old: bool = False, midr: int = N1, order: str = "<", **more: object) -> Session:
    """Session with the event of SPE and the one that perf adds for its side-band; ``old``: the first metadata."""
    kind = k.IDENTIFIER | k.IP | k.TID | k.CPU | k.DATA_SRC | (k.TIME if timed else 0)
    flags = frozenset({"sample_id_all"})
    spe = Event("arm_spe_0//", PMU, 1, 1024, kind, 4, flags, ids=(11,), size=136)
    dummy = Event("dummy:u", 1, 9, 1, kind & ~k.DATA_SRC, 4, flags | {"context_switch"}, ids=(21,), size=136)
    cpuid = {9: struct.pack(order + "I", 64) + f"0x{midr:016x}".encode().ljust(64, b"\0")} if old else {}
    features = Features(arch="aarch64", extra={**cpuid, 18: bytes(24)})
    return Session(events=(spe, dummy), order=order, features=replace(features, **more))


def spe_records(
    buffers: Sequence[Buffer],
    others: Sequence[Record] = (),
    old: bool = False,
    midrs: Sequence[int] = (N1,),
    filters: int = 0,
    clock: TimeConv | None = CLOCK,
) -> list[Record]:
    """Records of a recording of thread 100 of process 100: metadata, program, ``others``, buffers."""
    words = [PMU, 1] if old else [2, 4, PMU, len(midrs)]
    for cpu, midr in enumerate([] if old else midrs):
        words += [0x1010101010101010, cpu, 4, midr, PMU, 1024, filters]
    known = Stamp(pid=100, tid=100, id=21)
    start: list[Record] = [] if clock is None else [clock]
    return [
        *start,
        AuxtraceInfo(kind=4, words=tuple(words)),
        Comm(pid=100, tid=100, comm="spe", event=1, stamp=known),
        Mmap2(pid=100, tid=100, addr=PROGRAM, len=SIZE, filename="/demo/spe", prot=5, misc=2, event=1, stamp=known),
        *others,
        *map(_record, buffers),
    ]


def _record(buffer: Buffer) -> Auxtrace:
    queue = max(buffer.cpu, 0) if buffer.queue is None else buffer.queue
    return Auxtrace(data=buffer.data, offset=buffer.offset, idx=queue, tid=buffer.tid, cpu=buffer.cpu)
