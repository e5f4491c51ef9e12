"""Identifies the running kernel, to decide whether a recording was made on it.

With a sysroot, /proc and /sys are those below it.
"""

import platform
import sys

from perf2x.base.binaries.elf.build_id_notes import gnu_build_id
from perf2x.base.files.sysroot import HOST_NAME, KERNEL_NOTES, KERNEL_RELEASE, host_path, sysroot


def running_kernel_build_id() -> bytes:
    """Return the build id of the running kernel, from /sys/kernel/notes; b"" if unknown."""
    try:
        notes = host_path(KERNEL_NOTES).read_bytes()
    except OSError:
        return b""
    return gnu_build_id(notes, "<" if sys.byteorder == "little" else ">")


def running_kernel_release() -> str:
    """Return the release of the running kernel, such as ``6.12.0-amd64``; "" if unknown."""
    return _read_text(KERNEL_RELEASE)


def running_host_name() -> str:
    """Return the name of this machine, as uname(2) states it; "" if unknown."""
    return _read_text(HOST_NAME) or ("" if sysroot() else platform.node())


def _read_text(path: str) -> str:
    try:
        return host_path(path).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
