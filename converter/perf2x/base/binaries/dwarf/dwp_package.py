"""DWARF packages (``.dwp``) and ``.dwo`` files: the split units that belong to the skeletons in a linked program.

A package has the units of many ``.dwo`` files, each with its contribution to every section. Source of truth: DWARF 5,
section 7.3.5, and the GNU extension to DWARF 4 (https://gcc.gnu.org/wiki/DebugFissionDWP).
"""

import struct
from pathlib import Path

from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.debug_sections import Contributions, DebugSections
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.binaries.elf.elf_file import ElfObject, is_compressed, open_object
from perf2x.base.columnar.hashing import secret_key
from perf2x.errors import ObjectError

_COLUMNS = {
    2: {1: "info", 3: "abbrev", 6: "str_offsets"},
    5: {1: "info", 3: "abbrev", 6: "str_offsets", 8: "rnglists"},
}
"""Section numbers in package indexes, by the index's version."""


class DwarfPackage:
    """The units of a package by id, read on demand.

    Units of one ``.dwo`` are adjacent and share all contributions except that of their entries, so the sections of the
    last unit are cached for the next one. A budget bounds all other reading, so that contributions cannot overlap
    freely.
    """

    def __init__(self, file: ElfObject) -> None:
        """Raises ObjectError when the index cannot be read."""
        self._file, self._contributions = file, package_contributions(file)
        self._inflated: dict[str, bytes] = {}
        self._budget = ReadBudget("shares of a package", 0, times=4)
        sections = DebugSections(file, True)
        for name in _COLUMNS[5].values():
            section = sections.section(name)
            if section is not None and is_compressed(section):
                self._inflated[name] = file.data(section)
            self._budget.allow(len(self._inflated.get(name, b"")) or (section.size if section is not None else 0))
        self._common: Contributions | None = None
        self._last_contributions: Contributions | None = None
        self._last = DebugFile(sections)

    def unit(self, dwo_id: int) -> Unit | None:
        """Return the unit with that id; None without one. Raises ObjectError when its contributions cannot be read."""
        contributions = self._contributions.get(secret_key(dwo_id))
        return self._open(contributions).unit_of_id(dwo_id) if contributions is not None else None

    def _open(self, contributions: Contributions) -> DebugFile:
        if contributions == self._last_contributions:
            return self._last
        common = {name: contribution for name, contribution in contributions.items() if name != "info"}
        is_next = common == self._common
        self._budget.spend(sum(size for name, (_, size) in contributions.items() if name == "info" or not is_next))
        kept = {
            name: data
            for name, data in self._last.sections.kept.items()
            if name not in contributions or (is_next and name != "info")
        }
        sections = DebugSections(self._file, True, contributions, kept, self._inflated)
        self._last = DebugFile(sections, tables=self._last.tables if is_next else None)
        self._common, self._last_contributions = common, contributions
        return self._last


def package_contributions(file: ElfObject) -> dict[bytes, Contributions]:
    """Return {secret key of a dwo id: contributions} of a package, from its ``.debug_cu_index``.

    ::

        version columns units slots | ids (slots, 8 bytes) | rows (slots) | section numbers (columns)
                                    | offsets (units × columns) | sizes (units × columns)
    """
    section = file.section(".debug_cu_index")
    data = file.data(section) if section is not None else b""
    if len(data) < 16:
        raise ObjectError(f"{file.name}: it has no unit index")
    order = file.byte_order
    version, columns, units, slots = struct.unpack_from(order + "4I", data)
    if (order == "<" and version & 0xFFFF == 5) or (order == ">" and version >> 16 == 5):
        version = 5
    if version not in _COLUMNS:
        raise ObjectError(f"{file.name}: its unit index has the unsupported version {version}")
    if 16 + 12 * slots + 4 * columns + 8 * columns * units > len(data):
        raise ObjectError(f"{file.name}: its unit index is cut off")
    ids = struct.unpack_from(f"{order}{slots}Q", data, 16)
    rows = struct.unpack_from(f"{order}{slots}I", data, 16 + 8 * slots)
    at = 16 + 12 * slots
    names = [_COLUMNS[version].get(number, "") for number in struct.unpack_from(f"{order}{columns}I", data, at)]
    numbers = struct.unpack_from(f"{order}{2 * columns * units}I", data, at + 4 * columns)

    def contributions(row: int) -> dict[str, tuple[int, int]]:
        first, second = (row - 1) * columns, (row - 1 + units) * columns
        pairs = zip(numbers[first : first + columns], numbers[second : second + columns], strict=True)
        return {name: pair for name, pair in zip(names, pairs, strict=True) if name}

    return {secret_key(ident): contributions(row) for ident, row in zip(ids, rows, strict=True) if 0 < row <= units}


class DwoFiles:
    """Split units by ``.dwo`` file. The last file is cached, because skeletons of one file follow each other.

    A program has thousands of these files and needs each once; a budget bounds how often files are read again.
    """

    def __init__(self) -> None:
        self._sizes: dict[Path, int] = {}
        """Size by path, −1 for a file that is not an object file."""
        self._budget = ReadBudget("split files", 0, times=4)
        self._path: Path | None = None
        self._last: DebugFile | None = None

    def unit(self, path: Path, dwo_id: int) -> Unit | None:
        """Return the unit with that id, None if the file lacks it. Raises ObjectError when it cannot be read.

        For a file that is not an object file it raises once; after that, the file has no units.
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
