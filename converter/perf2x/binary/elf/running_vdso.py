"""The vDSO of the kernel that this process runs on: it has no file, and a recording's may be the same."""

import re
from functools import cache
from pathlib import Path

from perf2x.files.sysroot import sysroot

_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r.*\[vdso\]$", re.MULTILINE)


def running_vdso_image() -> bytes:
    """Its ELF image; b"" where there is none, a sysroot hides it, or the system does not let us read it."""
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
