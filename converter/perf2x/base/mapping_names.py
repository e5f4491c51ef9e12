"""Names of mappings, as the kernel and perf record them."""

import re

VDSO, VDSO_32, VDSO_X32 = "[vdso]", "[vdso32]", "[vdsox32]"
"""Names of the kernel's code for user programs. A 64-bit machine has another copy for 32-bit programs, and one for
64-bit programs with 32-bit pointers. The kernel calls all three [vdso]; these are perf's names.
"""


def is_vdso(name: str) -> bool:
    """Return whether a mapping's name is that of a vDSO."""
    return name in (VDSO, VDSO_32, VDSO_X32)


def is_real_path(recorded: str) -> bool:
    """Return whether a mapping's name is a path, unlike ``[vdso]``, ``//anon``, ``anon_inode:…`` or ``/memfd:…``."""
    if not recorded.startswith("/") or recorded.startswith(("//", "/memfd:", "/SYSV", "/dev/", "/anon_hugepage")):
        return False
    return "\0" not in recorded


def is_object(recorded: str, has_build_id: bool) -> bool:
    """Return whether a mapping is a file of code rather than memory of one process.

    A mapping with a build id is an ELF file, even if it never was in a folder: ``/memfd:plugin (deleted)`` was loaded
    from memory if it has a build id; otherwise a JIT compiler wrote there.
    """
    in_memory = has_build_id and recorded.startswith("/") and not recorded.startswith("//")
    return in_memory or is_real_path(without_deleted(recorded))


def without_deleted(recorded: str) -> str:
    """Remove the `` (deleted)`` that the kernel appends to the name of a file that was unlinked while mapped."""
    return recorded.removesuffix(" (deleted)")


_INJECTED = re.compile(r"(?:^|/)jitted-\d+-\d+\.so$")


def is_injected(filename: str) -> bool:
    """Return whether a file name is that of an ELF file that ``perf inject --jit`` wrote for a piece of a jitdump."""
    return _INJECTED.search(filename) is not None


_DUMP = re.compile(r"(?:^|/)jit-\d+(?:\.dump|-\d+-[0-9A-Za-z]{6,8}(?:\.dump)?)$")


def is_jitdump(filename: str) -> bool:
    """Return whether a file name is that of a jitdump.

    It is ``jit-PID.dump``, or ``jit-TID-PID-XXXXXX`` from JavaScriptCore (Bun).
    """
    return _DUMP.search(filename) is not None
