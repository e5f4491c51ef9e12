"""Reads untrusted tarballs: headers, members and sizes are bounded, and nothing is extracted under its own name.

By itself, tarfile reads extended headers (pax, GNU long names, sparse maps) whole, however large they are. It also
unpacks members of a compressed tarball just to skip them. So ``BoundedStream`` stands between tarfile and the file.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from msgspec import Struct

from perf2x.base.files.read_file import open_regular
from perf2x.base.files.unpack_limit import RAISES_LIMIT, format_size, too_large, unpacked_limit
from perf2x.base.files.unpackers import compression_of, damage_errors, open_compressed
from perf2x.errors import FormatError

if TYPE_CHECKING:
    import tarfile

_MAX_READ = 1 << 20
"""Maximum size of one read, and so of one header, in bytes."""
_MAX_HEADERS = 4 << 20
"""Maximum size of all headers of one member, in bytes; a sparse file may have many headers."""
MOST_MEMBERS = 100_000
"""Maximum number of members in a tarball."""


def tarball_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exceptions that reading a damaged tarball raises, and ``more``, for an ``except`` clause."""
    import tarfile  # few conversions read a tarball

    # RecursionError, because tarfile calls itself for each header that follows a header
    return (*more, *damage_errors(), RecursionError, FormatError, tarfile.TarError)


@contextlib.contextmanager
def open_tarball(path: Path) -> Iterator[Tarball]:
    """Open a tarball, plain or compressed by gzip, bzip2, xz or zstd. Raises the exceptions of ``tarball_errors``."""
    import tarfile

    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open_regular(path))
        kind = compression_of(file.read(6))
        file.seek(0)
        unpacked = stack.enter_context(cast(IO[bytes], open_compressed(kind, file))) if kind else file
        size = path.stat().st_size
        bounded = BoundedStream(unpacked, size, unpacked_limit(size) if kind else None)
        yield Tarball(stack.enter_context(tarfile.open(fileobj=cast(IO[bytes], bounded), mode="r:")), bounded)


class Tarball(Struct):
    """An open tarball, to be read once from beginning to end."""

    _tar: tarfile.TarFile
    _bounded: BoundedStream

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield each member in order. Raises ValueError if there are more than MOST_MEMBERS."""
        for _ in range(MOST_MEMBERS + 1):
            self._bounded.begin_headers()
            member = self._tar.next()
            if member is None:
                return
            self._bounded.headers_done()
            yield member
            self._tar.members = []  # type: ignore[attr-defined]  # tarfile would keep all members in memory
        raise ValueError(f"it has more than {MOST_MEMBERS:,} members")

    def chunks(self, member: tarfile.TarInfo, limit: int) -> Iterator[bytes]:
        """Yield the contents of the member that ``members`` yielded last, in chunks.

        Raises FormatError if the contents, including the holes of a sparse file, have more than ``limit`` bytes.
        """
        if member.size > limit:
            sizes = f"{member.name} is {format_size(member.size)}, more than {format_size(limit)}"
            raise FormatError(f"{sizes}; ", *RAISES_LIMIT)
        self._bounded.headers_done()
        stream = self._tar.extractfile(member)
        while stream is not None and (chunk := stream.read(_MAX_READ)):
            yield chunk


class BoundedStream(io.RawIOBase):
    """The file that tarfile reads from, with bounds on reads and positions."""

    def __init__(self, stream: IO[bytes], packed_size: int, limit: int | None) -> None:
        """``stream`` is the unpacked tarball, ``packed_size`` the size of the tarball on disk.

        ``limit`` is the highest position in ``stream``; None for a tarball that is not compressed.
        """
        super().__init__()
        self._stream, self._packed_size, self._limit = stream, packed_size, limit
        # how many more bytes the headers of the current member may have; None while its contents are read
        self._header_bytes_left: int | None = _MAX_HEADERS

    def begin_headers(self) -> None:
        """Count reads from now on as headers of the next member."""
        self._header_bytes_left = _MAX_HEADERS

    def headers_done(self) -> None:
        """Stop counting: reads from now on are contents of a member."""
        self._header_bytes_left = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes.

        Raises ValueError for more than _MAX_READ and for too many bytes of headers. Raises FormatError for a position
        beyond the limit.
        """
        if not 0 <= size <= _MAX_READ:
            raise ValueError(f"it has a header of {format_size(size)}" if size >= 0 else "a header without an end")
        if self._header_bytes_left is not None:
            self._header_bytes_left -= size
            if self._header_bytes_left < 0:
                raise ValueError(f"a member has headers of more than {format_size(_MAX_HEADERS)}")
        data = self._stream.read(size)
        self._check(self._stream.tell())
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to a position. Raises FormatError if it is beyond the limit."""
        if whence == 0:  # tarfile uses no other
            self._check(offset)
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """Return the position in bytes from the beginning."""
        return self._stream.tell()

    def _check(self, position: int) -> None:
        if self._limit is not None and position > self._limit:
            raise FormatError(*too_large("", self._packed_size, self._limit))
