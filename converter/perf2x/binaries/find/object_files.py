"""The result of a search: the files of one object, and the paths that were searched for them."""

from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from perf2x.binaries.elf.elf_file import ElfObject

TAKEN, ABSENT, OTHER_BUILD = "taken", "not there", "another build"
OTHER_CHECKSUM, UNREADABLE = "another checksum", "cannot be read"


class SearchedPath(NamedTuple):
    """A path that was searched, and the outcome: TAKEN, ABSENT, OTHER_BUILD …"""

    path: str
    outcome: str


class ObjectFiles(Struct):
    """All files of one object, in the order of search, with their headers read; and the reasons for refused ones."""

    files: list[ElfObject] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Sentences: which file exists and why it was refused."""
    mismatched: bool = False
    """A file was taken although its build id differs."""
    searched: list[SearchedPath] = field(default_factory=list)
    """Every path that was searched, in order; archives and servers last."""

    def note(self, path: Path | str, outcome: str, why: str = "") -> None:
        """Note the outcome of a search, and the reason where a file was refused."""
        self.searched.append(SearchedPath(str(path), outcome))
        self.refused += [why] if why else []

    @property
    def code(self) -> ElfObject | None:
        """The file that was mapped: it has the code and correct program headers."""
        return next((file for file in self.files if has_code(file)), None)

    @property
    def symbols(self) -> ElfObject | None:
        """The first file with a ``.symtab``, else the first with a ``.dynsym``."""
        return next((f for f in self.files if f.section(".symtab")), None) or next(
            (f for f in self.files if f.section(".dynsym")), None
        )

    @property
    def dwarf(self) -> ElfObject | None:
        """The first file with ``.debug_info``."""
        return next((f for f in self.files if f.section(".debug_info") or f.section(".zdebug_info")), None)

    @property
    def reason(self) -> str:
        """The reason why no file was found, "" when there is one."""
        if self.files:
            return ""
        return self.refused[0] if self.refused else "file not found"


def has_code(file: ElfObject) -> bool:
    """Return whether the file holds instructions; in a debug-only file ``.text`` is SHT_NOBITS."""
    if not file.sections:
        return any(segment.type == "PT_LOAD" and segment.file_size for segment in file.segments)
    return any(s.type == "SHT_PROGBITS" and s.flags & 0x6 == 0x6 and s.size for s in file.sections)
