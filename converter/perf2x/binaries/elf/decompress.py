"""Decompression of files and sections: gzip, xz, zstd and zlib.

Shared by ELF sections, kernel modules, kallsyms copies and mini debug info. Every function is bounded: no input,
however hostile, grows beyond ``limit`` bytes (base/files/unpack_limit.py).
"""

import zlib

from perf2x.base.errors import ObjectError
from perf2x.base.files.unpack_limit import memory_limit, too_large
from perf2x.base.files.unpackers import unpacker


def inflate_file(data: bytes) -> bytes:
    """Decompress a file by its magic number (gzip, xz, zstd); return anything else unchanged.

    ObjectError when the stream is broken, truncated or too large.
    """
    if data.startswith(b"\x1f\x8b"):
        return inflate("gzip", data, memory_limit(len(data)))
    if data.startswith(b"\xfd7zXZ\0"):
        return inflate("xz", data, memory_limit(len(data)))
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return inflate("zstd", data, memory_limit(len(data)))
    return data


def inflate(kind: str, data: bytes, limit: int) -> bytes:
    """Decompress one stream of ``kind`` (zlib, gzip, xz, zstd) to at most ``limit`` bytes; ObjectError otherwise."""
    readers = {"zlib": _inflate_zlib, "gzip": _inflate_gzip, "xz": _inflate_xz, "zstd": _inflate_zstd}
    out, whole = readers[kind](data, limit + 1)
    if len(out) > limit:
        raise ObjectError(*too_large(f"{kind} data: ", len(data), limit))
    if not whole:
        raise ObjectError(f"{kind} data: ends early, after {len(out)} bytes")
    return out


def _inflate_zlib(data: bytes, limit: int, wbits: int = zlib.MAX_WBITS) -> tuple[bytes, bool]:
    stream = zlib.decompressobj(wbits)
    try:
        out = stream.decompress(data, limit)
    except zlib.error as error:
        raise ObjectError(f"zlib data: {error}") from None
    return out, stream.eof


def _inflate_gzip(data: bytes, limit: int) -> tuple[bytes, bool]:
    return _inflate_zlib(data, limit, zlib.MAX_WBITS | 16)


def _inflate_xz(data: bytes, limit: int) -> tuple[bytes, bool]:
    lzma = unpacker("xz", ObjectError)
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 30)
    try:
        out = stream.decompress(data, limit)
    except lzma.LZMAError as error:
        raise ObjectError(f"xz data: {error}") from None
    return out, stream.eof


def _inflate_zstd(data: bytes, limit: int) -> tuple[bytes, bool]:
    zstd = unpacker("zstd", ObjectError)
    stream = zstd.ZstdDecompressor()
    try:
        out = stream.decompress(data, limit)
    except zstd.ZstdError as error:
        raise ObjectError(f"zstd data: {error}") from None
    return bytes(out), bool(stream.eof)
