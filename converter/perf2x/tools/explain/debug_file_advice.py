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
    """Yield ways to get what an object lacks; ``lacking`` is ``names``, ``lines`` or ``names and lines``.

    ``package`` has the object's debug symbols; "" if unknown. ``found`` has its files, and where they were searched.
    """
    if found.files and any(searched.result in (OTHER_BUILD, OTHER_CHECKSUM) for searched in found.searched):
        yield Remedy("a debug file of another build was found; point to the right one", "--debug-dir DIR")
    if package:
        yield Remedy(f"for {lacking}, install the debug symbols of exactly this version", f"apt install {package}")
    if build_id:
        command = f"debuginfod-find debuginfo {build_id}"
        yield Remedy(f"for {lacking}, ask a server, as perf2x does with --debuginfod URL", command)


# dpkg's directory with a file list for each installed package, such as ``libc6:amd64.list``.
_DPKG_INFO = "/var/lib/dpkg/info"
_MAX_FILE_LISTS = 20_000
# Larger file lists, in bytes, are not read.
LARGEST_LIST = 1 << 25


def debug_package(finder: Finder, recorded: str) -> str:
    """Return the package with debug symbols for a recorded path; "" if no package owns the file."""
    owner = next(
        filter(None, (_owning_package(folder, recorded) for folder in finder.search_paths.local_paths(_DPKG_INFO))), ""
    )
    if not owner or owner.endswith(("-dbg", "-dbgsym")):
        return owner
    return f"{owner}-dbg" if owner in ("libc6", "libc6-i386") else f"{owner}-dbgsym"


def _owning_package(folder: Path, recorded: str) -> str:
    """Return the package that lists a path; older packages list ``/lib`` for ``/usr/lib``."""
    names = [f"\n{name}\n".encode(errors="surrogateescape") for name in {recorded, recorded.removeprefix("/usr")}]
    for path, listed_paths in _file_lists(folder):
        if any(name in listed_paths for name in names):
            return path.stem.partition(":")[0]
    return ""


@lru_cache(maxsize=1)
def _file_lists(folder: Path) -> list[tuple[Path, bytes]]:
    """Return paths and contents; a newline is added on both sides, so that every listed path is between newlines."""
    found = []
    for path in islice(sorted(folder.glob("*.list")), _MAX_FILE_LISTS):
        with contextlib.suppress(OSError):
            if path.stat().st_size <= LARGEST_LIST:
                found.append((path, b"\n" + path.read_bytes() + b"\n"))
    return found
