"""Containers of a recording: a file with header, attributes, data and features, or a pipe's stream."""

import struct
from dataclasses import dataclass, field

from tests.forge.records import framed

MAGIC = 0x32454C4946524550
HEADER_SIZE = 104
FIRST_UNSAID = 256
"""feat_id of the last HEADER_FEATURE, the end mark: at or above every feature's number."""


@dataclass(frozen=True)
class Container:
    """The parts of a recording. ``attrs`` pairs attr bytes with ids; ``records`` are whole records, in order."""

    order: str
    attrs: tuple[tuple[bytes, tuple[int, ...]], ...]
    records: tuple[bytes, ...]
    features: dict[int, bytes] = field(default_factory=dict)

    def to_file(self, unfinished: bool = False) -> bytes:
        """Write file mode; ``unfinished`` as a killed perf leaves it: data.size 0, feature bits set, no sections."""
        entry_size = max((len(attr) for attr, _ in self.attrs), default=64) + 16
        ids_at = HEADER_SIZE
        attrs_at = ids_at + sum(8 * len(ids) for _, ids in self.attrs)
        data_at = attrs_at + entry_size * len(self.attrs)
        data = b"".join(self.records)
        head = self._header(entry_size, attrs_at, data_at, 0 if unfinished else len(data))
        body = head + self._ids() + self._attrs(ids_at, entry_size) + data
        return body if unfinished else body + self._features(len(body))

    def to_pipe(self) -> bytes:
        """Write pipe mode: 16 bytes of header, attributes and features as records, then everything else."""
        out = [struct.pack(self.order + "QQ", MAGIC, 16)]
        for attr, ids in self.attrs:
            out.append(framed(64, 0, attr + struct.pack(self.order + f"{len(ids)}Q", *ids), self.order))
        for number, section in self.features.items():
            out += self._as_records(number, section)
        out.append(framed(80, 0, struct.pack(self.order + "Q", FIRST_UNSAID), self.order))
        return b"".join((*out, *self.records))

    def _as_records(self, number: int, section: bytes) -> list[bytes]:
        if number == 1:
            blob = section + bytes(-len(section) % 8)
            return [framed(66, 0, struct.pack(self.order + "II", len(blob), 0), self.order), blob]
        if number == 2:
            return [self._build_id(entry) for entry in split_records(section, self.order)]
        body = struct.pack(self.order + "Q", number) + section
        return [framed(80, 0, body + bytes(-len(body) % 8), self.order)] if len(body) < 65000 else []

    def _build_id(self, entry: bytes) -> bytes:
        """Make a record of type 67 from a section's entry (36 bytes and a name), padded to a multiple of 8."""
        misc = struct.unpack_from(self.order + "H", entry, 4)[0]
        return framed(67, misc, entry[8:] + bytes(-len(entry) % 8), self.order)

    def _header(self, entry_size: int, attrs_at: int, data_at: int, data_size: int) -> bytes:
        bits = [0, 0, 0, 0]
        for number in self.features:
            bits[number // 64] |= 1 << number % 64
        attrs_size = entry_size * len(self.attrs)
        places = (attrs_at, attrs_size, data_at, data_size, 0, 0)
        return struct.pack(self.order + "13Q", MAGIC, HEADER_SIZE, entry_size, *places, *bits)

    def _ids(self) -> bytes:
        return b"".join(struct.pack(self.order + f"{len(ids)}Q", *ids) for _, ids in self.attrs)

    def _attrs(self, ids_at: int, entry_size: int) -> bytes:
        out = []
        for attr, ids in self.attrs:
            out.append(attr.ljust(entry_size - 16, b"\0") + struct.pack(self.order + "QQ", ids_at, 8 * len(ids)))
            ids_at += 8 * len(ids)
        return b"".join(out)

    def _features(self, start: int) -> bytes:
        at = start + 16 * len(self.features)
        table = []
        for section in self.features.values():
            table.append(struct.pack(self.order + "QQ", at, len(section)))
            at += len(section)
        return b"".join((*table, *self.features.values()))


def split_records(data: bytes, order: str) -> list[bytes]:
    """Split consecutive records by their sizes."""
    out, at = [], 0
    while at + 8 <= len(data):
        size = struct.unpack_from(order + "H", data, at + 6)[0]
        out.append(data[at : at + size])
        at += size
    return out
