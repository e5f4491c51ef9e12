"""Paths on the converting machine that perf2x reads unasked, and the sysroot that replaces that machine's ``/``.

``PERF2X_SYSROOT`` names a directory to use as ``/`` for recorded paths, ``/usr/lib/debug``, ``/boot``,
``/lib/modules``, ``/proc``, ``/sys`` and ``/tmp``. With an empty directory a conversion depends only on its arguments,
the home directory and ``DEBUGINFOD_URLS``.
"""

import os
from pathlib import Path

from perf2x.base.files.rooted_paths import resolve_in_root

SYSROOT = "PERF2X_SYSROOT"
"""The variable."""
DEBUG_DIR = "/usr/lib/debug"
PERF_MAP_DIR = "/tmp"
PROC = "/proc"
KALLSYMS = "/proc/kallsyms"
KCORE = "/proc/kcore"
KERNEL_RELEASE = "/proc/sys/kernel/osrelease"
HOST_NAME = "/proc/sys/kernel/hostname"
KERNEL_NOTES = "/sys/kernel/notes"
VMLINUX_PATHS = (
    "/boot/vmlinux-{0}", "/usr/lib/debug/boot/vmlinux-{0}", "/lib/modules/{0}/build/vmlinux",
    "/usr/lib/debug/lib/modules/{0}/vmlinux", "/usr/lib/debug/boot/vmlinux-{0}.debug", "/lib/modules/{0}/vmlinux",
)  # fmt: skip
"""By kernel release; tools/perf/util/symbol.c vmlinux_path__init."""
VDSO_PATHS = tuple(f"/lib/modules/{{0}}/vdso/{name}.so" for name in ("vdso64", "vdso", "vdso32", "vdsox32"))
"""By kernel release; installed with it, with debug info (make vdso_install)."""


def sysroot() -> Path | None:
    """Return the directory used as this machine's ``/``; None: the real one."""
    text = os.environ.get(SYSROOT, "")
    return Path(text) if text else None


def host_path(path: str) -> Path:
    """Return an absolute path below the sysroot, if there is one; a path already below it stays unchanged."""
    root = sysroot()
    if root is None or Path(path).is_relative_to(root):
        return Path(path)
    return resolve_in_root(root, path) or root / path.lstrip("/")
