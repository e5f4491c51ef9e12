"""Names of recordings: files, patterns, lists of names and URLs; fsspec reads everything but local files."""

import contextlib
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from perf2x.base.files.read_file import read_file
from perf2x.base.files.remote_files import format_errors, fsspec, is_address, modified_ns
from perf2x.base.files.temporary import private_directory
from perf2x.errors import FormatError

_PATTERN = frozenset("*?[")
_READ = 1 << 20
_MOST_OF_LIST = 1 << 28
"""Maximum size of a list of names in bytes."""


def expanded(names: Sequence[str], lists: Sequence[str]) -> list[str]:
    """Return every recording of the names and lists (files with one name per line), once, in order.

    Patterns are expanded and sorted; paths become absolute, because other machines may read them. Raises FormatError
    for a name, a pattern or a list without a file.
    """
    found = (one for name in [*names, *_listed(lists)] for one in _expand(name))
    return list(dict.fromkeys(found))


def _listed(lists: Iterable[str]) -> Iterator[str]:
    for file in lists:
        try:
            lines = read_file(Path(file), _MOST_OF_LIST).decode("utf-8", "surrogateescape").splitlines()
        except OSError as error:
            raise FormatError(f"{file}: {error.strerror}") from None
        yield from (line.strip() for line in lines if line.strip())


def _expand(name: str) -> Iterable[str]:
    if name.startswith("file://"):
        name = unquote(urlsplit(name).path)
    has_pattern = not _PATTERN.isdisjoint(name)
    if is_address(name):
        return _matching(name) if has_pattern and not name.startswith("http") else [name]
    if has_pattern and not Path(name).exists():
        whole = Path(name).absolute()
        root = Path(whole.anchor)
        paths = sorted(root.glob(str(whole.relative_to(root))))
        if not paths:
            raise FormatError(f"{name}: no file matches this pattern")
        return [str(path) for path in paths]
    return [str(Path(name).absolute())]


def _matching(address: str) -> list[str]:
    with format_errors(address):
        system, path = fsspec().core.url_to_fs(address)
        found = sorted(str(system.unstrip_protocol(one)) for one in system.glob(path))
    if not found:
        raise FormatError(f"{address}: nothing matches this pattern")
    return found


@contextlib.contextmanager
def local_copy(name: str) -> Iterator[Path]:
    """Provide the path of a recording: the file itself, or a temporary copy of a URL's contents.

    Raises FormatError if it cannot be read; errors in the block name the URL, not its copy.
    """
    if not is_address(name):
        yield _regular(Path(name))
        return
    with private_directory() as folder:
        copy = folder / "perf.data"
        with format_errors(name), fsspec().open(name, "rb") as source, copy.open("wb") as target:
            while block := source.read(_READ):
                target.write(block)
        try:
            yield copy
        except FormatError as error:
            raise FormatError(*(part.replace(str(copy), name) for part in error.args)) from None


def changed_ns(name: str) -> int:
    """Return when a recording, or a file in its directory, last changed: nanoseconds since the epoch, 0 if unknown."""
    if is_address(name):
        with format_errors(name):
            system, place = fsspec().core.url_to_fs(name)
            return modified_ns(system.info(place))
    path = Path(name)
    files = list(path.iterdir()) if path.is_dir() else []
    return max(one.stat().st_mtime_ns for one in (path, *files))


def _regular(path: Path) -> Path:
    """Return the path, unless reading it could block forever."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FormatError(f"{path}: not a file; pipes and devices cannot be read twice")
    return path
