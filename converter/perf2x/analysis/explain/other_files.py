"""The parts of an object in other files: debug link, supplementary (dwz) file, split units."""

from pathlib import Path

from perf2x.analysis.explain.debug_info import SplitUnit
from perf2x.analysis.explain.findings import DebugLink, SplitDebugInfo, Supplementary
from perf2x.base.errors import ObjectError
from perf2x.base.files.rooted_paths import is_file
from perf2x.binaries.elf.debug_link import debug_link
from perf2x.binaries.elf.elf_file import ElfObject
from perf2x.binaries.find.object_files import ObjectFiles
from perf2x.binaries.find.object_finder import Finder
from perf2x.binaries.find.split_debug import has_supplementary, package_file, split_paths, supplementary_file

MAX_DWO_FILES = 100
"""``.dwo`` files that are searched for."""


def recorded_name(finder: Finder, path: Path) -> str:
    """Return the file's name in a recording: the path without links, below the root of the recorded machine."""
    whole, symfs = path.resolve(), finder.search_paths.symfs
    if symfs is not None and whole.is_relative_to(symfs.resolve()):
        return f"/{whole.relative_to(symfs.resolve()).as_posix()}"
    return str(whole)


def link_of(file: ElfObject) -> DebugLink | None:
    """Return the debug link of a file."""
    found = debug_link(file)
    return None if found is None else DebugLink(found[0], f"{found[1]:08x}")


def supplementary_of(finder: Finder, files: list[ElfObject]) -> tuple[Supplementary | None, ElfObject | None]:
    """Return the first link to a dwz file in ``files``, and that file; ObjectError when the link is broken."""
    linked = next(filter(has_supplementary, files), None)
    if linked is None:
        return None, None
    found = supplementary_file(finder, linked)
    section = linked.section(".gnu_debugaltlink")
    name = linked.data(section).partition(b"\0")[0].decode(errors="surrogateescape") if section is not None else ""
    return Supplementary(name, found.name if found is not None else ""), found


def split_of(
    finder: Finder, found: ObjectFiles, recorded: str, file: ElfObject, units: tuple[SplitUnit, ...]
) -> SplitDebugInfo | None:
    """Return the files with the entries of split units; None without such units."""
    if not units:
        return None
    try:
        package = package_file(finder, found, recorded)
    except ObjectError:
        package = None
    wanted = units[:MAX_DWO_FILES]
    lacking = [unit for unit in wanted if not any(map(is_file, split_paths(finder, file, unit.folder, unit.name)))]
    missing = lacking[0].name if lacking else ""
    return SplitDebugInfo(len(units), package.name if package else "", len(wanted) - len(lacking), len(wanted), missing)
