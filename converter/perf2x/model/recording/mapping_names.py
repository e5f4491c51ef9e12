"""Classifies recorded mapping names."""

import re


def is_real_path(recorded: str) -> bool:
    """Tell paths from other names of mappings: ``[vdso]``, ``//anon``, ``anon_inode:…``, ``/memfd:…``."""
    if not recorded.startswith("/") or recorded.startswith(("//", "/memfd:", "/SYSV", "/dev/", "/anon_hugepage")):
        return False
    return "\0" not in recorded


def without_deleted(recorded: str) -> str:
    """Remove the `` (deleted)`` that the kernel appends for files that were unlinked while mapped."""
    return recorded.removesuffix(" (deleted)")


_INJECTED = re.compile(r"(?:^|/)jitted-\d+-\d+\.so$")


def is_injected(filename: str) -> bool:
    """True for the name of an ELF file that ``perf inject --jit`` wrote for a piece of a dump."""
    return _INJECTED.search(filename) is not None


_DUMP = re.compile(r"(?:^|/)jit-\d+\.dump$")


def is_jitdump(filename: str) -> bool:
    """True for the name of a jitdump file."""
    return _DUMP.search(filename) is not None
