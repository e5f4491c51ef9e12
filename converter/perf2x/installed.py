"""Entry points of what is installed: the answers of importlib.metadata, without it where that is possible.

Importing it brings email, csv and zipfile along, a tenth of what a small conversion costs above numpy. What is looked
for stands in one plain file of every installed project.
Source of truth: packaging.python.org, "Entry points specification" and "Recording installed projects".
"""

import os
import sys
from collections.abc import Iterator
from functools import reduce
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
    places = [Path(place) for place in sys.path]
    if not _are_plain(places):
        from importlib import metadata

        yield from (Point(point.name, point.value) for point in metadata.entry_points(group=group))
        return
    seen: set[str] = set()
    for place in places:
        for folder in _projects(place):
            project = folder.name.partition("-")[0].removesuffix(".egg-info").lower().replace(".", "_")
            if project not in seen:
                seen.add(project)
                yield from _listed(folder / "entry_points.txt", group)


def _are_plain(places: list[Path]) -> bool:
    """Whether everything that is installed lies in folders: no archives, no eggs, no finders of another kind."""
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return all(finder is PathFinder for finder in finders) and not any(
        place.suffix == ".egg" or place.is_file() for place in places
    )


def _projects(place: Path) -> Iterator[Path]:
    try:
        names = os.listdir(place)  # noqa: PTH208 - not a Path for each of some hundred names
    except OSError:
        return
    yield from (place / name for name in names if name.endswith(_KINDS))


def _listed(file: Path, group: str) -> Iterator[Point]:
    try:
        text = file.read_text("utf-8")
    except OSError:
        return
    section = ""
    for line in text.splitlines() if f"[{group}]" in text else ():
        name, equals, value = line.partition("=")
        if line.startswith("["):
            section = line.strip().strip("[]").strip()
        elif section == group and equals and not line.startswith(("#", ";")):
            yield Point(name.strip(), value.strip())
