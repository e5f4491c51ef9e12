"""A limit on how often the bytes of a section are read.

In a hostile file, thousands of units can refer to slightly different offsets in one large table. The time to read the
file would then grow with the square of its size. In a valid file, bytes are read a few times at most.
"""

from perf2x.errors import ObjectError

# Bytes that every budget has in addition, because small sections are harmless.
_SLACK = 1 << 16


class ReadBudget:
    """The number of bytes of a section that may still be read; bytes count each time that they are read."""

    def __init__(self, content: str, size: int, times: int) -> None:
        """Allow a section of ``size`` bytes to be read ``times`` times; ``content`` names it in the error message."""
        self._content, self._times, self._left = content, times, times * size + _SLACK

    def allow(self, size: int) -> None:
        """Let the section grow by ``size`` bytes, which may be read ``times`` times, too."""
        self._left += self._times * size

    def spend(self, size: int) -> None:
        """Count ``size`` bytes as read. Raises ObjectError when the budget is exceeded."""
        self._left -= size
        if self._left < 0:
            raise ObjectError(f"debug info: its {self._content} overlap so much that reading them would take too long")
