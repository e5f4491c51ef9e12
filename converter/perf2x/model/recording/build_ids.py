"""Looks build ids up by name in the recording's table (HEADER_BUILD_ID), for mappings whose records have none."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import DictionaryColumn, flatnonzero
from perf2x.base.mapping_names import VDSO, VDSO_32, VDSO_X32
from perf2x.model.recording.events import Session
from perf2x.model.recording.sideband import Mmaps

# The kernel's name in the table. The name of its mapping ends with the reference symbol: ``[kernel.kallsyms]_text``.
KERNEL = "[kernel.kallsyms]"
_64_BIT_MACHINES = frozenset({"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "sparc64", "loongarch64", "mips64"})


def has_64_bits(session: Session) -> bool:
    """Return whether the recording machine has 64 bits, or an unknown architecture."""
    return session.arch in _64_BIT_MACHINES or not session.arch


def kernel_build_id(session: Session, mmaps: Mmaps) -> bytes:
    """Find the kernel's build id in its mapping or the recording's table; b"" if neither has it."""
    rows = flatnonzero(mmaps.filename.which(lambda name: name.startswith(KERNEL)))
    return (mmaps.build_id[int(rows[0])] if len(rows) else b"") or build_id_by_name(session, KERNEL)


def with_vdso_names(mmaps: Mmaps, session: Session) -> Mmaps:
    """Rename the vDSOs of 32-bit programs on a 64-bit machine, so that they are found in the table of build ids.

    All are mapped as ``[vdso]``, but in the table those of i386 and x32 programs have names of their own. A vDSO that
    is mapped below 4 GiB is one of these two. If the table has both names, nothing shows which one is right.
    """
    is_low = mmaps.filename.which(lambda name: name == VDSO) & (mmaps.start < np.uint64(2**32))
    if not is_low.any() or not has_64_bits(session):
        return mmaps
    table_names = [name for name in (VDSO_32, VDSO_X32) if name in session.build_ids]
    # the last index is that of the appended name
    filename = DictionaryColumn.of([*mmaps.filename.distinct, table_names[0] if len(table_names) == 1 else VDSO_32])
    indices = np.where(is_low, filename.indices[-1], mmaps.filename.indices)
    return replace(mmaps, filename=DictionaryColumn(indices, filename.distinct))


def build_id_by_name(session: Session, name: str) -> bytes:
    """Look up a mapping's name in the recording's table; b"" if it is missing or ambiguous.

    The reference symbol in the name of the kernel's mapping is ignored.
    """
    if name == VDSO_32 and VDSO_X32 in session.build_ids:
        return b""
    return session.build_ids.get(name) or session.build_ids.get(name.partition("]")[0] + "]", b"")
