"""The machine that converts: every file that perf2x reads there without being told where it is.

``PERF2X_SYSROOT`` puts a directory in place of ``/`` for all of them. Recorded paths, ``/usr/lib/debug``, ``/boot``,
``/lib/modules``, ``/proc``, ``/sys`` and ``/tmp`` are then looked for below that directory. With an empty one a
conversion depends on its arguments, the home directory and ``DEBUGINFOD_URLS`` alone.
"""

import os
from pathlib import Path

from perf2x.files.rooted_paths import resolve_in_root

DEBUG_DIR = "/usr/lib/debug"
PERF_MAP_DIR = "/tmp"
PROC = "/proc"
KALLSYMS = "/proc/kallsyms"
KERNEL_RELEASE = "/proc/sys/kernel/osrelease"
KERNEL_NOTES = "/sys/kernel/notes"
VMLINUX_PATHS = (
    "/boot/vmlinux-{0}", "/usr/lib/debug/boot/vmlinux-{0}", "/lib/modules/{0}/build/vmlinux",
    "/usr/lib/debug/lib/modules/{0}/vmlinux", "/usr/lib/debug/boot/vmlinux-{0}.debug", "/lib/modules/{0}/vmlinux",
)  # fmt: skip
"""By kernel release; tools/perf/util/symbol.c vmlinux_path__init."""


def sysroot() -> Path | None:
    """The directory that stands for this machine's ``/``; None: the machine as it is."""
    text = os.environ.get("PERF2X_SYSROOT", "")
    return Path(text) if text else None


def host_path(path: str) -> Path:
    """An absolute path of this machine. A path that is below the sysroot already stays as it is."""
    root = sysroot()
    if root is None or Path(path).is_relative_to(root):
        return Path(path)
    return resolve_in_root(root, path) or root / path.lstrip("/")
