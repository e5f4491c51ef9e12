"""Unpacks the records inside COMPRESSED and COMPRESSED2 records.

One zstd stream runs through all compressed records of a file (tools/perf/util/zstd.c), and a record inside may start in
one of them and end in the next::

    COMPRESSED |zstd …|   COMPRESSED |zstd …|
    unpacked   |rec|rec|re            c|rec|
    handed out |rec|rec|             |rec|rec|
"""

import struct
from typing import Any

import numpy as np

from perf2x.base.abi import HEADER_SIZE, ByteOrder, UserRecordType
from perf2x.base.columnar import U8
from perf2x.base.files import unpack_limit
from perf2x.base.files.unpackers import unpacker
from perf2x.errors import FormatError
from perf2x.reader.record_framing import FramedRecords, frame_records

_MOST_EACH = 64 << 20
"""Maximum bytes that a compressed record of at most 64 KiB may unpack to; smaller ring buffers lower the limit."""


class Unpacker:
    """Unpacks the compressed records of one section in file order.

    ``limit`` bounds each record, and the policy of base/files/unpack_limit.py all of them. The first bytes that are not
    zstd, or not records, end the stream, because later ones depend on them.
    """

    def __init__(self, limit: int, packed_total: int) -> None:
        self._stream = _ZstdStream()
        self._tail = b""
        self._limit = min(limit or _MOST_EACH, _MOST_EACH)
        self._packed = packed_total
        self._most = self._room = unpack_limit.unpacked_limit(packed_total)
        self._broken = ""

    @property
    def leftover(self) -> int:
        """Number of bytes of an incomplete last record."""
        return len(self._tail)

    def unpack(self, record: U8, order: ByteOrder) -> tuple[U8, FramedRecords]:
        """Return the complete records that this one contains or completes, framed.

        Raises ValueError if it cannot be unpacked.
        """
        if self._broken:
            raise ValueError(self._broken)
        try:
            data = self._unpack(record, order)
        except ValueError as error:
            self._broken = str(error)
            raise
        framed = frame_records(data, order, specials=frozenset())
        if framed.broken:
            self._broken = "a record inside has an impossible size"
        self._tail = data[framed.length :].tobytes()
        return data[: framed.length], framed

    def unpack_again(self, record: U8, order: ByteOrder, complete: int) -> U8:
        """Unpack a record on a later walk; the first walk found ``complete`` bytes of whole records in it."""
        data = self._unpack(record, order)
        self._tail = data[complete:].tobytes()
        return data[:complete]

    def _unpack(self, record: U8, order: ByteOrder) -> U8:
        try:
            unpacked = self._stream.feed(_zstd_payload(record, order), min(self._limit, self._room))
        except _TooLargeError:
            if self._room > self._limit:
                raise
            raise FormatError(*unpack_limit.too_large("compressed records: ", self._packed, self._most)) from None
        self._room -= len(unpacked)
        return np.frombuffer(self._tail + unpacked, np.uint8)


def _zstd_payload(record: U8, order: ByteOrder) -> bytes:
    """Return the zstd bytes of a record.

    COMPRESSED2 states their number; COMPRESSED fills its record. perf 6.16 wrote data_size, and the padding that
    requires it, only in the first record of a batch; an impossible size is therefore replaced by the size of the
    record.
    """
    kind, _, size = struct.unpack_from(order + "IHH", record.data)
    if kind == UserRecordType.COMPRESSED:
        return record[HEADER_SIZE:].tobytes()
    if size < HEADER_SIZE + 8:
        raise ValueError("the record is too short for data_size")
    (data_size,) = struct.unpack_from(order + "Q", record.data, HEADER_SIZE)
    start = HEADER_SIZE + 8
    return record[start : start + data_size if 0 < data_size <= size - start else size].tobytes()


class _TooLargeError(ValueError):
    """The unpacked data exceeds the limit."""


class _ZstdStream:
    """One zstd stream that arrives in chunks, as perf writes it: flushed after every chunk, never ended.

    ``feed`` raises ValueError for bytes that are not zstd, _TooLargeError for chunks that unpack to more than the
    limit.
    """

    def __init__(self) -> None:
        self._decompressor: Any = None

    def feed(self, chunk: bytes, limit: int) -> bytes:
        """Unpack a chunk as far as it is complete, to at most ``limit`` bytes."""
        module = unpacker("zstd", FormatError)  # most recordings are not compressed
        self._decompressor = self._decompressor or module.ZstdDecompressor()
        parts: list[bytes] = []
        room = limit
        while chunk or not self._decompressor.needs_input:
            if self._decompressor.eof:
                self._decompressor = module.ZstdDecompressor()
            try:
                part = self._decompressor.decompress(chunk, max_length=room + 1)
            except module.ZstdError as error:
                raise ValueError(str(error)) from error
            room -= len(part)
            if room < 0:
                raise _TooLargeError(f"unpacks to more than {limit:,} bytes")
            parts.append(part)
            chunk = self._decompressor.unused_data if self._decompressor.eof else b""
        return b"".join(parts)
