"""Restricts files to the folders given at start; no link leads out of them."""

from collections.abc import Sequence
from pathlib import Path

from perf2x.errors import OptionError
from perf2x.model.printable_text import short


class BelowFolders:
    """Files that questions may name, relative to any of the folders, or absolute."""

    def __init__(self, folders: Sequence[str]) -> None:
        for folder in folders:
            if not Path(folder).is_dir():
                raise OptionError(f"{folder}: there is no such folder")
        self._folders = [Path(folder).resolve() for folder in folders]

    def find(self, name: str, *, folder: bool = False) -> Path:
        """Return the file or folder with links resolved. Raises OptionError if it is outside the folders.

        A folder with links to the outside is refused, too.
        """
        inside = [path for folder in self._folders if (path := self._resolved(Path(folder, name))) is not None]
        if not inside:
            listed = ", ".join(map(str, self._folders))
            raise OptionError(f"{short(name)}: not below {listed}")
        found = next((path for path in inside if path.is_dir() or (path.is_file() and not folder)), None)
        if found is None:
            raise OptionError(f"{short(name)}: there is no such {'folder' if folder else 'file'}")
        for path in found.rglob("*") if found.is_dir() else ():
            if path.is_symlink() and self._resolved(path) is None:
                raise OptionError(f"{short(name)}: {short(path.name)} leads out of the folders")
        return found

    def _resolved(self, path: Path) -> Path | None:
        """Return the path without links; None outside the folders, or if it cannot be resolved."""
        try:
            found = path.resolve()
            found.lstat()
        except FileNotFoundError:
            pass
        except (OSError, RuntimeError, ValueError):  # too long, a loop of links, an invalid character
            return None
        return found if any(found.is_relative_to(folder) for folder in self._folders) else None
