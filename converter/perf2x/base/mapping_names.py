"""Names of mappings, as the kernel and perf record them."""

import re

VDSO, VDSO_32, VDSO_X32 = "[vdso]", "[vdso32]", "[vdsox32]"
"""Names of the kernel's code for user programs. On machines of 64 bits it has another copy for programs of 32 bits, and
one for those of 64 bits with short addresses. The kernel calls all three [vdso]; these are perf's names."""


def is_vdso(name: str) -> bool:
    """True for a mapping's name of a vDSO."""
    return name in (VDSO, VDSO_32, VDSO_X32)


def is_real_path(recorded: str) -> bool:
    """Tell paths from other names of mappings: ``[vdso]``, ``//anon``, ``anon_inode:…``, ``/memfd:…``."""
    if not recorded.startswith("/") or recorded.startswith(("//", "/memfd:", "/SYSV", "/dev/", "/anon_hugepage")):
        return False
    return "\0" not in recorded


def is_object(recorded: str, has_build_id: bool) -> bool:
    """Tell files of code from memory of one process: a build id is an ELF file's, even one that no folder ever had.

    ``/memfd:plugin (deleted)`` with a build id was loaded from memory; without, a JIT compiler wrote there.
    """
    in_memory = has_build_id and recorded.startswith("/") and not recorded.startswith("//")
    return in_memory or is_real_path(without_deleted(recorded))


def without_deleted(recorded: str) -> str:
    """Remove the `` (deleted)`` that the kernel appends for files that were unlinked while mapped."""
    return recorded.removesuffix(" (deleted)")


_INJECTED = re.compile(r"(?:^|/)jitted-\d+-\d+\.so$")


def is_injected(filename: str) -> bool:
    """True for the name of an ELF file that ``perf inject --jit`` wrote for a piece of a dump."""
    return _INJECTED.search(filename) is not None


_DUMP = re.compile(r"(?:^|/)jit-\d+(?:\.dump|-\d+-[0-9A-Za-z]{6,8}(?:\.dump)?)$")


def is_jitdump(filename: str) -> bool:
    """True for the name of a jitdump file: ``jit-PID.dump``, JavaScriptCore's (Bun's) ``jit-TID-PID-XXXXXX``."""
    return _DUMP.search(filename) is not None
