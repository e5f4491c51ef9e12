"""Section streams for pyelftools with a limit on the bytes read, and the exceptions that pyelftools raises."""

import io
from collections.abc import Callable

from perf2x.base.errors import ObjectError

BLOCK = 1 << 14

PARSE_ERRORS = (ObjectError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError, AssertionError,
           NotImplementedError)  # fmt: skip
"""Exceptions that pyelftools raises for broken debug info, in addition to its own."""


class SpentError(ObjectError):
    """The read allowance is used up."""


class ReadAllowance:
    """The number of bytes that may still be read of all sections together; bytes read again count again."""

    def __init__(self, size: int) -> None:
        self._left = size

    def spend(self, size: int) -> None:
        """Count ``size`` bytes as read; SpentError when the allowance is exceeded."""
        self._left -= size
        if self._left < 0:
            raise SpentError("reading it would exceed the limit")


class SectionStream(io.RawIOBase):
    """The bytes of one section as a stream; of a section in a file only the needed blocks are read."""

    def __init__(self, size: int, fetch: Callable[[int, int], bytes], budget: ReadAllowance) -> None:
        """``fetch`` returns the bytes at (offset, size) of the section."""
        self.size, self._fetch, self._budget = size, fetch, budget
        self._at = 0
        self._block, self._data = -1, b""

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes; fewer at the end of the section."""
        left = max(self.size - self._at, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        self._budget.spend(wanted)
        if self._at // BLOCK != self._block:
            self._block = self._at // BLOCK
            start = self._block * BLOCK
            self._data = self._fetch(start, min(BLOCK, self.size - start)) if wanted else b""
        first = self._at - self._block * BLOCK
        found = self._data[first : first + wanted]
        self._at += len(found)
        return found if len(found) == wanted or not found else found + self.read(wanted - len(found))

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to an offset; ``whence`` as for files."""
        self._at = max(offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence], 0)
        return self._at

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self._at
