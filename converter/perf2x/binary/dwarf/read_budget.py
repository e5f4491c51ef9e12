"""A bound on how often the bytes of a section are read.

Units say where their tables begin. Nothing keeps n units from naming n places in one large table, so that a file of n
bytes would take the time of n².
"""

from perf2x.tables.errors import ObjectError

_SLACK = 1 << 16
"""Bytes that any section may be read beyond its share: small sections are never a burden."""


class ReadBudget:
    """What may still be read of one section; bytes that are read again count again."""

    def __init__(self, what: str, size: int, times: int) -> None:
        """``what`` names the content of ``size`` bytes in the error's text."""
        self._what, self._times, self._left = what, times, times * size + _SLACK

    def allow(self, size: int) -> None:
        """Count ``size`` more bytes that there are to read."""
        self._left += self._times * size

    def spend(self, size: int) -> None:
        """Count ``size`` bytes; ObjectError once more has been read than the bound allows."""
        self._left -= size
        if self._left < 0:
            raise ObjectError(f"debug info: its {self._what} overlap and would be read over and over")
