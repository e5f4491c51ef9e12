"""Build ids that a recording holds by name, in a table at its end, for mappings that carry none."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import DictionaryColumn, flatnonzero
from perf2x.base.mapping_names import VDSO, VDSO_32, VDSO_X32
from perf2x.model.recording.events import Session
from perf2x.model.recording.sideband import Mmaps

KERNEL = "[kernel.kallsyms]"
"""Name of the kernel; that of its mapping has the reference symbol behind it (``[kernel.kallsyms]_text``)."""
_OF_64_BITS = frozenset({"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "sparc64", "loongarch64", "mips64"})


def has_64_bits(session: Session) -> bool:
    """True if the recording machine runs programs of 64 bits; x86_64 if the recording does not say."""
    return session.arch in _OF_64_BITS or not session.arch


def kernel_build_id(session: Session, mmaps: Mmaps) -> bytes:
    """Build id of the recorded kernel, which its mapping carries or the recording's table has; b"" if neither does."""
    rows = flatnonzero(mmaps.filename.which(lambda name: name.startswith(KERNEL)))
    return (mmaps.build_id[int(rows[0])] if len(rows) else b"") or build_id_by_name(session, KERNEL)


def with_vdso_names(mmaps: Mmaps, session: Session) -> Mmaps:
    """Name the vDSO of programs that live below 4 GiB on a machine of 64 bits; the table has perf's name for it.

    If it has both names, they cannot be told apart by their addresses: `build_id_by_name` knows neither then.
    """
    is_low = mmaps.filename.which(lambda name: name == VDSO) & (mmaps.start < np.uint64(2**32))
    if not is_low.any() or not has_64_bits(session):
        return mmaps
    known = [name for name in (VDSO_32, VDSO_X32) if name in session.build_ids]
    filename = DictionaryColumn.of([*mmaps.filename.distinct, known[0] if len(known) == 1 else VDSO_32])
    number = np.where(is_low, filename.number[-1], mmaps.filename.number)
    return replace(mmaps, filename=DictionaryColumn(number, filename.distinct))


def build_id_by_name(session: Session, name: str) -> bytes:
    """Build id of an object; b"" if the recording's table does not have it, or not for sure.

    The table names the kernel without the reference symbol of its mapping.
    """
    if name == VDSO_32 and VDSO_X32 in session.build_ids:
        return b""
    return session.build_ids.get(name) or session.build_ids.get(name.partition("]")[0] + "]", b"")
