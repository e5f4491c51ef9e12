"""Wraps the zstd module: a file of it, and the stream that runs through compressed records."""

from typing import IO, Any

from perf2x.base.errors import FormatError
from perf2x.base.files.unpackers import unpacker


class ZstdReader:
    """Reads a .zst file unpacked; raises ValueError where it is damaged."""

    def __init__(self, packed: IO[bytes]) -> None:
        module = unpacker("zstd", ValueError)
        self._file = module.ZstdFile(packed)
        self._error: type[Exception] = module.ZstdError

    def __enter__(self) -> "ZstdReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read1(self, size: int) -> bytes:
        """Return some bytes, none at the end."""
        try:
            part: bytes = self._file.read1(size)
        except self._error as error:
            raise ValueError(str(error)) from error
        return part


class TooLargeError(ValueError):
    """The data unpacks to more than the limit."""


class ZstdStream:
    """One zstd stream that arrives in chunks, as perf writes it: flushed after every chunk, never ended.

    ``feed`` raises ValueError for bytes that are no zstd, TooLargeError for those that unpack to more than the limit.
    """

    def __init__(self) -> None:
        self._decompressor: Any = None

    def feed(self, chunk: bytes, limit: int) -> bytes:
        """Unpack a chunk as far as it is complete, to at most ``limit`` bytes."""
        module = unpacker("zstd", FormatError)  # most recordings have nothing to unpack
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
                raise TooLargeError(f"unpacks to more than {limit:,} bytes")
            parts.append(part)
            chunk = self._decompressor.unused_data if self._decompressor.eof else b""
        return b"".join(parts)
