"""Entry points of what is installed: the answers of importlib.metadata, without it where that is possible.

Importing it brings email, csv and zipfile along, a tenth of what a small conversion costs above numpy. What is looked
for stands in one plain file of every installed project.
Source of truth: packaging.python.org, "Entry points specification" and "Recording installed projects".
"""

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from perf2x.classes import dataclass

_KINDS = (".dist-info", ".egg-info")


@dataclass(frozen=True, slots=True)
class Point:
    """One entry point."""

    name: str
    value: str
    """``package.module:attribute``"""

    def load(self) -> Any:
        """Import what it names."""
        module, _, attributes = self.value.partition("[")[0].strip().partition(":")
        return reduce(getattr, filter(None, attributes.split(".")), import_module(module))


def entry_points(group: str) -> Iterator[Point]:
    """The entry points of a group, in no order; of two installations of one project, the one that is found first."""
    if not (_are_folders(tuple(sys.path)) and _are_ordinary(sys.meta_path)):
        from importlib import metadata

        yield from (Point(point.name, point.value) for point in metadata.entry_points(group=group))
        return
    seen: set[str] = set()
    for place in sys.path:
        for project, text in _projects(place or os.curdir):
            if project not in seen:
                seen.add(project)
                yield from _listed(text, group)


@cache
def version_of(module: str) -> str:
    """The installed version of the project that has the same name as this module; "" when it is not known."""
    found = PathFinder.find_spec(module)
    if found is not None and found.origin:
        names = [folder.name for folder in Path(found.origin).parent.parent.glob(f"{module}-*.dist-info")]
        if len(names) == 1:
            return names[0].removeprefix(f"{module}-").removesuffix(".dist-info")
    from importlib import metadata

    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return ""


@cache
def _are_folders(places: tuple[str, ...]) -> bool:
    """Whether everything that is installed lies in folders: no archives, no eggs."""
    return not any(place.endswith(".egg") or Path(place).is_file() for place in places)


def _are_ordinary(finders: Sequence[object]) -> bool:
    """Whether modules come from nowhere else."""
    return all(finder is PathFinder for finder in finders if hasattr(finder, "find_distributions"))


def _projects(place: str) -> tuple[tuple[str, str], ...]:
    """Name and ``entry_points.txt`` of everything installed in a folder; "" where there is no such file."""
    try:
        return _read(place, os.stat(place).st_mtime_ns)  # noqa: PTH116 - see _read
    except OSError:
        return ()


@cache
def _read(place: str, _changed_ns: int) -> tuple[tuple[str, str], ...]:
    """Each file is read once, for all groups; without a Path for each of some hundred names."""
    names = [name for name in os.listdir(place) if name.endswith(_KINDS)]  # noqa: PTH208
    projects = [name.partition("-")[0].removesuffix(".egg-info").lower().replace(".", "_") for name in names]
    return tuple(
        zip(projects, [_text(f"{place}{os.sep}{name}{os.sep}entry_points.txt") for name in names], strict=True)
    )


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as stream:  # noqa: PTH123
            return stream.read()
    except OSError:
        return ""


def _listed(text: str, group: str) -> Iterator[Point]:
    section = ""
    for line in text.splitlines() if f"[{group}]" in text else ():
        name, equals, value = line.partition("=")
        if line.startswith("["):
            section = line.strip().strip("[]").strip()
        elif section == group and equals and not line.startswith(("#", ";")):
            yield Point(name.strip(), value.strip())
