"""PERF_RECORD_SAMPLE, field by field, as __evsel__parse_sample (tools/perf/util/evsel.c) walks it."""

import struct
from types import SimpleNamespace
from typing import Any

from tests.forge import kernel as k


class Walk:
    """Takes fields off the front of a record."""

    def __init__(self, raw: bytes, order: str) -> None:
        self.raw, self.order, self.at = raw, order, 0

    def take(self, code: str) -> Any:
        values = struct.unpack_from(self.order + code, self.raw, self.at)
        self.at += struct.calcsize(self.order + code)
        return values

    def u64(self) -> int:
        return self.take("Q")[0]

    def data(self, size: int) -> bytes:
        self.at += size
        return self.raw[self.at - size : self.at]


def decode_sample(found: SimpleNamespace, raw: bytes, event: Any, order: str) -> None:
    """Sets one attribute per field that ``event.sample_type`` asks for; the rest is None."""
    walk, wanted = Walk(raw, order), event.sample_type
    for name in ("id", "ip", "pid", "tid", "time", "addr", "stream_id", "cpu", "period", "read", "raw", "branches"):
        setattr(found, name, None)
    found.chain = ()
    if wanted & k.IDENTIFIER:
        found.id = walk.u64()
    if wanted & k.IP:
        found.ip = walk.u64()
    if wanted & k.TID:
        found.pid, found.tid = walk.take("ii")
    for bit, name in ((k.TIME, "time"), (k.ADDR, "addr"), (k.ID, "id"), (k.STREAM_ID, "stream_id")):
        if wanted & bit:
            setattr(found, name, walk.u64())
    if wanted & k.CPU:
        found.cpu = walk.take("II")[0]
    found.period = walk.u64() if wanted & k.PERIOD else (1 if "freq" in event.flags else event.period or 1)
    if wanted & k.READ:
        found.read = _read(walk, event.read_format)
    if wanted & k.CALLCHAIN:
        count = walk.u64()
        found.chain = walk.take(f"{count}Q")
    _decode_rest(found, walk, event)


def _decode_rest(found: SimpleNamespace, walk: Walk, event: Any) -> None:
    wanted = event.sample_type
    if wanted & k.RAW:
        found.raw = walk.data(walk.take("I")[0])
    if wanted & k.BRANCH_STACK:
        found.branches = _branches(walk, event.branch_sample_type)
    found.regs_user = _registers(walk, event.regs_user) if wanted & k.REGS_USER else None
    found.stack = _stack(walk) if wanted & k.STACK_USER else None
    late = (
        (k.WEIGHT | k.WEIGHT_STRUCT, "weight"), (k.DATA_SRC, "data_src"), (k.TRANSACTION, "transaction"),
        (k.REGS_INTR, "regs_intr"), (k.PHYS_ADDR, "phys_addr"), (k.CGROUP, "cgroup"),
        (k.DATA_PAGE_SIZE, "data_page_size"), (k.CODE_PAGE_SIZE, "code_page_size"),
    )  # fmt: skip
    for bit, name in late:
        value: Any = None
        if wanted & bit:
            value = _registers(walk, event.regs_intr) if bit == k.REGS_INTR else walk.u64()
        setattr(found, name, value)
    if wanted & k.WEIGHT_STRUCT:
        found.weight &= 0xFFFFFFFF  # var1_dw; the other two parts are for tools that know the CPU
    found.aux = walk.data(walk.u64()) if wanted & k.AUX else None


def _read(walk: Walk, read_format: int) -> list[tuple[int | None, int]]:
    """(id, value) of each member."""
    count = walk.u64() if read_format & k.READ_GROUP else 1
    value = None if read_format & k.READ_GROUP else walk.u64()
    for bit in (k.READ_ENABLED, k.READ_RUNNING):
        if read_format & bit:
            walk.u64()
    members = []
    for _ in range(count):
        number = walk.u64() if value is None else value
        ident = walk.u64() if read_format & k.READ_ID else None
        if read_format & k.READ_LOST:
            walk.u64()
        members.append((ident, number))
    return members


def _branches(walk: Walk, wanted: int) -> list[tuple[int, int, int]]:
    count = walk.u64()
    if wanted & k.BRANCH_HW_INDEX:
        walk.u64()
    entries = [(*walk.take("QQ"), _branch_flags(walk.u64(), walk.order)) for _ in range(count)]
    if wanted & k.BRANCH_COUNTERS:
        walk.take(f"{count}Q")
    return entries


def _branch_flags(word: int, order: str) -> int:
    """The bit fields of struct perf_branch_entry where a little-endian machine has them."""
    if order == "<":
        return word
    fields = ((0, 1), (1, 1), (2, 1), (3, 1), (4, 16), (20, 4), (24, 2), (26, 4), (30, 3))
    return sum((word >> 64 - shift - width & (1 << width) - 1) << shift for shift, width in fields)


def _registers(walk: Walk, mask: int) -> tuple[int, tuple[int, ...]]:
    abi = walk.u64()
    values = walk.take(f"{mask.bit_count()}Q") if abi else ()
    if abi & 4:
        vectors, vector_words, predicates, predicate_words = walk.take("4H")
        walk.take(f"{vectors * vector_words + predicates * predicate_words}Q")
    return abi & 3, values


def _stack(walk: Walk) -> bytes:
    size = walk.u64()
    if not size:
        return b""
    data = walk.data(size)
    return data[: walk.u64()]
