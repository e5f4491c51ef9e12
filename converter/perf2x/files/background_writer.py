"""Files that are written in a thread of their own: the disk and zlib let go of the interpreter meanwhile."""

import gzip
import io
import queue
import threading
from collections.abc import Iterator
from typing import BinaryIO

_PIECES_WAITING = 16
_LEVEL = 6


class BackgroundWriter(io.BufferedIOBase):
    """Writes to ``out`` while the writer of pieces goes on; what ``out`` raises, a write or close raises.

    ``out`` stays open. Use it as a context manager: whatever happens inside, the thread is gone afterwards.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._pieces: queue.Queue[bytes | memoryview | None] = queue.Queue(_PIECES_WAITING)
        self._error: OSError | MemoryError | None = None
        self._thread = threading.Thread(target=self._write_all, args=(out,), daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # "can't start new thread": no memory for its stack
            super().close()
            raise MemoryError(str(error)) from None

    def writable(self) -> bool:
        """It is nothing else."""
        return True

    def write(self, piece: bytes | memoryview, /) -> int:  # type: ignore[override]
        """Hand a piece on; it must not change afterwards."""
        if self._error is not None:
            raise self._error
        self._pieces.put(piece)
        return len(piece)

    def close(self) -> None:
        """Wait until all is written."""
        if not self.closed:
            super().close()
            self._pieces.put(None)
            self._thread.join()
            if self._error is not None:
                raise self._error

    def _write_all(self, out: BinaryIO) -> None:
        pieces: Iterator[bytes | memoryview] = iter(self._pieces.get, None)
        try:
            self._write_each(out, pieces)
        except (OSError, MemoryError) as error:
            self._error = error
            for _ in pieces:  # nobody may wait for room
                pass

    def _write_each(self, out: BinaryIO, pieces: Iterator[bytes | memoryview]) -> None:
        for piece in pieces:
            out.write(piece)


class BackgroundGzipWriter(BackgroundWriter):
    """The same, compressed: gzip without name and time, so that equal contents are equal bytes."""

    def _write_each(self, out: BinaryIO, pieces: Iterator[bytes | memoryview]) -> None:
        with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=_LEVEL) as packed:
            for piece in pieces:
                packed.write(piece)
