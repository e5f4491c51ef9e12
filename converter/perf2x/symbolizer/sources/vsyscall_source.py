"""Names the functions of the [vsyscall] page: x86 kernel code at a fixed address that programs may call.

Source of truth: arch/x86/entry/vsyscall/vsyscall_emu_64.S for the page's layout.
"""

import numpy as np

from perf2x.base.columnar import U64, as_int64
from perf2x.symbolizer.sources.symbol_source import BuiltInSource, Dso, DsoKind, Symbols, symbols_from_names

# Functions of the page in order; each begins 1024 bytes after the one before.
_VSYSCALLS = ("vgettimeofday", "vtime", "vgetcpu")


class VsyscallSource(BuiltInSource):
    """The three functions of the vsyscall page."""

    order = 45

    def covers(self, dso: Dso) -> bool:
        """Return True for [vsyscall]."""
        return dso.kind is DsoKind.VDSO and dso.name == "[vsyscall]"

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return the functions at offsets into the page; the last 1024 of its 4096 bytes are unused."""
        slot = as_int64(np.minimum(address, np.uint64(4095)) // np.uint64(1024))
        return symbols_from_names(_VSYSCALLS, np.where(slot < len(_VSYSCALLS), slot, -1))
