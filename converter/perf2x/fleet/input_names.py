"""Finds the recordings that a user names: files, patterns such as ``*.data``, lists of names, and URLs."""

import contextlib
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from perf2x.base.files.read_file import read_file
from perf2x.base.files.remote_files import as_format_errors, fsspec, is_address, modified_ns
from perf2x.base.files.temporary import private_directory
from perf2x.errors import FormatError

_WILDCARDS = frozenset("*?[")
_COPY_BLOCK_SIZE = 1 << 20  # bytes
_MAX_LIST_SIZE = 1 << 28
"""Maximum size of a file with names, in bytes."""


def expand_names(names: Sequence[str], lists: Sequence[str]) -> list[str]:
    """Return the absolute paths and URLs of all recordings, each once: those of ``names``, then those in ``lists``.

    ``lists`` are files with one name per line. A pattern stands for all matching files, sorted. Raises FormatError for
    a pattern that nothing matches, and for a list that cannot be read.
    """
    recordings = (recording for name in [*names, *_names_in_lists(lists)] for recording in _expand(name))
    return list(dict.fromkeys(recordings))


def _names_in_lists(lists: Iterable[str]) -> Iterator[str]:
    for file in lists:
        try:
            lines = read_file(Path(file), _MAX_LIST_SIZE).decode("utf-8", "surrogateescape").splitlines()
        except OSError as error:
            raise FormatError(f"{file}: {error.strerror}") from None
        yield from (line.strip() for line in lines if line.strip())


def _expand(name: str) -> Iterable[str]:
    if name.startswith("file://"):
        name = unquote(urlsplit(name).path)
    has_pattern = not _WILDCARDS.isdisjoint(name)
    if is_address(name):
        # not in http URLs: ? begins the query, and web servers do not list files
        return _matching_addresses(name) if has_pattern and not name.startswith("http") else [name]
    # a file whose name looks like a pattern stands for itself
    if has_pattern and not Path(name).exists():
        pattern = Path(name).absolute()
        root = Path(pattern.anchor)
        paths = sorted(root.glob(str(pattern.relative_to(root))))
        if not paths:
            raise FormatError(f"{name}: no file matches this pattern")
        return [str(path) for path in paths]
    return [str(Path(name).absolute())]


def _matching_addresses(address: str) -> list[str]:
    with as_format_errors(address):
        filesystem, pattern = fsspec().core.url_to_fs(address)
        matches = sorted(str(filesystem.unstrip_protocol(path)) for path in filesystem.glob(pattern))
    if not matches:
        raise FormatError(f"{address}: nothing matches this pattern")
    return matches


@contextlib.contextmanager
def local_copy(name: str) -> Iterator[Path]:
    """Provide the path of a recording: the file itself, or a temporary copy of a URL's contents.

    Raises FormatError for an unreadable URL, and for pipes and devices; OSError for a missing file. A FormatError
    inside the block names the URL, not its copy.
    """
    if not is_address(name):
        yield _checked_file(Path(name))
        return
    with private_directory() as folder:
        copy = folder / "perf.data"
        with as_format_errors(name), fsspec().open(name, "rb") as source, copy.open("wb") as target:
            while block := source.read(_COPY_BLOCK_SIZE):
                target.write(block)
        try:
            yield copy
        except FormatError as error:
            raise FormatError(*(part.replace(str(copy), name) for part in error.args)) from None


def last_change_ns(name: str) -> int:
    """Return when a recording last changed, in nanoseconds since the epoch; 0 if unknown.

    A directory changes when a file in it does.
    """
    if is_address(name):
        with as_format_errors(name):
            filesystem, path_there = fsspec().core.url_to_fs(name)
            return modified_ns(filesystem.info(path_there))
    path = Path(name)
    files = list(path.iterdir()) if path.is_dir() else []
    return max(file.stat().st_mtime_ns for file in (path, *files))


def _checked_file(path: Path) -> Path:
    # pipes and devices could block forever
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FormatError(f"{path}: not a file; pipes and devices cannot be read twice")
    return path
