"""Where the bytes of debug info are: a file's sections, or one unit's share of a DWARF package.

Source of truth: DWARF 5, sections 7.3.2 (split files), 7.3.5 (packages) and 7.3.6 (supplementary files); the GNU
extensions to DWARF 4 of the same names (https://gcc.gnu.org/wiki/DebugFission).
"""

import struct
from functools import cached_property

from perf2x.model.errors import ObjectError
from perf2x.objects.elf import ElfObject, Section

_COLUMNS = {
    2: {1: "info", 3: "abbrev", 6: "str_offsets"},
    5: {1: "info", 3: "abbrev", 6: "str_offsets", 8: "rnglists"},
}
"""Section numbers in package indexes, by the index's version."""


class DebugSections:
    """The sections of one file, each read when first asked for; b"" for those it does not have."""

    def __init__(self, file: ElfObject, split: bool = False, shares: dict[str, tuple[int, int]] | None = None) -> None:
        """``split``: sections are called ``.debug_info.dwo`` …; ``shares``: (offset, size) of one unit in a package."""
        self.file, self.is_split, self._shares = file, split, shares or {}

    @cached_property
    def info(self) -> bytes:
        """Units of entries."""
        return self._data("info")

    @cached_property
    def abbrev(self) -> bytes:
        """What attributes entries have."""
        return self._data("abbrev")

    @cached_property
    def strings(self) -> bytes:
        """Strings."""
        return self._data("str")

    @cached_property
    def line_str(self) -> bytes:
        """Strings of line tables (DWARF 5)."""
        return self._data("line_str")

    @cached_property
    def str_offsets(self) -> bytes:
        """Indexes of strings."""
        return self._data("str_offsets")

    @cached_property
    def addr(self) -> bytes:
        """Indexed addresses."""
        return self._data("addr")

    @cached_property
    def ranges(self) -> bytes:
        """Ranges up to DWARF 4."""
        return self._data("ranges")

    @cached_property
    def rnglists(self) -> bytes:
        """Ranges of DWARF 5."""
        return self._data("rnglists")

    @cached_property
    def aranges(self) -> bytes:
        """Which addresses are whose; GCC writes it, clang does not."""
        return self._data("aranges")

    @cached_property
    def line(self) -> bytes:
        """Line tables."""
        return self._data("line")

    def _data(self, name: str) -> bytes:
        section = self.file.section(f".debug_{name}{'.dwo' * self.is_split}")
        if section is None:
            return b""
        if name not in self._shares:
            return self.file.data(section)
        offset, size = self._shares[name]
        return _part(self.file, section, offset, size)


def _part(file: ElfObject, section: Section, offset: int, size: int) -> bytes:
    if offset + size > section.size:
        raise ObjectError(f"{file.name}: a unit's share of {section.name} lies outside of it")
    return file.data(section)[offset : offset + size] if section.flags & 0x800 else file.read(
        section.offset + offset, size
    )  # fmt: skip


def package_shares(file: ElfObject) -> dict[int, dict[str, tuple[int, int]]]:
    """{dwo id: {section: (offset, size)}} of a DWARF package (``.dwp``), from its ``.debug_cu_index``.

    ::

        version columns units slots | ids (slots, 8 bytes) | rows (slots) | section numbers (columns)
                                    | offsets (units × columns) | sizes (units × columns)
    """
    section = file.section(".debug_cu_index")
    data = file.data(section) if section is not None else b""
    if len(data) < 16:
        raise ObjectError(f"{file.name}: it has no index of units")
    order = file.byte_order
    version, columns, units, slots = struct.unpack_from(order + "4I", data)
    if (order == "<" and version & 0xFFFF == 5) or (order == ">" and version >> 16 == 5):
        version = 5
    if version not in _COLUMNS:
        raise ObjectError(f"{file.name}: its index of units has version {version}")
    if 16 + 12 * slots + 4 * columns + 8 * columns * units > len(data):
        raise ObjectError(f"{file.name}: its index of units is cut off")
    ids = struct.unpack_from(f"{order}{slots}Q", data, 16)
    rows = struct.unpack_from(f"{order}{slots}I", data, 16 + 8 * slots)
    at = 16 + 12 * slots
    names = [_COLUMNS[version].get(number, "") for number in struct.unpack_from(f"{order}{columns}I", data, at)]
    numbers = struct.unpack_from(f"{order}{2 * columns * units}I", data, at + 4 * columns)

    def shares(row: int) -> dict[str, tuple[int, int]]:
        first = (row - 1) * columns
        pairs = zip(numbers[first:], numbers[first + columns * units :], strict=False)
        return {name: pair for name, pair in zip(names, pairs, strict=False) if name}

    return {ident: shares(row) for ident, row in zip(ids, rows, strict=True) if 0 < row <= units}
