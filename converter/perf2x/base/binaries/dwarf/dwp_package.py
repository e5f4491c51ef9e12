"""DWARF packages (``.dwp``) and ``.dwo`` files: the split units that belong to the skeletons in a linked program.

A package joins many ``.dwo`` files: each of its sections is the concatenation of theirs. Its index ``.debug_cu_index``
states offset and size of each unit's *contribution* to every section. Offsets inside a unit count from the start of its
contributions.

Source of truth: DWARF 5, section 7.3.5, and the GNU extension to DWARF 4 (https://gcc.gnu.org/wiki/DebugFissionDWP).
"""

import struct
from pathlib import Path

from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.debug_sections import Contributions, DebugSections
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.binaries.elf.elf_file import ElfObject, is_compressed, open_object
from perf2x.base.columnar.hashing import salted_key
from perf2x.errors import ObjectError

# {version of the index: {DW_SECT_*: section}}; other sections are not read.
_SECTIONS_READ = {
    2: {1: "info", 3: "abbrev", 6: "str_offsets"},
    5: {1: "info", 3: "abbrev", 6: "str_offsets", 8: "rnglists"},
}


class DwarfPackage:
    """The units of a package by id, read on demand.

    Units of one ``.dwo`` file are adjacent and share all contributions but the one to ``.debug_info``, so sections are
    cached. A budget limits other reads, because all contributions of a hostile file may overlap.
    """

    def __init__(self, file: ElfObject) -> None:
        """Raises ObjectError when the index cannot be read."""
        self._file, self._contributions = file, package_contributions(file)
        self._decompressed: dict[str, bytes] = {}  # whole sections that are compressed in the file
        self._budget = ReadBudget("contributions to a package", 0, times=4)
        sections = DebugSections(file, True)
        for name in _SECTIONS_READ[5].values():
            section = sections.section(name)
            if section is not None and is_compressed(section):
                self._decompressed[name] = file.data(section)
            self._budget.allow(len(self._decompressed.get(name, b"")) or (section.size if section is not None else 0))
        # All contributions of the last unit, and all but the one to .debug_info.
        self._last_contributions: Contributions | None = None
        self._last_shared: Contributions | None = None
        self._last_file = DebugFile(sections)

    def unit(self, dwo_id: int) -> Unit | None:
        """Return the unit with this id; None if there is none. Raises ObjectError if it cannot be read."""
        contributions = self._contributions.get(salted_key(dwo_id))
        return self._open(contributions).unit_of_id(dwo_id) if contributions is not None else None

    def _open(self, contributions: Contributions) -> DebugFile:
        if contributions == self._last_contributions:
            return self._last_file
        shared = {name: contribution for name, contribution in contributions.items() if name != "info"}
        is_same_dwo = shared == self._last_shared
        self._budget.spend(sum(size for name, (_, size) in contributions.items() if name == "info" or not is_same_dwo))
        # Data read for the last unit stays valid for sections that the package does not divide (.debug_str) and, if
        # both units are of one .dwo file, for the contributions that they share.
        contents = {
            name: data
            for name, data in self._last_file.sections.contents.items()
            if name not in contributions or (is_same_dwo and name != "info")
        }
        sections = DebugSections(self._file, True, contributions, contents, self._decompressed)
        self._last_file = DebugFile(sections, tables=self._last_file.tables if is_same_dwo else None)
        self._last_shared, self._last_contributions = shared, contributions
        return self._last_file


def package_contributions(file: ElfObject) -> dict[bytes, Contributions]:
    """Read ``.debug_cu_index``: {salted key of a dwo id: contributions of its unit}.

    The index has a hash table of ``slots`` slots, each with an id and the number of a row (0: the slot is empty). Two
    tables follow, with a row per unit and a column per section. Ids have eight bytes, all other numbers four::

        version, columns, units, slots
        ids (slots)
        rows (slots)
        section numbers (columns)
        offsets (units × columns)
        sizes (units × columns)
    """
    section = file.section(".debug_cu_index")
    data = file.data(section) if section is not None else b""
    if len(data) < 16:
        raise ObjectError(f"{file.name}: it has no unit index")
    byte_order = file.byte_order
    version, columns, units, slots = struct.unpack_from(byte_order + "4I", data)
    # the version has four bytes in GNU's format (version 2); in DWARF 5 it has two, and two bytes of padding follow
    if (byte_order == "<" and version & 0xFFFF == 5) or (byte_order == ">" and version >> 16 == 5):
        version = 5
    if version not in _SECTIONS_READ:
        raise ObjectError(f"{file.name}: its unit index has the unsupported version {version}")
    if 16 + 12 * slots + 4 * columns + 8 * columns * units > len(data):
        raise ObjectError(f"{file.name}: its unit index is cut off")
    ids = struct.unpack_from(f"{byte_order}{slots}Q", data, 16)
    rows = struct.unpack_from(f"{byte_order}{slots}I", data, 16 + 8 * slots)
    columns_offset = 16 + 12 * slots
    section_numbers = struct.unpack_from(f"{byte_order}{columns}I", data, columns_offset)
    names = [_SECTIONS_READ[version].get(number, "") for number in section_numbers]
    offsets_and_sizes = struct.unpack_from(f"{byte_order}{2 * columns * units}I", data, columns_offset + 4 * columns)

    def contributions(row: int) -> dict[str, tuple[int, int]]:
        # Rows are numbered from 1.
        offsets, sizes = (row - 1) * columns, (row - 1 + units) * columns
        pairs = zip(
            offsets_and_sizes[offsets : offsets + columns], offsets_and_sizes[sizes : sizes + columns], strict=True
        )
        return {name: pair for name, pair in zip(names, pairs, strict=True) if name}

    return {salted_key(dwo_id): contributions(row) for dwo_id, row in zip(ids, rows, strict=True) if 0 < row <= units}


class DwoFiles:
    """Finds split units in ``.dwo`` files.

    The last file is cached, because skeletons that refer to the same file follow each other. A budget limits how often
    files are read again.
    """

    def __init__(self) -> None:
        self._sizes: dict[Path, int] = {}  # in bytes; −1 if not an object file
        self._budget = ReadBudget("split files", 0, times=4)
        self._last_path: Path | None = None
        self._last_file: DebugFile | None = None

    def unit(self, path: Path, dwo_id: int) -> Unit | None:
        """Return the unit with this id; None if the file lacks it. Raises ObjectError when the file cannot be read.

        A file that is not an object file raises ObjectError only the first time; later, the answer is None.
        """
        size = self._sizes.get(path)
        if size == -1:
            return None
        if path != self._last_path or self._last_file is None:
            self._budget.spend(size or 0)
            self._last_path, self._last_file = path, self._open(path)
        return self._last_file.unit_of_id(dwo_id)

    def _open(self, path: Path) -> DebugFile:
        is_new = path not in self._sizes
        self._sizes[path] = -1
        file = open_object(path)
        self._sizes[path] = file.size
        if is_new:
            self._budget.allow(file.size)
        return DebugFile(DebugSections(file, True))
