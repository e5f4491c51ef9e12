"""Writes a perf_event_attr with its ids and name."""

import struct
from dataclasses import dataclass

from tests.forge import kernel as k


@dataclass(frozen=True)
class Event:
    """An event as ``perf record -e NAME`` requests it; ``size`` is that of the attr (64, 72 … 144)."""

    name: str = "cpu-clock"
    type: int = 1
    config: int = 0
    period: int = 1_000_000
    sample_type: int = k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN
    read_format: int = 0
    flags: frozenset[str] = frozenset({"sample_id_all"})
    precise_ip: int = 0
    ids: tuple[int, ...] = ()
    config1: int = 0
    config2: int = 0
    branch_sample_type: int = 0
    sample_regs_user: int = 0
    sample_stack_user: int = 0
    clockid: int = 0
    sample_regs_intr: int = 0
    size: int = 128

    @property
    def sample_id_all(self) -> bool:
        return "sample_id_all" in self.flags

    def encode(self, order: str) -> bytes:
        """Write struct perf_event_attr, cut or zero-filled to ``size`` bytes."""
        bits = sum(k.bit_field(k.FLAG_BITS[flag], 1, 1, order) for flag in self.flags)
        bits |= k.bit_field(k.PRECISE_IP_BIT, 2, self.precise_ip, order)
        whole = struct.pack(
            order + "IIQQQQQIIQQQQIiQIHHIIQ",
            self.type, self.size, self.config, self.period, self.sample_type, self.read_format, bits,
            0, 0, self.config1, self.config2, self.branch_sample_type, self.sample_regs_user, self.sample_stack_user,
            self.clockid, self.sample_regs_intr, 0, 0, 0, 0, 0, 0,
        )  # fmt: skip
        return whole.ljust(self.size, b"\0")[: self.size]
