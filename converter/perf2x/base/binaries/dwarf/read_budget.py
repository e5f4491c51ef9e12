"""A limit on how often the bytes of a section are read.

Units state the offsets of their tables. In a hostile file, n units can refer to n different offsets in one large table,
so that reading a file of n bytes would take time in n². In a valid file, bytes are read a few times at most.
"""

from perf2x.errors import ObjectError

# Bytes that may be read in addition, however small the section is: small sections are harmless.
_SLACK = 1 << 16


class ReadBudget:
    """Number of bytes of a section that may still be read; bytes that are read a second time count a second time."""

    def __init__(self, content: str, size: int, times: int) -> None:
        """Allow a section of ``size`` bytes to be read ``times`` times.

        ``content``: what the section contains, for the error message.
        """
        self._content, self._times, self._left = content, times, times * size + _SLACK

    def allow(self, size: int) -> None:
        """Let the section grow by ``size`` bytes, which may be read ``times`` times, too."""
        self._left += self._times * size

    def spend(self, size: int) -> None:
        """Count ``size`` bytes as read. Raises ObjectError when the budget is exceeded."""
        self._left -= size
        if self._left < 0:
            raise ObjectError(f"debug info: its {self._content} overlap so much that reading them would take too long")
