"""Prepares the kernel's mappings: extends its text as perf does, and adds symbols that appear at run time."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import U64, Bools, flatnonzero
from perf2x.model.recording import Ksymbols, Mmaps, append_mappings

# KERNEL_IMAGE_SIZE of x86 (arch/x86/include/asm/page_64_types.h)
_KERNEL_IMAGE_SIZE = np.uint64(1 << 30)


def is_kernel_mapping(mmaps: Mmaps) -> Bools:
    """Return (mappings,) whether each mapping belongs to the kernel."""
    is_kernel: Bools = (mmaps.pid == -1) | (mmaps.cpumode == CpuMode.KERNEL)
    return is_kernel


def end_addresses(start: U64, length: U64) -> U64:
    """Return (n,) start + length, at most 2⁶⁴ − 1 for damaged records that would wrap around."""
    end = start + length
    return np.where(end < start, np.uint64(2**64 - 1), end)


def extend_kernel_text(mmaps: Mmaps) -> Mmaps:
    """Extend the kernel's text up to the next kernel mapping, but to at most 1 GiB.

    The record ends at _etext, but .init.text and other sections follow. perf does the same (maps__fixup_end in
    tools/perf/util/maps.c).
    """
    rows = flatnonzero(mmaps.filename.which(lambda name: name.startswith("[kernel.kallsyms]")))
    if not len(rows):
        return mmaps
    starts = np.sort(mmaps.start[is_kernel_mapping(mmaps)])
    length = mmaps.length.copy()
    for row in rows.tolist():
        start = mmaps.start[row]
        following = int(np.searchsorted(starts, start, "right"))
        room = starts[following] - start if following < len(starts) else _KERNEL_IMAGE_SIZE
        length[row] = max(length[row], min(room, _KERNEL_IMAGE_SIZE))
    return replace(mmaps, length=length)


def append_ksymbols(mmaps: Mmaps, ksymbols: Ksymbols) -> Mmaps:
    """Append a kernel mapping for each PERF_RECORD_KSYMBOL that registers a symbol."""
    rows = flatnonzero(~ksymbols.unregister)
    if not len(rows):
        return mmaps
    no_id, start = np.full(len(rows), -1, np.int32), ksymbols.start[rows]
    return append_mappings(
        mmaps, prot=-1, mode=CpuMode.KERNEL, time=ksymbols.time[rows], position=ksymbols.position[rows], pid=no_id,
        tid=no_id, start=start, length=ksymbols.length[rows], pgoff=start, filename=ksymbols.name[rows],
    )  # fmt: skip
