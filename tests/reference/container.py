"""Files, pipe streams, directories and compressed records → attributes, feature sections, records in order."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

from tests.forge.session import zstd

LITTLE, BIG = b"PERFILE2", b"2ELIFREP"


@dataclass
class Contents:
    """``records`` are whole records, compressed ones replaced by what is inside."""

    order: str = "<"
    pipe: bool = False
    attrs: list[tuple[bytes, tuple[int, ...]]] = field(default_factory=list)
    features: dict[int, bytes] = field(default_factory=dict)
    records: list[bytes] = field(default_factory=list)


def contents_of(path: Path) -> Contents:
    """A file, or a directory of ``perf record --threads``."""
    if not path.is_dir():
        return parse(path.read_bytes())
    contents = parse((path / "data").read_bytes())
    for part in sorted(path.glob("data.*")):
        contents.records += unpacked(part.read_bytes(), contents.order)
    return contents


def parse(raw: bytes) -> Contents:
    order = {LITTLE: "<", BIG: ">"}[raw[:8]]
    header_size = struct.unpack_from(order + "Q", raw, 8)[0]
    return _parse_pipe(raw, order) if header_size == 16 else _parse_file(raw, order, header_size)


def _parse_file(raw: bytes, order: str, header_size: int) -> Contents:
    entry, attrs_at, attrs_size, data_at, data_size = struct.unpack_from(order + "5Q", raw, 16)
    contents = Contents(order)
    for at in range(attrs_at, attrs_at + attrs_size, entry):
        ids_at, ids_size = struct.unpack_from(order + "QQ", raw, at + entry - 16)
        ids = struct.unpack_from(order + f"{ids_size // 8}Q", raw, ids_at)
        contents.attrs.append((raw[at : at + entry - 16], ids))
    data_end = data_at + data_size if data_size else len(raw)
    if data_size and header_size >= 104:
        contents.features = _sections(raw, order, data_end)
    contents.records = unpacked(raw[data_at:data_end], order)
    return contents


def _sections(raw: bytes, order: str, table_at: int) -> dict[int, bytes]:
    words = struct.unpack_from(order + "4Q", raw, 72)
    numbers = [n for n in range(256) if words[n // 64] >> n % 64 & 1]
    found = {}
    for row, number in enumerate(numbers):
        at, size = struct.unpack_from(order + "QQ", raw, table_at + 16 * row)
        found[number] = raw[at : at + size]
    return found


def _parse_pipe(raw: bytes, order: str) -> Contents:
    contents = Contents(order, pipe=True)
    for record in unpacked(raw[16:], order):
        number, _, size = struct.unpack_from(order + "IHH", record)
        if number == 64:
            attr_size = struct.unpack_from(order + "I", record, 12)[0] or 64
            ids = struct.unpack(order + f"{(size - 8 - attr_size) // 8}Q", record[8 + attr_size :])
            contents.attrs.append((record[8 : 8 + attr_size], ids))
        elif number == 80:
            contents.features[struct.unpack_from(order + "Q", record, 8)[0]] = record[16:]
        else:
            contents.records.append(record)
    return contents


def unpacked(data: bytes, order: str) -> list[bytes]:
    """Records one behind the other; those inside COMPRESSED ones may straddle several."""
    out: list[bytes] = []
    stream, pending, at = zstd().ZstdDecompressor(), b"", 0
    while at + 8 <= len(data):
        number, _, size = struct.unpack_from(order + "IHH", data, at)
        if size < 8 or at + size > len(data):
            break
        record = data[at : at + size]
        at += size + _trailing_blob(number, record, order)
        if number in (81, 83):
            pending += stream.decompress(_compressed_part(number, record, order))
            whole, pending = _whole_records(pending, order)
            out += whole
        else:
            out.append(record)
    return out


def _compressed_part(number: int, record: bytes, order: str) -> bytes:
    if number == 81:
        return record[8:]
    size = struct.unpack_from(order + "Q", record, 8)[0]
    return record[16 : 16 + size] if 0 < size <= len(record) - 16 else record[16:]


def _whole_records(data: bytes, order: str) -> tuple[list[bytes], bytes]:
    out, at = [], 0
    while at + 8 <= len(data):
        size = struct.unpack_from(order + "H", data, at + 6)[0]
        if size < 8 or at + size > len(data):
            break
        out.append(data[at : at + size])
        at += size
    return out, data[at:]


def _trailing_blob(number: int, record: bytes, order: str) -> int:
    """HEADER_TRACING_DATA and AUXTRACE are followed by bytes that their size does not count."""
    if number == 66:
        size = struct.unpack_from(order + "I", record, 8)[0]
        return size + (-size % 8 if size % 8 else 0)
    return struct.unpack_from(order + "Q", record, 8)[0] if number == 71 else 0
