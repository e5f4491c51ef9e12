"""Build ids from the table at the end of a recording, by name, for mappings without one."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import DictionaryColumn, flatnonzero
from perf2x.base.mapping_names import VDSO, VDSO_32, VDSO_X32
from perf2x.model.recording.events import Session
from perf2x.model.recording.sideband import Mmaps

KERNEL = "[kernel.kallsyms]"
"""Name of the kernel; its mapping appends the reference symbol (``[kernel.kallsyms]_text``)."""
_OF_64_BITS = frozenset({"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "sparc64", "loongarch64", "mips64"})


def has_64_bits(session: Session) -> bool:
    """Return whether the recording machine is 64-bit; x86_64 is assumed if unknown."""
    return session.arch in _OF_64_BITS or not session.arch


def kernel_build_id(session: Session, mmaps: Mmaps) -> bytes:
    """Return the build id of the recorded kernel, from its mapping or the recording's table; b"" if neither has it."""
    rows = flatnonzero(mmaps.filename.which(lambda name: name.startswith(KERNEL)))
    return (mmaps.build_id[int(rows[0])] if len(rows) else b"") or build_id_by_name(session, KERNEL)


def with_vdso_names(mmaps: Mmaps, session: Session) -> Mmaps:
    """Rename the vDSO of 32-bit programs on a 64-bit machine to the name that perf gives it in the table of build ids.

    It is mapped below 4 GiB. If the table has the names of both 32-bit ABIs, addresses cannot distinguish them:
    `build_id_by_name` then returns no build id.
    """
    is_low = mmaps.filename.which(lambda name: name == VDSO) & (mmaps.start < np.uint64(2**32))
    if not is_low.any() or not has_64_bits(session):
        return mmaps
    known = [name for name in (VDSO_32, VDSO_X32) if name in session.build_ids]
    filename = DictionaryColumn.of([*mmaps.filename.distinct, known[0] if len(known) == 1 else VDSO_32])
    number = np.where(is_low, filename.number[-1], mmaps.filename.number)
    return replace(mmaps, filename=DictionaryColumn(number, filename.distinct))


def build_id_by_name(session: Session, name: str) -> bytes:
    """Return the build id of an object; b"" if the recording's table has none, or an ambiguous one.

    The table names the kernel without its mapping's reference symbol.
    """
    if name == VDSO_32 and VDSO_X32 in session.build_ids:
        return b""
    return session.build_ids.get(name) or session.build_ids.get(name.partition("]")[0] + "]", b"")
