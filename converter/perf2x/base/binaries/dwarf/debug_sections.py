"""Sections with debug info: those of a file, or one unit's contributions to a DWARF package.

Source of truth: DWARF 5, sections 7.3.2 (split files), 7.3.5 (packages) and 7.3.6 (supplementary files); the GNU
extensions to DWARF 4 of the same names (https://gcc.gnu.org/wiki/DebugFission).
"""

from collections.abc import Mapping
from functools import cached_property

from perf2x.base.binaries.elf.elf_file import ElfObject, ElfSection
from perf2x.errors import ObjectError

Contributions = Mapping[str, tuple[int, int]]
"""{section: (offset, size)} of one unit in a package."""


def _section(name: str) -> "cached_property[bytes]":
    """Make a property for the contents of a section, given the part of its name after ``.debug_``."""

    def data(sections: "DebugSections") -> bytes:
        return sections.data(name)

    return cached_property(data)


class DebugSections:
    """The debug sections of one file, each read on first use; b"" for missing ones."""

    def __init__(
        self,
        file: ElfObject,
        split: bool = False,
        contributions: Contributions | None = None,
        kept: dict[str, bytes] | None = None,
        inflated: Mapping[str, bytes] | None = None,
    ) -> None:
        """``split``: sections are named ``.debug_info.dwo`` …; ``contributions``: those of one unit in a package.

        ``kept`` has sections that were read already, ``inflated`` whole sections that contributions are cut out of.
        """
        self.file, self.is_split, self._contributions = file, split, contributions or {}
        self.kept = kept or {}
        self._inflated = inflated or {}

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
    """Address ranges by unit; GCC writes it, clang does not."""
    line = _section("line")
    """Line tables."""

    def section(self, name: str) -> ElfSection | None:
        """Return a section by the part of its name after ``.debug_``."""
        return self.file.section(f".debug_{name}{'.dwo' * self.is_split}")

    def data(self, name: str) -> bytes:
        """Return the contents of a section by the part of its name after ``.debug_``."""
        if name not in self.kept:
            section = self.section(name)
            self.kept[name] = b"" if section is None else self._read(name, section)
        return self.kept[name]

    def _read(self, name: str, section: ElfSection) -> bytes:
        if name not in self._contributions:
            return self.file.data(section)
        offset, size = self._contributions[name]
        whole = self._inflated.get(name)
        if offset + size > (section.size if whole is None else len(whole)):
            raise ObjectError(f"{self.file.name}: a unit's contribution to {section.name} lies outside the section")
        return self.file.read(section.offset + offset, size) if whole is None else whole[offset : offset + size]
