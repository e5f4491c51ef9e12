"""``.dwo`` files: the units that skeletons in a linked program stand for."""

from pathlib import Path

from perf2x.binary.dwarf.read_budget import ReadBudget
from perf2x.binary.dwarf.sections import DebugSections
from perf2x.binary.dwarf.units import DebugFile, Unit
from perf2x.binary.elf.file import open_object


class DwoFiles:
    """The last file is kept open: skeletons of one file come in succession.

    A program has thousands of these files, and each is needed once; a file that is needed again and again is counted.
    """

    def __init__(self) -> None:
        self._sizes: dict[Path, int] = {}
        """−1 for what is no object file."""
        self._budget = ReadBudget("split files", 0, times=4)
        self._path: Path | None = None
        self._last: DebugFile | None = None

    def unit(self, path: Path, dwo_id: int) -> Unit | None:
        """The unit with that id, None when the file has another's; ObjectError when it cannot be read.

        A file that is no object file is refused once, and then has no units.
        """
        size = self._sizes.get(path)
        if size == -1:
            return None
        if path != self._path or self._last is None:
            self._budget.spend(size or 0)
            self._path, self._last = path, self._opened(path)
        return self._last.unit_of_id(dwo_id)

    def _opened(self, path: Path) -> DebugFile:
        is_new = path not in self._sizes
        self._sizes[path] = -1
        file = open_object(path)
        self._sizes[path] = file.size
        if is_new:
            self._budget.allow(file.size)
        return DebugFile(DebugSections(file, True))
