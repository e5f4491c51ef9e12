"""Unpacks the records inside COMPRESSED and COMPRESSED2 records.

One zstd stream runs through all compressed records of a file (tools/perf/util/zstd.c), and an inner record may start in
one compressed record and end in the next::

    COMPRESSED |zstd …|   COMPRESSED |zstd …|
    unpacked   |rec|rec|re            c|rec|
    returned   |rec|rec|             |rec|rec|
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

_MAX_RECORD_BYTES = 64 << 20
"""Largest number of bytes to which one compressed record, of at most 64 KiB, may unpack.

If the file states the size of the ring buffers (mmap_len), and it is less than this, it is the limit instead.
"""


class Unpacker:
    """Unpacks the compressed records of one section in file order.

    The first bytes that are not zstd, or do not unpack to records, end the stream.
    """

    def __init__(self, limit: int, packed_size: int) -> None:
        """``limit`` is the number of bytes to which one record may unpack, 0 if the file does not state it.

        ``packed_size`` limits all records together (base/files/unpack_limit.py).
        """
        self._stream = _ZstdStream()
        self._incomplete_record = b""
        self._limit = min(limit or _MAX_RECORD_BYTES, _MAX_RECORD_BYTES)
        self._packed_size = packed_size
        self._max_total = self._total_left = unpack_limit.unpacked_limit(packed_size)
        self._break_reason = ""

    @property
    def leftover(self) -> int:
        """Bytes of an inner record that has not ended yet."""
        return len(self._incomplete_record)

    def unpack(self, record: U8, byte_order: ByteOrder) -> tuple[U8, FramedRecords]:
        """Unpack one compressed record; return the inner records that end in it, as bytes and framed.

        Raises ValueError if this or an earlier record cannot be unpacked, FormatError if all records together exceed
        their limit.
        """
        if self._break_reason:
            raise ValueError(self._break_reason)
        try:
            data = self._unpack(record, byte_order)
        except ValueError as error:
            self._break_reason = str(error)
            raise
        framed = frame_records(data, byte_order, special_types=frozenset())
        if framed.has_impossible_header:
            self._break_reason = "a record inside has an impossible size"
        self._incomplete_record = data[framed.length :].tobytes()
        return data[: framed.length], framed

    def unpack_again(self, record: U8, byte_order: ByteOrder, unpacked_size: int) -> U8:
        """Unpack a record on a later walk to as many bytes as on the first one."""
        data = self._unpack(record, byte_order)
        self._incomplete_record = data[unpacked_size:].tobytes()
        return data[:unpacked_size]

    def _unpack(self, record: U8, byte_order: ByteOrder) -> U8:
        try:
            unpacked = self._stream.feed(_zstd_payload(record, byte_order), min(self._limit, self._total_left))
        except _TooLargeError:
            if self._total_left > self._limit:
                raise
            raise FormatError(
                *unpack_limit.too_large("compressed records: ", self._packed_size, self._max_total)
            ) from None
        self._total_left -= len(unpacked)
        return np.frombuffer(self._incomplete_record + unpacked, np.uint8)


def _zstd_payload(record: U8, byte_order: ByteOrder) -> bytes:
    """The zstd bytes: the rest of a COMPRESSED; the first data_size bytes of a COMPRESSED2, which may be padded.

    perf 6.16 fills in data_size, and pads the record, only for the first record of a batch: an impossible data_size
    means that the record is not padded.
    """
    kind, _, size = struct.unpack_from(byte_order + "IHH", record.data)
    if kind == UserRecordType.COMPRESSED:
        return record[HEADER_SIZE:].tobytes()
    if size < HEADER_SIZE + 8:
        raise ValueError("the record is too short for data_size")
    (data_size,) = struct.unpack_from(byte_order + "Q", record.data, HEADER_SIZE)
    start = HEADER_SIZE + 8
    return record[start : start + data_size if 0 < data_size <= size - start else size].tobytes()


class _TooLargeError(ValueError):
    """A chunk unpacks to more bytes than its limit."""


class _ZstdStream:
    """One zstd stream in chunks, as perf writes it: flushed after every chunk, never ended."""

    def __init__(self) -> None:
        self._decompressor: Any = None

    def feed(self, chunk: bytes, limit: int) -> bytes:
        """Unpack a chunk. Raises ValueError if it is not zstd, _TooLargeError for more than ``limit`` bytes."""
        module = unpacker("zstd", FormatError)  # most recordings do not need this import
        self._decompressor = self._decompressor or module.ZstdDecompressor()
        parts: list[bytes] = []
        remaining = limit
        while chunk or not self._decompressor.needs_input:
            if self._decompressor.eof:  # another stream follows
                self._decompressor = module.ZstdDecompressor()
            try:
                part = self._decompressor.decompress(chunk, max_length=remaining + 1)
            except module.ZstdError as error:
                raise ValueError(str(error)) from error
            remaining -= len(part)
            if remaining < 0:
                raise _TooLargeError(f"unpacks to more than {limit:,} bytes")
            parts.append(part)
            chunk = self._decompressor.unused_data if self._decompressor.eof else b""
        return b"".join(parts)
