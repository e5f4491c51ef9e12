"""Finds and reads source files by the paths in debug info, which are as untrusted as the recording.

Source files are looked for in three places:

- below the folders that the user named, and never outside them, whatever ``..`` or symbolic links say;
- at the recorded path, if the user allows it, and the path is below a symfs or permitted by `untrusted_paths.py`;
- on debuginfod servers, by build id.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.files.sysroot import is_file, paths_in_root
from perf2x.base.frozen_struct import Frozen

MAX_FILE_SIZE = 4 << 20
# Maximum number of parts at the end of a recorded path that are looked for below a folder.
_MAX_PARTS = 64
_VIRTUAL_FOLDERS = ("/proc/", "/sys/", "/dev/")

NOT_LOCAL = (
    "not read from this machine, because its program was recorded elsewhere or found in another place; "
    "pass its folder with --source-dir DIR"
)

_NOT_ENABLED = "not read; to read it, pass --source or --source-dir DIR"

# Fetches a source file, given the build id of an object and the recorded path; None if no server has the file.
Fetch = Callable[[bytes, str], Path | None]


class SourceText(Frozen):
    """The lines of a source file, or the reason why there are none."""

    lines: Sequence[str] = ()
    reason: str = ""

    def line(self, number: int) -> str | None:
        """Return the text of a line, counted from 1; None if there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


class SourceFiles(Struct):
    """Source files by recorded path, cached."""

    search_paths: SearchPaths
    folders: Sequence[Path] = ()
    """Searched first."""
    fetch: Fetch | None = None
    """Called last; None: no server is asked."""
    allow_recorded_paths: bool = False
    """Recorded paths may be read, too, where `find` permits it."""
    # results by recorded path, ``is_installed_here``, and the build id that a server is asked with
    _cache: dict[tuple[str, bool, bytes], SourceText] = {}

    def find(
        self, recorded_path: str, build_id: bytes, last_line: int, *, is_installed_here: bool = False
    ) -> SourceText:
        """Find the file that debug info of an object calls ``recorded_path``, with at least ``last_line`` lines.

        ``is_installed_here``: the object is an installed file of this machine. Otherwise, the recorded path is read
        only below a symfs.
        """
        is_installed_here = is_installed_here or self.search_paths.symfs is not None
        key = recorded_path, is_installed_here, build_id if self.fetch else b""
        if key not in self._cache:
            self._cache[key] = self._read_first(recorded_path, build_id, is_installed_here)
        source = self._cache[key]
        if not source.reason and last_line > len(source.lines):
            return SourceText(
                reason=f"the file has only {len(source.lines)} lines, the recorded one had at least {last_line}"
            )
        return source

    def _read_first(self, recorded_path: str, build_id: bytes, is_installed_here: bool) -> SourceText:
        if not recorded_path or "\0" in recorded_path:
            return SourceText(reason="debug info names no file")
        reasons = [] if self.folders or self.allow_recorded_paths or self.fetch else [_NOT_ENABLED]
        for path in self._candidates(recorded_path, build_id, is_installed_here):
            if is_file(path) and not os.path.realpath(path).startswith(_VIRTUAL_FOLDERS):
                source = _read_source(path)
                if not source.reason:
                    return source
                reasons.append(source.reason)
        if self.allow_recorded_paths and not is_installed_here:
            reasons.append(NOT_LOCAL)
        return SourceText(reason=reasons[0] if reasons else "the source file was not found")

    def _candidates(self, recorded_path: str, build_id: bytes, is_installed_here: bool) -> Iterator[Path]:
        for folder in self.folders:
            yield from _paths_below(folder, recorded_path)
        is_absolute = recorded_path.startswith("/")
        if self.allow_recorded_paths and is_absolute and is_installed_here:
            yield from self.search_paths.local_paths(recorded_path)
        if self.fetch is not None and is_absolute and build_id:
            yield from filter(None, [self.fetch(build_id, recorded_path)])


def _paths_below(folder: Path, recorded_path: str) -> Iterator[Path]:
    """Yield ``recorded_path`` below a folder, then without its first part, then without its first two, and so on.

    For /build/app/src/a.c, these are FOLDER/build/app/src/a.c, FOLDER/app/src/a.c, FOLDER/src/a.c and FOLDER/a.c.
    """
    parts = [part for part in recorded_path.split("/") if part not in ("", ".")][-_MAX_PARTS:]
    yield from paths_in_root(folder, *("/".join(parts[first:]) for first in range(len(parts))))


def _read_source(path: Path) -> SourceText:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        return SourceText(reason=f"{path}: {error.strerror or error}")
    if len(data) > MAX_FILE_SIZE:
        return SourceText(reason=f"{path}: larger than {MAX_FILE_SIZE >> 20} MiB")
    if b"\0" in data:
        return SourceText(reason=f"{path}: not a text file")
    text = data.decode("utf-8", "replace").removesuffix("\n")
    return SourceText([line.removesuffix("\r") for line in text.split("\n")])
