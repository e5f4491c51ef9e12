"""Paths of this machine that perf2x reads by default, and how recorded paths are resolved below another root.

The environment variable ``PERF2X_SYSROOT`` names a directory, the sysroot, to use as ``/`` for recorded paths,
``/usr/lib/debug``, ``/boot``, ``/lib/modules``, ``/proc``, ``/sys`` and ``/tmp``.

A recording is untrusted data. So neither ``..`` nor symbolic links of a recorded path lead out of its root: the
sysroot, or the root of a container.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_SYSROOT = "PERF2X_SYSROOT"
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
"""Paths of a kernel's vmlinux; ``{0}`` is the release. Source: vmlinux_path__init in tools/perf/util/symbol.c."""
VDSO_PATHS = tuple(f"/lib/modules/{{0}}/vdso/{name}.so" for name in ("vdso64", "vdso", "vdso32", "vdsox32"))
"""Paths to which ``make vdso_install`` copies a kernel's vDSOs, with debug info; ``{0}`` is the release."""


def sysroot() -> Path | None:
    """Return the directory to use instead of this machine's ``/``; None if there is no sysroot."""
    directory = os.environ.get(_SYSROOT, "")
    return Path(directory) if directory else None


def host_path(path: str) -> Path:
    """Return where to find an absolute path on this machine: below the sysroot, if there is one.

    A path with a loop of links cannot be resolved; the result cannot be opened.
    """
    root, absolute = sysroot(), Path(path)
    if root is None:
        return absolute
    if absolute.is_relative_to(root):
        path = absolute.relative_to(root).as_posix()
    return resolve_in_root(root, path) or root / path.lstrip("/")


_MAX_LINKS = 40
"""Symbolic links to follow in one path; Linux's own limit (MAXSYMLINKS in include/linux/namei.h)."""


def resolve_in_root(root: Path, recorded: str) -> Path | None:
    """Resolve ``recorded`` as a path below ``root``, following symbolic links; None for a loop of links.

    As with chroot(2) and RESOLVE_IN_ROOT of openat2(2), an absolute link is resolved from ``root``, and ``..`` leads no
    higher than ``root``. The file need not exist.
    """
    remaining = _reversed_parts(recorded)
    resolved: list[str] = []  # parts below ``root``, none of which is a link
    links = 0
    while remaining:
        part = remaining.pop()
        if part == "..":
            del resolved[-1:]
            continue
        resolved.append(part)
        try:
            target = os.readlink("/".join((str(root), *resolved)))  # noqa: PTH115 - a Path costs more than the call
        except FileNotFoundError:
            if ".." not in remaining:  # below a missing directory nothing can be a link
                return root.joinpath(*resolved, *remaining[::-1])
            continue
        except (OSError, ValueError):  # not a link
            continue
        links += 1
        if links > _MAX_LINKS:
            return None
        resolved = [] if target.startswith("/") else resolved[:-1]
        remaining.extend(_reversed_parts(target))
    return root.joinpath(*resolved)


def paths_in_root(root: Path, *recorded: str) -> Iterator[Path]:
    """Yield each recorded path, resolved below ``root``; paths with a loop of links are left out."""
    return filter(None, (resolve_in_root(root, path) for path in recorded))


def _reversed_parts(path: str) -> list[str]:
    return [part for part in path.split("/")[::-1] if part not in ("", ".")]


def is_folder_name(text: str) -> bool:
    """Return whether a recorded text can be the name of one folder below /lib/modules, such as a kernel release."""
    return text not in ("", ".", "..") and not any(character in text for character in "/\0")


def is_file(path: Path) -> bool:
    """Return whether ``path`` is a regular file; False for names that the file system rejects."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises for names with NUL, depending on Python's version


def is_directory(path: Path) -> bool:
    """Return whether ``path`` is a directory; False for names that the file system rejects."""
    return os.path.isdir(path)  # noqa: PTH112 - as in is_file
