"""Tells what a mapping is by its recorded name: a file, a vDSO, JIT code or memory."""

import re

VDSO, VDSO_32, VDSO_X32 = "[vdso]", "[vdso32]", "[vdsox32]"
"""perf's names for vDSOs: the kernel's code that runs in user programs. A 64-bit machine has a second vDSO for 32-bit
programs and a third for 64-bit programs with 32-bit pointers (x32); the kernel calls all three [vdso].
"""


def is_vdso(name: str) -> bool:
    """Return whether a mapping's name is that of a vDSO."""
    return name in (VDSO, VDSO_32, VDSO_X32)


def is_real_path(recorded: str) -> bool:
    """Return whether a mapping's name is the path of a file on disk.

    Devices are not, nor are names such as ``[vdso]``, ``//anon``, ``anon_inode:…`` and ``/memfd:…``.
    """
    if not recorded.startswith("/") or recorded.startswith(("//", "/memfd:", "/SYSV", "/dev/", "/anon_hugepage")):
        return False
    return "\0" not in recorded


def is_object(recorded: str, has_build_id: bool) -> bool:
    """Return whether a mapping is an object file rather than memory of one process.

    ``/memfd:plugin (deleted)`` with a build id is a library that was loaded from memory.
    """
    may_be_elf_in_memory = has_build_id and recorded.startswith("/") and not recorded.startswith("//")
    return may_be_elf_in_memory or is_real_path(without_deleted(recorded))


def without_deleted(recorded: str) -> str:
    """Remove the `` (deleted)`` that the kernel appends to the name of a file unlinked while mapped."""
    return recorded.removesuffix(" (deleted)")


_INJECTED_NAME = re.compile(r"(?:^|/)jitted-\d+-\d+\.so$")


def is_injected(filename: str) -> bool:
    """Return whether a file name is that of an ELF file from ``perf inject --jit``."""
    return _INJECTED_NAME.search(filename) is not None


_JITDUMP_NAME = re.compile(r"(?:^|/)jit-\d+(?:\.dump|-\d+-[0-9A-Za-z]{6,8}(?:\.dump)?)$")


def is_jitdump(filename: str) -> bool:
    """Return whether a file name is that of a jitdump; JavaScriptCore's are named ``jit-TID-PID-XXXXXX``."""
    return _JITDUMP_NAME.search(filename) is not None
