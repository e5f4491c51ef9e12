"""Finds files that questions name, only inside the folders given on the command line."""

from collections.abc import Sequence
from pathlib import Path

from perf2x.errors import OptionError
from perf2x.model.printable_text import short


class AllowedFolders:
    """The folders to which questions are restricted; names of files may be relative to any of them."""

    def __init__(self, folders: Sequence[str]) -> None:
        for folder in folders:
            if not Path(folder).is_dir():
                raise OptionError(f"{folder}: there is no such folder")
        self._folders = [Path(folder).resolve() for folder in folders]

    def find(self, name: str, *, folder: bool = False) -> Path:
        """Return the path, with links resolved, of a file or folder; with ``folder``, only of a folder.

        Raises OptionError if there is none, if it is outside the allowed folders, or if a link inside it leads out of
        them.
        """
        candidates = [path for allowed in self._folders if (path := self._resolved(Path(allowed, name))) is not None]
        if not candidates:
            listed = ", ".join(map(str, self._folders))
            raise OptionError(f"{short(name)}: not below {listed}")
        found = next((path for path in candidates if path.is_dir() or (path.is_file() and not folder)), None)
        if found is None:
            raise OptionError(f"{short(name)}: there is no such {'folder' if folder else 'file'}")
        for path in found.rglob("*") if found.is_dir() else ():
            if path.is_symlink() and self._resolved(path) is None:
                raise OptionError(f"{short(name)}: {short(path.name)} leads out of the allowed folders")
        return found

    def _resolved(self, path: Path) -> Path | None:
        try:
            resolved = path.resolve()
            resolved.lstat()  # raises errors that resolve() ignores
        except FileNotFoundError:  # find() reports it
            pass
        except (OSError, RuntimeError, ValueError):  # too long, a loop of links, an invalid character
            return None
        return resolved if any(resolved.is_relative_to(folder) for folder in self._folders) else None
