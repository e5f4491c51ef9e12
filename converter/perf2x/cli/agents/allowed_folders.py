"""Finds the files that questions name, only inside the folders given on the command line: the allowed folders."""

from collections.abc import Sequence
from pathlib import Path

from perf2x.errors import OptionError
from perf2x.model.printable_text import short


class AllowedFolders:
    """The folders to which questions are restricted.

    A question names a file by a path relative to any of the folders, or by an absolute path.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        for folder in folders:
            if not Path(folder).is_dir():
                raise OptionError(f"{folder}: there is no such folder")
        self._folders = [Path(folder).resolve() for folder in folders]

    def find(self, name: str, *, folder: bool = False) -> Path:
        """Return the path, with links resolved, of a file or folder; with ``folder``, only of a folder.

        Raises OptionError if there is none with this name, if it is outside the allowed folders, or if it is a folder
        with a link inside that leads out of them.
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
        """Return the path with links resolved; None if it leads out of the allowed folders, or cannot be resolved."""
        try:
            resolved = path.resolve()
            resolved.lstat()  # raises errors that resolve() ignores
        except FileNotFoundError:  # not an error here: find() reports it, if the path is inside the folders
            pass
        except (OSError, RuntimeError, ValueError):  # too long, a loop of links, an invalid character
            return None
        return resolved if any(resolved.is_relative_to(folder) for folder in self._folders) else None
