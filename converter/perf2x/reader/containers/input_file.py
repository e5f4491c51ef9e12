"""Maps an input into memory, as one read-only buffer: a file or standard input, compressed or not.

Pipes and unpacked files are spooled to an unlinked temporary file, so that memory does not grow with the input.
"""

import io
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import MAGIC, MAGIC_LEGACY, MAGIC_SWAPPED
from perf2x.base.columnar import U8, Frozen
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files import unpack_limit
from perf2x.base.files.operating_system import free_pages, map_file
from perf2x.base.files.temporary import shown_name
from perf2x.base.files.unpackers import compression_of, damage_errors, open_compressed
from perf2x.errors import FormatError, is_out_of_memory
from perf2x.reader.containers.file_header import kind_of_file

CHUNK_SIZE = 1 << 20
# Size of the beginning of an input by which its kind is recognized.
HEAD_SIZE = 1 << 16
# Returns whether perf2x can read an input with these first bytes, which is not a perf.data file.
IsOtherInput = Callable[[bytes], bool]
MAGICS = (MAGIC, MAGIC_SWAPPED, MAGIC_LEGACY)


class InputFile(Frozen):
    """All bytes of an input, as a read-only map."""

    data: U8
    mapping: mmap.mmap | None = None
    """The map of which ``data`` is a view; None if ``data`` is not a view of one."""
    size_on_disk: int = 0
    """Size of the input before unpacking, in bytes."""

    def forget(self, start: int, stop: int) -> None:
        """Advise the system that bytes [start, stop) are not needed soon."""
        if self.mapping is not None:
            free_pages(self.mapping, start, stop)


def map_input(path: str, diagnostics: Diagnostics, is_other: IsOtherInput = lambda _: False) -> InputFile:
    """Map a file ("-" is standard input); a compressed one is unpacked first. Raises FormatError if it cannot be read.

    Of a pipe or a compressed file, only the beginning is read unless it is a perf.data file or ``is_other`` accepts it.
    """
    name = input_name(path)
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
            input_file = _try_map(file, name) or _spool(stream_chunks(file, name, is_other), name)
            kind = compression_of(input_file.data[: len(MAGIC)].tobytes())
            return _unpack_file(input_file, kind, name, diagnostics, is_other) if kind else input_file
    except (OSError, ValueError) as error:
        raise FormatError(f"{name}: {getattr(error, 'strerror', None) or error}") from error


def input_name(path: str) -> str:
    """Return the input's name for messages."""
    return "standard input" if path == "-" else shown_name(path)


def stream_chunks(file: IO[bytes], name: str, is_other: IsOtherInput = lambda _: False) -> Iterator[bytes]:
    """Yield the data of a pipe or a device; only ``HEAD_SIZE`` bytes of data that perf2x cannot read.

    Raises FormatError for more data than unpack_limit allows.
    """
    total, limit = 0, unpack_limit.stream_limit()
    chunk = file.read(len(MAGIC))
    is_readable = chunk.startswith(MAGICS) or compression_of(chunk) != ""
    if not is_readable:
        chunk += file.read(HEAD_SIZE - len(chunk))
        is_readable = is_other(chunk)
    while chunk:
        total += len(chunk)
        if total > limit:
            size = unpack_limit.format_size(limit)
            raise FormatError(f"{name}: it sends more than {size}; ", *unpack_limit.RAISES_LIMIT)
        yield chunk
        chunk = file.read(CHUNK_SIZE) if is_readable else b""


def _try_map(file: IO[bytes], name: str) -> InputFile | None:
    """Map a whole file; None if it cannot be mapped (a pipe, a terminal, an empty file).

    Raises FormatError if it is too large for the address space.
    """
    try:
        if file.tell() != 0:  # partly read standard input
            return None
        mapping = map_file(file)
    except (OSError, ValueError) as error:
        if is_out_of_memory(error):
            raise FormatError(f"{name}: too large for this process: Python has 32 bits, or ulimit -v is set") from None
        return None
    real_mapping = mapping if isinstance(mapping, mmap.mmap) else None  # in a browser it is a bytearray
    return InputFile(np.frombuffer(mapping, np.uint8), real_mapping, len(mapping))


def _spool(chunks: Iterable[bytes], name: str) -> InputFile:
    with unpack_limit.Spool(name) as spooled:
        for chunk in chunks:
            spooled.write(chunk)
        return _try_map(spooled.done(), name) or InputFile(np.zeros(0, np.uint8))


def _unpack_file(
    packed_file: InputFile, kind: str, name: str, diagnostics: Diagnostics, is_other: IsOtherInput
) -> InputFile:
    stream: Any = packed_file.mapping or io.BytesIO(packed_file.data.tobytes())
    with open_compressed(kind, stream) as unpacked_stream:
        input_file = _spool(_unpacked_chunks(unpacked_stream, len(packed_file.data), name, diagnostics, is_other), name)
    if not len(input_file.data):
        raise FormatError(f"{name}: nothing can be unpacked from the compressed file")
    return replace(input_file, size_on_disk=packed_file.size_on_disk)


def _unpacked_chunks(
    unpacked_stream: Any, packed_size: int, name: str, diagnostics: Diagnostics, is_other: IsOtherInput
) -> Iterator[bytes]:
    total, limit = 0, unpack_limit.unpacked_limit(packed_size)
    while True:
        try:
            chunk = unpacked_stream.read1(CHUNK_SIZE)
        except damage_errors() as error:
            diagnostics.add(
                "wrapper_damaged", "The compressed file is cut off or damaged: copy it again completely.",
                where=f"{name}: {error}",
            )  # fmt: skip
            return
        total += len(chunk)
        if total > limit:
            raise FormatError(*unpack_limit.too_large(f"{name}: ", packed_size, limit))
        if total == len(chunk):
            _check_beginning(chunk, name, is_other)
        if not chunk:
            return
        yield chunk


def _check_beginning(chunk: bytes, name: str, is_other: IsOtherInput) -> None:
    """Raise FormatError, before much is unpacked, if data with this first chunk cannot be read."""
    if len(chunk) >= len(MAGIC) and not chunk.startswith(MAGICS) and not is_other(chunk[:HEAD_SIZE]):
        kind = kind_of_file(chunk)
        reason = f"is {kind}" if kind else f"starts with {chunk[: len(MAGIC)]!r}"
        raise FormatError(f"{name}: it contains no perf.data file: the unpacked data {reason}")
