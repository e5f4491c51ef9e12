"""Recordings that are finished, as they appear: quiet for a while, or renamed after they were written."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import time_ns
from typing import Any

from msgspec import Struct

from perf2x.base.errors import FormatError
from perf2x.base.files.remote import fsspec, is_address, modified_ns, told_apart

PATTERNS = ("**/*.data", "**/*.data.[0-9]*")
"""Recordings below a folder: as users name them, and as ``perf record --switch-output`` does."""


class _Seen(Struct, frozen=True):
    """A file as it was: one that looks alike is not read again."""

    size: int
    changed_ns: int
    file: tuple[int, int] | None = None
    """Device and inode: the same under another name is a file that was renamed."""


class FinishedFiles:
    """Files of folders, prefixes and patterns; each is given once, and again when it changes."""

    def __init__(self, places: Sequence[str], quiet_ns: int, known: Iterable[str] = ()) -> None:
        """Watch ``places``; addresses among the ``known`` names were taken before."""
        self._places, self._quiet_ns = places, quiet_ns
        self._taken: dict[str, _Seen | None] = {name: None for name in known if is_address(name)}
        self._last: dict[str, _Seen] = {}

    def new(self) -> list[str]:
        """Return the names that are finished and new, sorted; FormatError where a place cannot be listed."""
        found = {name: seen for place in self._places for name, seen in _listed(place)}
        before = {seen.file: name for name, seen in self._last.items() if seen.file is not None}
        now, ready = time_ns(), []
        for name, seen in found.items():
            was_renamed = (seen.file and before.get(seen.file, name)) not in (None, name) and name not in self._last
            if self._is_new(name, seen) and (was_renamed or now - seen.changed_ns >= self._quiet_ns):
                ready.append(name)
        self._last = found
        return sorted(ready)

    def _is_new(self, name: str, seen: _Seen) -> bool:
        return name not in self._taken or self._taken[name] not in (seen, None)

    def take(self, names: Iterable[str]) -> None:
        """Note that recordings were taken as they were when they were last seen."""
        self._taken |= {name: self._last[name] for name in names}
        self._taken = {name: seen for name, seen in self._taken.items() if seen is None or name in self._last}


def _listed(place: str) -> Iterator[tuple[str, _Seen]]:
    """Yield the names of a place and what is seen there."""
    if is_address(place):
        yield from _listed_address(place)
        return
    root, patterns = Path(place).absolute(), list(PATTERNS)
    if not root.is_dir():
        root, patterns = Path(root.anchor), [str(root.relative_to(root.anchor))]
    for path in (path for pattern in patterns for path in root.glob(pattern)):
        with contextlib.suppress(FileNotFoundError):  # renamed or removed meanwhile
            yield str(path), _seen(path)


def _listed_address(place: str) -> Iterator[tuple[str, _Seen]]:
    has_pattern = any(letter in place for letter in "*?[")
    with told_apart(place):
        for one in (place,) if has_pattern else (f"{place.rstrip('/')}/{pattern}" for pattern in PATTERNS):
            system, path = fsspec().core.url_to_fs(one)
            system.invalidate_cache()
            facts: dict[str, Any] = system.glob(path, detail=True)
            for name, info in facts.items():
                if info.get("type") != "directory":
                    yield str(system.unstrip_protocol(name)), _Seen(int(info.get("size") or 0), modified_ns(info))


def _seen(path: Path) -> _Seen:
    status = path.stat()
    files = [one.stat() for one in path.iterdir()] if path.is_dir() else []
    changed = max(one.st_mtime_ns for one in (status, *files))
    return _Seen(sum(one.st_size for one in files) or status.st_size, changed, (status.st_dev, status.st_ino))


def check_places(places: Sequence[str]) -> None:
    """FormatError for a place of this machine that can never have a file."""
    for place in places:
        if not (is_address(place) or Path(place).exists() or any(letter in place for letter in "*?[")):
            raise FormatError(f"{place}: {os.strerror(2)}")
