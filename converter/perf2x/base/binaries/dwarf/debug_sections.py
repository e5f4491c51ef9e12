"""Sections with debug info: those of a file, or in a DWARF package (``.dwp``) the parts that belong to one unit.

Source of truth: DWARF 5, sections 7.3.2 (split files), 7.3.5 (packages) and 7.3.6 (supplementary files); the GNU
extensions to DWARF 4 of the same names (https://gcc.gnu.org/wiki/DebugFission).
"""

from collections.abc import Mapping
from functools import cached_property

from perf2x.base.binaries.elf.elf_file import ElfObject, ElfSection
from perf2x.errors import ObjectError

# (offset, size) of one unit's part of each section of a package, by name without ``.debug_``.
Contributions = Mapping[str, tuple[int, int]]


def _section(name: str) -> "cached_property[bytes]":
    def data(sections: "DebugSections") -> bytes:
        return sections.data(name)

    return cached_property(data)


class DebugSections:
    """The debug sections of one file, each read on first use; b"" for missing ones."""

    def __init__(
        self,
        file: ElfObject,
        is_split: bool = False,
        contributions: Contributions | None = None,
        contents: dict[str, bytes] | None = None,
        decompressed: Mapping[str, bytes] | None = None,
    ) -> None:
        """``is_split``: the file is a ``.dwo`` or ``.dwp`` file, where sections have names like ``.debug_info.dwo``.

        The other parameters are for packages. ``contributions`` are those of one unit; a section without a contribution
        is used as a whole. ``contents`` has the contributions that were read already, by name. ``decompressed`` has all
        bytes of compressed sections.
        """
        self.file, self.is_split, self._contributions = file, is_split, contributions or {}
        self.contents = contents or {}
        self._decompressed = decompressed or {}

    info = _section("info")
    """Units and their entries."""
    abbrev = _section("abbrev")
    """Abbreviation tables."""
    strings = _section("str")
    """Strings."""
    line_str = _section("line_str")
    """Strings of line tables (DWARF 5)."""
    str_offsets = _section("str_offsets")
    """Offsets of indexed strings."""
    addr = _section("addr")
    """Indexed addresses."""
    ranges = _section("ranges")
    """Ranges up to DWARF 4."""
    rnglists = _section("rnglists")
    """Ranges of DWARF 5."""
    aranges = _section("aranges")
    """Address ranges by unit; GCC writes this section, clang does not."""
    line = _section("line")
    """Line tables."""

    def section(self, name: str) -> ElfSection | None:
        """Return the section ``.debug_<name>``."""
        return self.file.section(f".debug_{name}{'.dwo' * self.is_split}")

    def data(self, name: str) -> bytes:
        """Return the contents of the section ``.debug_<name>``."""
        if name not in self.contents:
            section = self.section(name)
            self.contents[name] = b"" if section is None else self._read(name, section)
        return self.contents[name]

    def _read(self, name: str, section: ElfSection) -> bytes:
        if name not in self._contributions:
            return self.file.data(section)
        offset, size = self._contributions[name]
        decompressed = self._decompressed.get(name)
        if offset + size > (section.size if decompressed is None else len(decompressed)):
            raise ObjectError(f"{self.file.name}: a unit's contribution to {section.name} lies outside the section")
        return (
            self.file.read(section.offset + offset, size)
            if decompressed is None
            else decompressed[offset : offset + size]
        )
