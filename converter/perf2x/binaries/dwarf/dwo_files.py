"""``.dwo`` files: the split units that belong to skeletons in a linked program."""

from pathlib import Path

from perf2x.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.binaries.dwarf.debug_sections import DebugSections
from perf2x.binaries.dwarf.read_budget import ReadBudget
from perf2x.binaries.elf.elf_file import open_object


class DwoFiles:
    """Split units by file. The last file is kept: skeletons of one file follow each other.

    A program has thousands of these files and needs each once; a budget bounds how often files are read again.
    """

    def __init__(self) -> None:
        self._sizes: dict[Path, int] = {}
        """Bytes by path, −1 for a file that is no object file."""
        self._budget = ReadBudget("split files", 0, times=4)
        self._path: Path | None = None
        self._last: DebugFile | None = None

    def unit(self, path: Path, dwo_id: int) -> Unit | None:
        """Return the unit with that id, None when the file does not have it; ObjectError when it cannot be read.

        A file that is no object file raises once, and then has no units.
        """
        size = self._sizes.get(path)
        if size == -1:
            return None
        if path != self._path or self._last is None:
            self._budget.spend(size or 0)
            self._path, self._last = path, self._open(path)
        return self._last.unit_of_id(dwo_id)

    def _open(self, path: Path) -> DebugFile:
        is_new = path not in self._sizes
        self._sizes[path] = -1
        file = open_object(path)
        self._sizes[path] = file.size
        if is_new:
            self._budget.allow(file.size)
        return DebugFile(DebugSections(file, True))
