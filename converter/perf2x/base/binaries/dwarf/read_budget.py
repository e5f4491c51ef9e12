"""A limit on how often the bytes of a section are read.

Units state the offsets of their tables. In a hostile file, n units can refer to n offsets in one large table, so that
reading a file of n bytes would take time in n².
"""

from perf2x.errors import ObjectError

_SLACK = 1 << 16
"""Further bytes that may be read of any section: small sections are harmless."""


class ReadBudget:
    """Number of bytes of a section that may still be read; bytes that are read a second time count a second time."""

    def __init__(self, what: str, size: int, times: int) -> None:
        """Allow ``times`` × ``size`` bytes; ``what`` names the content of these ``size`` bytes in the error message."""
        self._what, self._times, self._left = what, times, times * size + _SLACK

    def allow(self, size: int) -> None:
        """Raise the budget for ``size`` further bytes of content."""
        self._left += self._times * size

    def spend(self, size: int) -> None:
        """Count ``size`` bytes as read. Raises ObjectError when the budget is exceeded."""
        self._left -= size
        if self._left < 0:
            raise ObjectError(f"debug info: its {self._what} overlap so much that reading them would take too long")
