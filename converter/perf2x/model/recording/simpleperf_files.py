"""Files with symbols that Android's simpleperf writes into a recording: those that have samples.

Source of truth: dso.cpp of simpleperf. The meaning of symbol addresses depends on the kind of file.
"""

import re
from enum import IntEnum

import numpy as np

from perf2x.base.columnar import I64, U64, Frozen, searchsorted


class FileKind(IntEnum):
    """DsoType in simpleperf's dso.h, and the addresses of each kind's symbols."""

    KERNEL = 0
    """Recorded addresses."""
    MODULE = 1
    """Addresses in the file: ``min_vaddr`` is ``offset`` bytes after the module's start."""
    ELF = 2
    """ELF addresses: ``min_vaddr`` is at file offset ``offset``; recorded addresses for JIT-compiled code."""
    DEX = 3
    """File offsets."""
    PERF_MAP = 4
    """Recorded addresses, in the process of ``perf-PID.map``."""
    UNKNOWN = 5
    """Recorded addresses."""


class RecordedFile(Frozen):
    """One file with its symbols, at least one, sorted by address."""

    kind: FileKind
    min_vaddr: int
    """The lowest address of code in the file."""
    offset: int | None
    """Offset of that address; None in old recordings, where it is the start of the file's first mapping."""
    start: U64
    end: U64
    names: list[str]

    def find(self, address: U64) -> I64:
        """Return (n,) index of the symbol that contains each address, −1 for none."""
        row = searchsorted(self.start, address, "right") - 1
        return np.where((row >= 0) & (address < self.end[row]), row, -1)


_CODE = re.compile(r"(?:^|/)(?:[^/]*_jit_(app|zygote)_cache:|TemporaryFile-)([^/]*)$")


def shown_path(path: str) -> str:
    """Name JIT-compiled code as simpleperf's reports do: without the suffix that distinguishes its parts.

    ``[JIT app cache]`` for a slice of ``perf.data_jit_app_cache``, ``[JIT cache]`` for old ``TemporaryFile-…``.
    """
    found = _CODE.search(path)
    return path if found is None else f"[JIT {found[1] + ' ' if found[1] else ''}cache]{found[2]}"
