"""Writes, and perhaps compresses, in a background thread.

Disk writes and zlib release the interpreter lock, so the main thread can make the next chunk meanwhile.
"""

import gzip
import io
import queue
import threading
from collections.abc import Iterator
from typing import BinaryIO

_MAX_QUEUED = 16  # maximum number of chunks that wait for the thread; with more, ``write`` waits
_GZIP_LEVEL = 4  # level 6 takes two and a half times as long, and its output is 4 % smaller


class BackgroundWriter(io.BufferedIOBase):
    """A writable file that passes chunks to a thread, which writes them to ``out``.

    The next ``write``, or ``close``, raises the errors of ``out``. Use it as a context manager, so that the thread
    always ends; ``out`` stays open. Where no thread can be started, as in a browser, ``write`` writes chunks itself.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out: _FailsOnce | gzip.GzipFile = _FailsOnce(out)
        self._chunks: queue.Queue[bytes | memoryview | None] = queue.Queue(_MAX_QUEUED)
        self._error: OSError | MemoryError | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._write_all, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None
            self._out = self._target_of(self._out)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, chunk: bytes | memoryview, /) -> int:  # type: ignore[override]
        """Queue a chunk, which must not be changed afterwards.

        Raises OSError or MemoryError if an earlier write failed.
        """
        if self._error is not None:
            raise self._error
        if self._thread is None:
            self._out.write(chunk)
        else:
            self._chunks.put(chunk)
        return len(chunk)

    def close(self) -> None:
        """Wait until everything is written. Raises OSError or MemoryError if a write failed."""
        if self.closed:
            return
        super().close()
        if self._thread is None:
            self._out.close()
        else:
            self._chunks.put(None)  # the end of the queue
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _write_all(self) -> None:
        chunks: Iterator[bytes | memoryview] = iter(self._chunks.get, None)
        try:
            out = self._target_of(self._out)
            for chunk in chunks:
                out.write(chunk)
            out.close()
        except (OSError, MemoryError) as error:
            self._error = error
            for _ in chunks:  # drain the queue: ``write`` may be waiting for room in it
                pass

    def _target_of(self, out: "_FailsOnce | gzip.GzipFile") -> "_FailsOnce | gzip.GzipFile":
        """Return the file to which chunks are written: ``out``, or in a subclass, a file that compresses to ``out``."""
        return out


class BackgroundGzipWriter(BackgroundWriter):
    """A background writer that compresses with gzip; no name or time is stored, so equal contents give equal bytes."""

    def _target_of(self, out: "_FailsOnce | gzip.GzipFile") -> gzip.GzipFile:
        return gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=_GZIP_LEVEL)


class _FailsOnce:
    """A file that ignores everything that is written after its first error.

    A GzipFile that could not be closed tries again when it is garbage-collected; Python 3.13 and later would print the
    second error.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out: BinaryIO | None = out

    def write(self, chunk: bytes | memoryview) -> int:
        out, self._out = self._out, None  # stays None if the next write raises
        if out is None:
            return len(chunk)
        written = out.write(chunk)
        self._out = out
        return written

    def flush(self) -> None:
        """Do nothing: whoever opened the file flushes it."""

    def close(self) -> None:
        """Do nothing: whoever opened the file closes it."""
