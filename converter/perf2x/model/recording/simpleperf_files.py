"""Symbol tables that Android's simpleperf writes into a recording. Source of truth: dso.cpp of simpleperf."""

import re
from enum import IntEnum

import numpy as np

from perf2x.base.columnar import I64, U64, Frozen, searchsorted


class FileKind(IntEnum):
    """DsoType in simpleperf's dso.h. The text below each kind describes the addresses of its symbols."""

    KERNEL = 0
    """Recorded addresses."""
    MODULE = 1
    """Addresses in the file; ``RecordedFile.min_vaddr`` is mapped ``offset`` bytes after the module's start."""
    ELF = 2
    """Addresses in the ELF file, where ``min_vaddr`` is at file offset ``offset``; for JIT-compiled code, recorded
    addresses.
    """
    DEX = 3
    """File offsets."""
    PERF_MAP = 4
    """Recorded addresses, in the process whose id is in the file's name, ``perf-PID.map``."""
    UNKNOWN = 5
    """Recorded addresses."""


class RecordedFile(Frozen):
    """One file with its symbols, at least one, sorted by address."""

    kind: FileKind
    min_vaddr: int
    """The lowest address of code in the file."""
    offset: int | None
    """File offset of ``min_vaddr``.

    None in old recordings, which lack it: there, the file's first mapping starts at ``min_vaddr``.
    """
    start: U64
    end: U64
    names: list[str]

    def find(self, address: U64) -> I64:
        """Return (n,) the index of the symbol that contains each address, −1 if none does."""
        row = searchsorted(self.start, address, "right") - 1
        return np.where((row >= 0) & (address < self.end[row]), row, -1)


_JIT_FILE = re.compile(r"(?:^|/)(?:[^/]*_jit_(app|zygote)_cache:|TemporaryFile-)([^/]*)$")


def shown_path(path: str) -> str:
    """Shorten the path of a file of JIT-compiled code as simpleperf's reports do; other paths stay.

    Such code is in slices of a file: ``perf.data_jit_app_cache:128-4096`` becomes ``[JIT app cache]128-4096``. Older
    versions wrote separate files: ``TemporaryFile-gutP02`` becomes ``[JIT cache]gutP02``.
    """
    found = _JIT_FILE.search(path)
    return path if found is None else f"[JIT {found[1] + ' ' if found[1] else ''}cache]{found[2]}"
