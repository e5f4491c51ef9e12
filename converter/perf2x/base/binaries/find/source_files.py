"""Finds and reads source files by the paths in debug info.

These paths are as untrusted as the recording. Source files are looked for in three places:

- below the folders that the user named, and never outside them, whatever ``..`` or symbolic links say;
- at the recorded path, only if the user allows it, and then only below a symfs or as `untrusted_paths.py` permits;
- on debuginfod servers, by build id.

Files that are not text, lie in a virtual file system of the kernel, or are larger than MAX_FILE_SIZE are refused.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.files.sysroot import is_file, paths_in_root
from perf2x.base.frozen_struct import Frozen

# The largest source file to read, in bytes.
MAX_FILE_SIZE = 4 << 20
# Maximum number of parts of a recorded path, counted from its end, that are looked for below a folder.
_MAX_PARTS = 64
# Folders of the kernel's virtual file systems.
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
    """Source files by recorded path; each is read once (once for each build if a server may have it)."""

    search_paths: SearchPaths
    folders: Sequence[Path] = ()
    """Searched first."""
    fetch: Fetch | None = None
    """Called last; None: no server is asked."""
    as_recorded: bool = False
    """Whether the recorded path may be read, too; `find` says under which conditions."""
    # results by recorded path, ``is_own``, and the build id that a server is asked with
    _cache: dict[tuple[str, bool, bytes], SourceText] = {}

    def find(self, recorded_path: str, build_id: bytes, last_line: int, *, is_own: bool = False) -> SourceText:
        """Find the file that debug info of an object calls ``recorded_path``, with at least ``last_line`` lines.

        ``is_own``: the object belongs to this machine, so its paths do, too; otherwise the recorded path is not read,
        unless it lies below a symfs.
        """
        is_own = is_own or self.search_paths.symfs is not None
        key = recorded_path, is_own, build_id if self.fetch else b""
        if key not in self._cache:
            self._cache[key] = self._read_first(recorded_path, build_id, is_own)
        source = self._cache[key]
        if not source.reason and last_line > len(source.lines):
            return SourceText(
                reason=f"the file has only {len(source.lines)} lines, the recorded one had at least {last_line}"
            )
        return source

    def _read_first(self, recorded_path: str, build_id: bytes, is_own: bool) -> SourceText:
        """Read the first candidate that is a text file; if there is none, say why the first candidate was refused."""
        if not recorded_path or "\0" in recorded_path:
            return SourceText(reason="debug info names no file")
        reasons = [] if self.folders or self.as_recorded or self.fetch else [_NOT_ENABLED]
        for path in self._candidates(recorded_path, build_id, is_own):
            if is_file(path) and not os.path.realpath(path).startswith(_VIRTUAL_FOLDERS):
                source = _read_source(path)
                if not source.reason:
                    return source
                reasons.append(source.reason)
        if self.as_recorded and not is_own:
            reasons.append(NOT_LOCAL)
        return SourceText(reason=reasons[0] if reasons else "the source file was not found")

    def _candidates(self, recorded_path: str, build_id: bytes, is_own: bool) -> Iterator[Path]:
        for folder in self.folders:
            yield from _below(folder, recorded_path)
        is_absolute = recorded_path.startswith("/")
        if self.as_recorded and is_absolute and is_own:
            yield from self.search_paths.local_paths(recorded_path)
        if self.fetch is not None and is_absolute and build_id:
            yield from filter(None, [self.fetch(build_id, recorded_path)])


def _below(folder: Path, recorded_path: str) -> Iterator[Path]:
    """Yield ``recorded_path`` below a folder, then without its first part, then without the first two, and so on.

    This finds sources in a copy of the source tree that lies elsewhere: /build/app/src/a.c as FOLDER/src/a.c.
    """
    parts = [part for part in recorded_path.split("/") if part not in ("", ".")][-_MAX_PARTS:]
    yield from paths_in_root(folder, *("/".join(parts[first:]) for first in range(len(parts))))


def _read_source(path: Path) -> SourceText:
    """Read a file as lines of text; bytes that are not UTF-8 become U+FFFD."""
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
