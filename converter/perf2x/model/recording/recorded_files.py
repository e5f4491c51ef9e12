"""Files with their symbols, as Android's simpleperf writes them into a recording: those that its samples hit.

Source of truth: dso.cpp of simpleperf. What the addresses of symbols are depends on the kind of file.
"""

import re
from enum import IntEnum

import numpy as np

from perf2x.base.columnar import I64, U64, Frozen, searchsorted


class FileKind(IntEnum):
    """DsoType in simpleperf's dso.h, and the addresses of each kind's symbols."""

    KERNEL = 0
    """As recorded."""
    MODULE = 1
    """In the file: ``min_vaddr`` lies ``offset`` bytes behind the module's start."""
    ELF = 2
    """svmas: ``min_vaddr`` lies at file offset ``offset``; as recorded in code that was compiled just in time."""
    DEX = 3
    """File offsets."""
    PERF_MAP = 4
    """As recorded, in the process of ``perf-PID.map``."""
    UNKNOWN = 5
    """As recorded."""


class RecordedFile(Frozen):
    """One file with its symbols, of which there is one at least, sorted by address."""

    kind: FileKind
    min_vaddr: int
    """The lowest address of code in the file."""
    offset: int | None
    """Offset of that address; None in old recordings, whose first mapping of the file begins there."""
    start: U64
    end: U64
    names: list[str]

    def find(self, address: U64) -> I64:
        """(n,) index of the symbol that holds each address, −1 for none."""
        row = searchsorted(self.start, address, "right") - 1
        return np.where((row >= 0) & (address < self.end[row]), row, -1)


_CODE = re.compile(r"(?:^|/)(?:[^/]*_jit_(app|zygote)_cache:|TemporaryFile-)([^/]*)$")


def shown_path(path: str) -> str:
    """Name compiled code as simpleperf's reports do; behind the name stands what tells its pieces apart.

    ``[JIT app cache]`` for a slice of ``perf.data_jit_app_cache``, ``[JIT cache]`` for old ``TemporaryFile-…``.
    """
    found = _CODE.search(path)
    return path if found is None else f"[JIT {found[1] + ' ' if found[1] else ''}cache]{found[2]}"
