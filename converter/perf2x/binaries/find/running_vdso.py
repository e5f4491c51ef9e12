"""The running kernel's vDSO, which has no file; a recording of this machine may have used the same one."""

import re
from functools import cache
from pathlib import Path

from perf2x.base.files.sysroot import sysroot

_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r.*\[vdso\]$", re.MULTILINE)


def running_vdso_image() -> bytes:
    """Return the vDSO's ELF image; b"" when there is none, a sysroot hides it, or it cannot be read."""
    return b"" if sysroot() else _mapped_vdso()


@cache
def _mapped_vdso() -> bytes:
    try:
        found = _MAPPING.search(Path("/proc/self/maps").read_text())
        if found is None:
            return b""
        start, end = (int(text, 16) for text in found.groups())
        with Path("/proc/self/mem").open("rb") as memory:
            memory.seek(start)
            return memory.read(end - start)
    except (OSError, ValueError):
        return b""
