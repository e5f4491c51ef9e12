"""Summary of debug info: units, producers, DWARF versions, languages, and parts in other files.

pyelftools reads only the units' headers and first entries. A read allowance bounds that, so that no file takes more
than a few seconds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.analysis.explain.abbreviations import reader_class
from perf2x.analysis.explain.bounded_sections import PARSE_ERRORS, ReadAllowance, SectionStream, SpentError
from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import SHF_COMPRESSED, ElfObject, ElfSection, open_elf
from perf2x.binaries.elf.relocate_module import relocate_debug_info

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.dwarfinfo import DWARFInfo

UNITS_AT_MOST = 5000
ENTRY_BYTES_AT_MOST = 1 << 18
"""Bytes of all headers and first entries; compilers write some fifty bytes a unit."""
STRING_BYTES_AT_MOST = 1 << 23
ABBREVIATION_BYTES_AT_MOST = 1 << 24
LONGEST_TEXT = 4096
"""Bytes of a path or of a compiler's command line; longer ones are cut."""
LARGEST_OBJECT = 1 << 26
"""Bytes of a relocatable file whose relocations are applied."""
ASSEMBLER = "assembler"
_ASSEMBLER = 0x8001
_PARTS = ("info", "abbrev", "str", "line_str", "str_offsets", "addr")
_PARTIAL = ("DW_TAG_partial_unit", "DW_TAG_type_unit")


class SplitUnit(Struct, frozen=True):
    """A unit whose entries are in another file."""

    folder: str
    name: str


class DebugInfo(Struct, frozen=True):
    """The debug info of one file."""

    file: str
    size: int
    """Bytes of ``.debug_info`` in the file."""
    compressed: bool
    units: int
    """Compilation units that were read."""
    partial: int
    """Partial and type units, with entries that others share."""
    whole: bool
    """All units were read."""
    versions: dict[str, int]
    """Units by DWARF version; ``producers`` and ``languages`` likewise."""
    producers: dict[str, int]
    languages: dict[str, int]
    frame_pointers: int
    """Units whose producer states -fno-omit-frame-pointer."""
    split: tuple[SplitUnit, ...]
    unreadable: int = 0
    """Units whose first entry cannot be read."""
    broken: str = ""
    """The error that ended the reading, else ""."""


def info_section(elf: ElfObject) -> ElfSection | None:
    """Return ``.debug_info`` under any of its names; None when the file has no debug info."""
    names = (".debug_info", ".zdebug_info", ".debug_info.dwo")
    return next(filter(None, map(elf.section, names)), None)


def debug_info(elf: ElfObject, supplementary: ElfObject | None = None) -> DebugInfo | None:
    """Summarize the debug info of ``elf``; None without any. ``supplementary`` is its dwz file, if any."""
    section = info_section(elf)
    if section is None:
        return None
    tally, broken, whole = _Tally(), "", False
    try:
        info = reader(_linked(elf))
        if supplementary is not None and info_section(supplementary) is not None:
            info.supplementary_dwarfinfo = reader(supplementary)
        whole = tally.read(info.iter_CUs())
        if tally.end > (size := info.debug_info_sec.size if info.debug_info_sec else 0):
            raise ObjectError(f"the last unit ends at {tally.end:#x}, the section at {size:#x}")
    except parse_errors() as error:
        broken = str(error) or type(error).__name__
    compressed = bool(section.flags & SHF_COMPRESSED) or section.name.startswith(".z")
    return DebugInfo(
        elf.name, section.size, compressed, tally.units, tally.partial, whole, _most_frequent_first(tally.versions),
        _most_frequent_first(tally.producers), _most_frequent_first(tally.languages), tally.frame_pointers,
        tuple(tally.split), tally.unreadable, broken,
    )  # fmt: skip


