"""Build ids that a recording holds by name, in a table at its end, for mappings that carry none."""

from perf2x.model.recording.events import Session
from perf2x.model.recording.sideband import Mmaps

KERNEL = "[kernel.kallsyms]"
"""Name of the kernel; that of its mapping has the reference symbol behind it (``[kernel.kallsyms]_text``)."""
VDSO = "[vdso]"
"""Name of the mapping of the kernel's code for user programs."""
_OF_64_BITS = frozenset({"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "sparc64", "loongarch64", "mips64"})


def has_64_bits(session: Session) -> bool:
    """True if the recording machine runs programs of 64 bits; x86_64 if the recording does not say."""
    return session.arch in _OF_64_BITS or not session.arch


def kernel_build_id(session: Session, mmaps: Mmaps) -> bytes:
    """Build id of the recorded kernel, which its mapping carries or the recording's table has; b"" if neither does."""
    row = next((row for row, name in enumerate(mmaps.filename) if name.startswith(KERNEL)), -1)
    return (mmaps.build_id[row] if row >= 0 else b"") or build_id_by_name(session, KERNEL, 0)


def build_id_by_name(session: Session, name: str, start: int) -> bytes:
    """Build id of the object ``name`` that is mapped at ``start``; b"" if the recording's table does not have it.

    The table names the kernel without the reference symbol of its mapping. Its vDSO is that of perf itself: on machines
    of 64 bits, programs of 32 bits have another one, below 4 GiB.
    """
    if name == VDSO and start < 2**32 and has_64_bits(session):
        return b""
    return session.build_ids.get(name) or session.build_ids.get(name.partition("]")[0] + "]", b"")
