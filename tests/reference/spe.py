"""Arm SPE trace → packets, records and samples, one by one in plain Python."""

import struct
from dataclasses import dataclass, field

TOP, LOW = 0xFF << 56, (1 << 56) - 1


@dataclass
class Packet:
    end: int
    name: str
    value: int


def packets(data: bytes, offset: int = 0) -> list[Packet]:
    """Packets but padding; ``bad`` for a byte that begins none. The last one may be cut and is left out then."""
    found, at = [], 0
    while at < len(data):
        head = data[at]
        size, name = _short(head)
        behind = at + 1 + size
        if head & 0xFC == 0x20 and at + 1 < len(data):
            second, index = data[at + 1], (head & 3) << 3
            if second == 0:
                step = 2 << (head & 3)
                behind, name = at + step - (at + offset) % step, ""
            elif second & 0xF8 in (0xB0, 0x98):
                size, name = _short(second)
                behind, name = at + 2 + size, "" if index else name
            else:
                behind, name = at + 1, "bad"
        elif head & 0xFC == 0x20:
            break
        if behind > len(data):
            break
        if name:
            found.append(Packet(behind, name, int.from_bytes(data[behind - size : behind], "little")))
        at = behind
    return found


def _short(head: int) -> tuple[int, str]:
    """Bytes of payload, and what the packet tells; "" for nothing."""
    size = 1 << (head >> 4 & 3)
    if head < 2:
        return 0, "end" if head else ""
    if head == 0x71:
        return 8, "ticks"
    if head & 0xCF in (0x42, 0x43):
        return size, "events" if head & 0xCF == 0x42 else "source"
    if head & 0xFC == 0x64:
        return 4, "context"
    if head & 0xFC == 0x48:
        return 1, ("other", "access", "branch", "bad")[head & 3]
    if head & 0xF8 == 0xB0:
        return 8, {0: "pc", 1: "target", 2: "data", 3: "physical", 4: "previous"}.get(head & 7, "")
    if head & 0xF8 == 0x98:
        return 2, "latency" if head == 0x98 else ""
    return 0, "bad"


@dataclass
class Operation:
    """A record; ``end`` is the offset behind it."""

    end: int = 0
    tells: dict[str, int] = field(default_factory=dict)

    def get(self, name: str) -> int:
        return self.tells.get(name, 0)

    def had(self, bit: int) -> bool:
        return bool(self.get("events") >> bit & 1)

    @property
    def uses_memory(self) -> bool:
        if "access" in self.tells:
            return True
        detail = self.tells.get("other")
        return detail is not None and (detail & 0x89 in (0x08, 0x88) or detail & 0xFC == 4)


def operations(data: bytes, offset: int = 0) -> tuple[list[Operation], int]:
    """Whole records, and the number of damaged ones; one that the data end in does not count."""
    found, damaged, now = [], 0, Operation()
    for packet in packets(data, offset):
        if packet.name not in ("end", "ticks"):
            now.tells[packet.name] = _address(packet.name, packet.value)
            continue
        if packet.name == "ticks":
            now.tells["ticks"] = packet.value
        now.end = packet.end
        if "pc" in now.tells and "bad" not in now.tells:
            found.append(now)
        else:
            damaged += 1
        now = Operation()
    return found, damaged


def _address(name: str, value: int) -> int:
    if name in ("pc", "target", "previous"):
        return value & LOW | (TOP if value >> 61 in (5, 6) else 0)
    if name == "data":
        return value & LOW | (TOP if value >> 52 & 0xF == 0xF else 0)
    return value & LOW if name == "physical" else value


def kinds(one: Operation) -> list[str]:
    """Names of the events that a record makes samples of."""
    found = ["instructions"]
    found += ["memory"] if one.uses_memory else []
    found += ["remote-access"] if one.had(10) else []
    found += ["branch"] if "branch" in one.tells else []
    bits = {"tlb-access": 4, "tlb-miss": 5, "llc-access": 8, "llc-miss": 9, "l1d-access": 2, "l1d-miss": 3}
    return found + [name for name, bit in bits.items() if one.had(bit)]


def nanoseconds(ticks: int, shift: int, mult: int, zero: int, short: tuple[int, int] | None = None) -> int:
    """The recording's time of a tick; ``short`` are cycles and mask of a clock that wraps."""
    if short is not None:
        ticks = short[0] + ((ticks - short[0]) & short[1])
    whole = zero + (ticks >> shift) * mult + ((ticks & (1 << shift) - 1) * mult >> shift)
    return struct.unpack("<Q", struct.pack("<Q", whole & (1 << 64) - 1))[0]
