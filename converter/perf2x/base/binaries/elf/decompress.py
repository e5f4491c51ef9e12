"""Decompresses files and sections in memory: gzip, xz, zstd and zlib.

For ELF sections, kernel modules, copies of kallsyms and mini debug info. No input, however hostile, unpacks to more
than the limits of base/files/unpack_limit.py.
"""

import zlib
from typing import Any

from perf2x.base.files.unpack_limit import memory_limit, too_large
from perf2x.base.files.unpackers import unpacker
from perf2x.errors import ObjectError

_MAGICS = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def inflate_file(data: bytes) -> bytes:
    """Decompress a file by its magic number (gzip, xz, zstd); return anything else unchanged.

    Raises ObjectError when the stream is broken, truncated or too large.
    """
    kind = next((kind for magic, kind in _MAGICS.items() if data.startswith(magic)), "")
    return inflate(kind, data, memory_limit(len(data))) if kind else data


def inflate(kind: str, data: bytes, limit: int) -> bytes:
    """Decompress one stream of ``kind`` (zlib, gzip, xz, zstd).

    Raises ObjectError if it is damaged or has more than ``limit`` bytes.
    """
    stream, damage = _decompressor(kind)
    try:
        out: bytes = stream.decompress(data, limit + 1)
    except damage as error:
        raise ObjectError(f"{'zlib' if kind == 'gzip' else kind} data: {error}") from None
    if len(out) > limit:
        raise ObjectError(*too_large(f"{kind} data: ", len(data), limit))
    if not stream.eof:
        raise ObjectError(f"{kind} data: ends early, after {len(out)} bytes")
    return out


def _decompressor(kind: str) -> tuple[Any, type[Exception]]:
    """Return the decompressor of one stream, and the exception that it raises for damaged data."""
    if kind in ("zlib", "gzip"):
        return zlib.decompressobj(zlib.MAX_WBITS | (16 if kind == "gzip" else 0)), zlib.error
    module = unpacker(kind, ObjectError)
    if kind == "zstd":
        return module.ZstdDecompressor(), module.ZstdError
    return module.LZMADecompressor(module.FORMAT_XZ, memlimit=1 << 30), module.LZMAError
