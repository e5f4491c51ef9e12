"""The page [vsyscall]: kernel code at a fixed address for user programs. (The vDSO is an ELF file: recorded_vdso.py.)

Source of truth: arch/x86/entry/vsyscall/vsyscall_emu_64.S for the page's layout.
"""

import numpy as np

from perf2x.base.columnar import U64, as_int64
from perf2x.symbolizer.sources.symbol_source import BuiltInSource, Dso, DsoKind, Symbols, symbols_from_names

_VSYSCALLS = ("vgettimeofday", "vtime", "vgetcpu")
"""Functions of the page, 1024 bytes apart."""


class VsyscallSource(BuiltInSource):
    """The three functions of the vsyscall page."""

    order = 45

    def covers(self, dso: Dso) -> bool:
        """Return True for [vsyscall]."""
        return dso.kind is DsoKind.VDSO and dso.name == "[vsyscall]"

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions by offset into the page."""
        row = as_int64(np.minimum(address, np.uint64(4095)) // np.uint64(1024))
        return symbols_from_names(_VSYSCALLS, np.where((row < len(_VSYSCALLS)) & (address < 4096), row, -1))
