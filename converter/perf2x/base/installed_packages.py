"""Finds the entry points of installed packages by reading the packages' folders directly.

``importlib.metadata`` returns the same, but takes 17 ms of a conversion with 20 packages and 27 ms with 150. It is used
only if some packages are in archives, or a custom finder may know further ones.
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
        """Import the object."""
        module, _, path = self.value.partition("[")[0].replace(" ", "").partition(":")
        return reduce(getattr, filter(None, path.split(".")), import_module(module))


def entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group in all packages."""
    found, inside = [], False
    for text in _packages().values():
        for line in map(str.strip, text.splitlines()):
            if line.startswith("["):
                inside = line == f"[{group}]"
            elif inside and "=" in line and not line.startswith("#"):
                name, _, value = line.partition("=")
                found.append(EntryPoint(name.strip(), value.strip()))
    return found


@cache
def _packages() -> dict[str, str]:
    """Return {name: text of ``entry_points.txt``} of all packages.

    Of several packages with one name, the first on the path counts, as for imports.
    """
    found: dict[str, str] = {}
    for name, text in _by_library() if _are_hidden() else _in_folders():
        found.setdefault(name.lower().replace("-", "_").replace(".", "_"), text)
    return found


def _are_hidden() -> bool:
    """Return whether packages may lie elsewhere than in folders on the path: in archives, or behind a custom finder."""
    finders = [one for one in sys.meta_path if hasattr(one, "find_distributions")]
    return finders != [PathFinder] or any(one.endswith(".egg") or Path(one).is_file() for one in sys.path)


def _by_library() -> Iterator[tuple[str, str]]:
    from importlib.metadata import distributions

    for one in distributions():
        try:
            name = one.name
        except (FileNotFoundError, KeyError):  # a damaged package has none; Python 3.15 raises MetadataNotFound
            continue
        if name:
            yield name, one.read_text("entry_points.txt") or ""


def _in_folders() -> Iterator[tuple[str, str]]:
    for folder in sys.path:
        try:
            about = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in about:
            yield name.rpartition(".")[0].partition("-")[0], _text(os.path.join(folder, name, "entry_points.txt"))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def available(group: str) -> dict[str, EntryPoint]:
    """Return the plugins of a group by name, sorted by name and not yet imported.

    Raises OptionError when two plugins share a name, and when there are none: perf2x itself has some in every group.
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
