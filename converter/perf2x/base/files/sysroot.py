"""Files of the converting machine that perf2x reads by default; a sysroot can replace ``/``.

``PERF2X_SYSROOT`` names a directory to use as ``/`` for recorded paths, ``/usr/lib/debug``, ``/boot``,
``/lib/modules``, ``/proc``, ``/sys`` and ``/tmp``. With an empty directory a conversion depends only on its arguments,
the home directory and ``DEBUGINFOD_URLS``.

A recording is untrusted data: its paths are resolved as a process inside the sysroot, or a container's file system,
would see them. ``..`` and symbolic links lead to no other files of the converting machine.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_SYSROOT = "PERF2X_SYSROOT"
"""The name of the environment variable."""
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
"""Paths by kernel release; tools/perf/util/symbol.c vmlinux_path__init."""
VDSO_PATHS = tuple(f"/lib/modules/{{0}}/vdso/{name}.so" for name in ("vdso64", "vdso", "vdso32", "vdsox32"))
"""Paths by kernel release, installed with the kernel, including debug info (make vdso_install)."""


def sysroot() -> Path | None:
    """Return the directory used as this machine's ``/``; None: the real one."""
    text = os.environ.get(_SYSROOT, "")
    return Path(text) if text else None


def host_path(path: str) -> Path:
    """Return an absolute path below the sysroot, if there is one; a path that is already below it stays unchanged."""
    root = sysroot()
    if root is None or Path(path).is_relative_to(root):
        return Path(path)
    return resolve_in_root(root, path) or root / path.lstrip("/")


_MAX_LINKS = 40
"""Linux's limit (include/linux/namei.h MAXSYMLINKS)."""


def resolve_in_root(root: Path, recorded: str) -> Path | None:
    """Resolve ``recorded`` under ``root``, following symbolic links inside it; None for a loop of links.

    An absolute link target starts again at ``root`` and ``..`` stops there, as with chroot(2) and openat2(2)
    RESOLVE_IN_ROOT. The file need not exist.
    """
    todo = _parts(recorded)
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            del done[-1:]
            continue
        done.append(part)
        try:
            target = os.readlink("/".join((str(root), *done)))  # noqa: PTH115 - a Path costs more than the call
        except FileNotFoundError:
            if ".." not in todo:  # below a missing directory nothing can be a link
                return root.joinpath(*done, *todo[::-1])
            continue
        except (OSError, ValueError):
            continue
        links += 1
        if links > _MAX_LINKS:
            return None
        done = [] if target.startswith("/") else done[:-1]
        todo.extend(_parts(target))
    return root.joinpath(*done)


def paths_in_root(root: Path, *recorded: str) -> Iterator[Path]:
    """Yield recorded paths resolved under ``root``, skipping loops of links."""
    return filter(None, (resolve_in_root(root, path) for path in recorded))


def _parts(path: str) -> list[str]:
    """Return the parts of a path without "" and ".", the last one first."""
    return [part for part in path.split("/")[::-1] if part not in ("", ".")]


def is_folder_name(text: str) -> bool:
    """Return whether a recorded text names a single folder, such as a kernel release below /lib/modules."""
    return text not in ("", ".", "..") and not any(letter in text for letter in "/\0")


def is_file(path: Path) -> bool:
    """Return whether ``path`` is a regular file; False for devices, pipes, and names that the file system rejects."""
    return os.path.isfile(path)  # noqa: PTH113 - the same for names with NUL


def is_directory(path: Path) -> bool:
    """Return whether ``path`` is a directory; False for names that the file system rejects."""
    return os.path.isdir(path)  # noqa: PTH112 - the same for names with NUL
