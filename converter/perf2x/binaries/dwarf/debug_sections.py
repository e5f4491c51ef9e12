"""Sections with debug info: those of a file, or one unit's contributions to a DWARF package.

Source of truth: DWARF 5, sections 7.3.2 (split files), 7.3.5 (packages) and 7.3.6 (supplementary files); the GNU
extensions to DWARF 4 of the same names (https://gcc.gnu.org/wiki/DebugFission).
"""

from collections.abc import Mapping
from functools import cached_property

from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import ElfObject, ElfSection

Contributions = Mapping[str, tuple[int, int]]
"""{section: (offset, size)} of one unit in a package."""


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
        """``split``: sections are called ``.debug_info.dwo`` …; ``contributions`` of one unit in a package.

        ``kept`` is what was read already, ``inflated`` whole sections that contributions are cut out of.
        """
        self.file, self.is_split, self._contributions = file, split, contributions or {}
        self.kept = {} if kept is None else kept
        self._inflated = inflated or {}

    @cached_property
    def info(self) -> bytes:
        """Units and their entries."""
        return self._data("info")

    @cached_property
    def abbrev(self) -> bytes:
        """Abbreviation tables."""
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
        """Offsets of indexed strings."""
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
        """Address ranges by unit; GCC writes it, clang does not."""
        return self._data("aranges")

    @cached_property
    def line(self) -> bytes:
        """Line tables."""
        return self._data("line")

    def section(self, name: str) -> ElfSection | None:
        """Return a section by the part of its name after ``.debug_``."""
        return self.file.section(f".debug_{name}{'.dwo' * self.is_split}")

    def _data(self, name: str) -> bytes:
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
            raise ObjectError(f"{self.file.name}: a unit's share of {section.name} lies outside of it")
        return self.file.read(section.offset + offset, size) if whole is None else whole[offset : offset + size]
