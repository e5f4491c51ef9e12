"""Advice for objects that lack debug files, with the command or option to use; ``info`` and ``explain`` share it."""

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from perf2x.base.binaries.find.object_finder import OTHER_BUILD, OTHER_CHECKSUM, Finder, ObjectFiles
from perf2x.base.frozen_struct import Frozen


class Remedy(Frozen):
    """A piece of advice, and the command or option to use."""

    what: str
    command: str


def for_debug_file(lacking: str, package: str, build_id: str, found: ObjectFiles) -> Iterator[Remedy]:
    """Yield ways to get the ``lacking`` names or lines.

    ``package``: the package with debug symbols for this machine's version, or "".
    """
    if found.files and any(one.result in (OTHER_BUILD, OTHER_CHECKSUM) for one in found.searched):
        yield Remedy("a debug file of another build was found; point to the right one", "--debug-dir DIR")
    if package:
        yield Remedy(f"for {lacking}, install the debug symbols of exactly this version", f"apt install {package}")
    if build_id:
        command = f"debuginfod-find debuginfo {build_id}"
        yield Remedy(f"for {lacking}, ask a server, as perf2x does with --debuginfod URL", command)


_DATABASE = "/var/lib/dpkg/info"
_LISTS_AT_MOST = 20_000
# Bytes of a package's file list; larger ones are not read.
LARGEST_LIST = 1 << 25


def debug_package(finder: Finder, recorded: str) -> str:
    """Return the package with debug symbols for a recorded path; "" if no installed package owns the file."""
    owner = next(filter(None, (_owner(folder, recorded) for folder in finder.search_paths.local_paths(_DATABASE))), "")
    if not owner or owner.endswith(("-dbg", "-dbgsym")):
        return owner
    return f"{owner}-dbg" if owner in ("libc6", "libc6-i386") else f"{owner}-dbgsym"


def _owner(folder: Path, recorded: str) -> str:
    """Return the package whose file list has the path, such as ``libc6``; "" if none has.

    The path is also tried without ``/usr``, because older packages list ``/lib`` for ``/usr/lib``.
    """
    names = [f"\n{name}\n".encode(errors="surrogateescape") for name in {recorded, recorded.removeprefix("/usr")}]
    for path, listed in _file_lists(folder):
        if any(name in listed for name in names):
            return path.stem.partition(":")[0]
    return ""


@lru_cache(maxsize=1)
def _file_lists(folder: Path) -> list[tuple[Path, bytes]]:
    """Return the file lists of all packages, cached for the next object."""
    found = []
    for path in islice(sorted(folder.glob("*.list")), _LISTS_AT_MOST):
        with contextlib.suppress(OSError):
            if path.stat().st_size <= LARGEST_LIST:
                found.append((path, b"\n" + path.read_bytes() + b"\n"))
    return found
