"""Finds the entry points of installed packages by reading the packages' folders directly.

``importlib.metadata`` takes 17 ms longer if 20 packages are installed. It is used only where packages may be outside
folders.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache, reduce
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from perf2x.errors import OptionError


class EntryPoint(NamedTuple):
    """An object that a package offers under a name, such as an output format."""

    name: str
    value: str
    """``module:object``, perhaps followed by the extras that the object needs: `` [extra]``."""

    def load(self) -> Any:
        """Import the module and return the object."""
        module, _, path = self.value.partition("[")[0].replace(" ", "").partition(":")
        return reduce(getattr, filter(None, path.split(".")), import_module(module))


def entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group in all packages."""
    found = []
    for text in _entry_point_texts().values():
        in_group = False
        for line in map(str.strip, text.splitlines()):
            if line.startswith("["):
                in_group = line == f"[{group}]"
            elif in_group and "=" in line and not line.startswith("#"):
                name, _, value = line.partition("=")
                found.append(EntryPoint(name.strip(), value.strip()))
    return found


@cache
def _entry_point_texts() -> dict[str, str]:
    """Return the text of ``entry_points.txt`` by normalized package name; as for imports, the first one counts."""
    texts: dict[str, str] = {}
    for name, text in _packages_by_library() if _may_miss_packages() else _packages_in_folders():
        texts.setdefault(name.lower().replace("-", "_").replace(".", "_"), text)
    return texts


def _may_miss_packages() -> bool:
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return finders != [PathFinder] or any(path.endswith(".egg") or Path(path).is_file() for path in sys.path)


def _packages_by_library() -> Iterator[tuple[str, str]]:
    from importlib.metadata import distributions

    for package in distributions():
        try:
            name = package.name
        # a damaged package has no name; Python 3.15 then raises MetadataNotFound, a subclass of FileNotFoundError
        except (FileNotFoundError, KeyError):
            continue
        if name:
            yield name, package.read_text("entry_points.txt") or ""


def _packages_in_folders() -> Iterator[tuple[str, str]]:
    for folder in sys.path:
        try:
            info_folders = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in info_folders:
            yield name.rpartition(".")[0].partition("-")[0], _read_text(os.path.join(folder, name, "entry_points.txt"))


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def entry_points_by_name(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, sorted by name; none of them is imported.

    Raises OptionError if two packages use one name for different objects, or if the group is empty.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group), key=lambda point: (point.name, point.value)):
        other = found.get(point.name)
        if other is not None and other.value != point.value:
            raise OptionError(f"two plugins are named {point.name!r}: {other.value} and {point.value}")
        found[point.name] = point
    if not found:
        raise OptionError("the installation of perf2x is older than its code; install it again (pip install -e .)")
    return found
