"""What the names of mappings, as recorded, say of themselves."""


def is_real_path(recorded: str) -> bool:
    """Whether a mapping's name is a path at all: not ``[vdso]``, ``//anon``, ``anon_inode:…`` or ``/memfd:…``."""
    if not recorded.startswith("/") or recorded.startswith(("//", "/memfd:", "/SYSV", "/dev/", "/anon_hugepage")):
        return False
    return "\0" not in recorded


def without_deleted(recorded: str) -> str:
    """The name without the kernel's `` (deleted)`` behind files that were unlinked while mapped."""
    return recorded.removesuffix(" (deleted)")