class _Tally:
    """Counts of the properties that units state."""

    def __init__(self) -> None:
        self.units = self.partial = self.unreadable = self.frame_pointers = self.end = 0
        self.versions: Counter[str] = Counter()
        self.producers: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()
        self.split: list[SplitUnit] = []

    def read(self, units: "Iterator[CompileUnit]") -> bool:
        """Count up to UNITS_AT_MOST units; return whether these were all."""
        for number, unit in enumerate(units):
            if number == UNITS_AT_MOST:
                return False
            self._add(unit)
            self.end = unit.cu_offset + unit.size
        return True

    def _add(self, unit: "CompileUnit") -> None:
        try:
            top: Any = unit.get_top_DIE()
        except SpentError:
            raise
        except parse_errors():
            self._count(unit)
            self.unreadable += 1
            return
        if top.tag in _PARTIAL:
            self.partial += 1
            return
        self._count(unit)
        values = {name: attribute.value for name, attribute in top.attributes.items()}
        name = _string_attribute(values, "DW_AT_dwo_name", "DW_AT_GNU_dwo_name")
        if name:
            self.split.append(SplitUnit(_string_attribute(values, "DW_AT_comp_dir"), name))
            return
        self._written_by(_string_attribute(values, "DW_AT_producer"))
        self.languages[_language(values.get("DW_AT_language"))] += 1

    def _count(self, unit: "CompileUnit") -> None:
        self.units += 1
        self.versions[str(unit["version"])] += 1

    def _written_by(self, producer: str) -> None:
        self.producers[producer.partition(" -")[0] or "unknown"] += 1
        self.frame_pointers += " -fno-omit-frame-pointer" in producer


def _string_attribute(values: Mapping[str, Any], *names: str) -> str:
    found = next((value for value in map(values.get, names) if isinstance(value, bytes)), b"")
    return found[:LONGEST_TEXT].decode(errors="surrogateescape")


def _language(number: object) -> str:
    if not isinstance(number, int):
        return "unknown"
    return _languages().get(number, f"language {number:#x}")


@cache
def _languages() -> dict[int, str]:
    """Return the names of DW_LANG numbers: ``C99``, ``C++14``, ``Rust``."""
    from elftools.dwarf import constants

    found = {number: name for name, number in vars(constants).items() if name.startswith("DW_LANG_")}
    named = {
        number: name.removeprefix("DW_LANG_").replace("_plus_plus", "++").replace("_", "")
        for number, name in found.items()
    }
    return {**named, _ASSEMBLER: ASSEMBLER}


def _most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    """Sort by count, the most frequent first, then by name."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _linked(elf: ElfObject) -> ElfObject:
    """Apply the relocations of a relocatable file's debug info; return other files unchanged."""
    if elf.type != "ET_REL" or elf.section(".debug_info.dwo") is not None:
        return elf
    if elf.size > LARGEST_OBJECT:
        raise ObjectError(f"a relocatable file of {elf.size:,} bytes, whose relocations were not applied")
    return open_elf(relocate_debug_info(elf), elf.name)


def reader(elf: ElfObject) -> "DWARFInfo":
    """pyelftools' reader of a file's debug info, over sections that end when too much is read."""
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig

    entries, strings = ReadAllowance(ENTRY_BYTES_AT_MOST), ReadAllowance(STRING_BYTES_AT_MOST)
    budgets = {"info": entries, "addr": entries, "abbrev": ReadAllowance(ABBREVIATION_BYTES_AT_MOST)}
    kind = reader_class()
    sections: dict[str, Any] = dict.fromkeys(list(signature(kind).parameters)[1:])  # versions have more or fewer
    for part in _PARTS:
        found = _stream(elf, part, budgets.get(part, strings))
        if found is not None:
            stream: Any = found
            sections[f"debug_{part}_sec"] = DebugSectionDescriptor(stream, f".debug_{part}", 0, found.size, 0)
    return kind(DwarfConfig(elf.byte_order == "<", elf.machine, 8 if elf.is_64 else 4), **sections)


def _stream(elf: ElfObject, part: str, budget: ReadAllowance) -> SectionStream | None:
    names = (f".debug_{part}", f".zdebug_{part}", f".debug_{part}.dwo")
    section = next(filter(None, map(elf.section, names)), None)
    if section is None:
        return None
    if not section.flags & SHF_COMPRESSED and not section.name.startswith(".z"):
        start, size = section.offset, section.size
        return SectionStream(size, lambda at, size: elf.read(start + at, size), budget)
    data = elf.data(section)
    return SectionStream(len(data), lambda at, size: data[at : at + size], budget)


@cache
def parse_errors() -> tuple[type[Exception], ...]:
    """Return all exceptions that pyelftools raises for broken debug info."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct import ConstructError

    return (*PARSE_ERRORS, DWARFError, ELFError, ConstructError)
