"""Decompresses files and sections in memory: gzip, xz, zstd and zlib.

Sizes are limited (base/files/unpack_limit.py), because hostile data may unpack to terabytes.
"""

import zlib
from typing import Any

from perf2x.base.files.unpack_limit import memory_limit, too_large
from perf2x.base.files.unpackers import unpacker
from perf2x.errors import ObjectError

_MAGICS = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def decompress_file(data: bytes) -> bytes:
    """Decompress a file's bytes if they begin with the magic number of gzip, xz or zstd; else return them unchanged.

    Raises ObjectError if they are damaged or cut off, or the contents are too large.
    """
    compression = next((name for magic, name in _MAGICS.items() if data.startswith(magic)), "")
    return decompress(compression, data, memory_limit(len(data))) if compression else data


def decompress(compression: str, data: bytes, limit: int) -> bytes:
    """Decompress one stream; ``compression`` is zlib, gzip, xz or zstd.

    Raises ObjectError if the stream is damaged or cut off, or if its contents have more than ``limit`` bytes.
    """
    stream, damage_error = _decompressor(compression)
    try:
        contents: bytes = stream.decompress(data, limit + 1)
    except damage_error as error:
        raise ObjectError(f"{compression} data: {error}") from None
    if len(contents) > limit:
        raise ObjectError(*too_large(f"{compression} data: ", len(data), limit))
    if not stream.eof:
        raise ObjectError(f"{compression} data: cut off: only {len(contents)} bytes could be unpacked")
    return contents


def _decompressor(compression: str) -> tuple[Any, type[Exception]]:
    if compression in ("zlib", "gzip"):
        # adding 16 selects gzip's header
        return zlib.decompressobj(zlib.MAX_WBITS | (16 if compression == "gzip" else 0)), zlib.error
    module = unpacker(compression, ObjectError)
    if compression == "zstd":
        return module.ZstdDecompressor(), module.ZstdError
    return module.LZMADecompressor(module.FORMAT_XZ, memlimit=1 << 30), module.LZMAError
