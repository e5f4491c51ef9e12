"""Explains one ELF file: opens it, looks for what belongs to it, measures the tables.

Some parts of an object are in other files: debug link, supplementary (dwz) file, split units.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from perf2x.analysis.explain import object_verdicts
from perf2x.analysis.explain.call_frames import frame_tables
from perf2x.analysis.explain.code_coverage import GO_TABLE, code_of, name_tables
from perf2x.analysis.explain.debian_packages import debug_package
from perf2x.analysis.explain.debug_info import DebugInfo, SplitUnit, debug_info
from perf2x.analysis.explain.findings import (
    DebugLink,
    Explanation,
    SearchResult,
    SplitDebugInfo,
    Supplementary,
    Verdict,
)
from perf2x.analysis.explain.object_verdicts import advice
from perf2x.base.errors import ObjectError
from perf2x.base.files.sysroot import is_file
from perf2x.binaries.elf.debug_link import debug_link, mini_debug_info
from perf2x.binaries.elf.elf_file import ElfObject, ElfSection, open_object
from perf2x.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.binaries.find.split_debug import has_supplementary, package_file, split_paths, supplementary_file


def explain_file(path: str, finder: Finder) -> Explanation:
    """Explain a file together with the files that belong to it; ObjectError when it is no ELF file."""
    place = Path(path)
    if place.exists() and not place.is_file():
        raise ObjectError(f"{path}: not a regular file")
    file = open_object(place)
    recorded = recorded_name(finder, place)
    return explain_object(file, path, recorded, finder.find(recorded, file.build_id), finder)


def explain_object(file: ElfObject, path: str, recorded: str, found: ObjectFiles, finder: Finder) -> Explanation:
    """Explain an open file; ``found`` are the files found under its recorded name."""
    files, troubles = _belonging(file, found)
    try:
        dwz, dwz_file = supplementary_of(finder, files)
    except ObjectError as error:
        dwz, dwz_file = Supplementary("", ""), None
        troubles.append(str(error))
    infos = [info for info in (debug_info(one, dwz_file) for one in files) if info is not None]
    known = replace(
        _measure(file, path, files),
        debug_info=tuple(infos),
        debug_link=link_of(file),
        supplementary=dwz,
        split=next(filter(None, (split_of(finder, found, recorded, file, info.split) for info in infos)), None),
        looked_at=tuple(SearchResult(*searched) for searched in found.searched),
        troubles=tuple(dict.fromkeys(troubles)),
    )
    known = replace(known, answers=_verdicts(known, infos))
    return replace(known, advice=tuple(advice(known, _package(finder, recorded, known))))


def _belonging(file: ElfObject, found: ObjectFiles) -> tuple[list[ElfObject], list[str]]:
    """Return the file, its debug files and its mini debug info, without copies; and the reasons for refused files."""
    troubles = list(found.refused)
    distinct = {_identity(file): file}
    for one in found.files:
        if not one.name.endswith(object_verdicts.MINI):
            distinct.setdefault(_identity(one), one)
    try:
        mini = mini_debug_info(file)
    except ObjectError as error:
        mini = None
        troubles.append(str(error))
    return [*distinct.values(), *([mini] if mini is not None else [])], troubles


def _identity(file: ElfObject) -> tuple[bytes, int, tuple[ElfSection, ...]]:
    return file.build_id, file.size, file.sections


def _measure(file: ElfObject, path: str, files: Iterable[ElfObject]) -> Explanation:
    code = code_of(file)
    return Explanation(
        path=path,
        size=file.size,
        type=file.type.removeprefix("ET_"),
        machine=_machine(file.machine),
        bits=64 if file.is_64 else 32,
        byte_order="little" if file.byte_order == "<" else "big",
        build_id=file.build_id.hex(),
        code=code.what,
        code_size=code.size,
        name_tables=tuple(table for one in files for table in name_tables(one, code)),
        frame_tables=tuple(table for one in files for table in frame_tables(one, code)),
    )


def _machine(name: str) -> str:
    """Return a machine's name, ``X86_64``; pyelftools knows many more than perf2x.base.abi."""
    if not name.isdigit():
        return name.removeprefix("EM_")
    from elftools.elf.enums import ENUM_E_MACHINE

    found = (one for one, number in ENUM_E_MACHINE.items() if number == int(name))
    return next(found, name).removeprefix("EM_")


def _verdicts(known: Explanation, infos: list[DebugInfo]) -> dict[str, Verdict]:
    has_go = any(table.name == GO_TABLE and table.functions for table in known.name_tables)
    return {
        "names": object_verdicts.function_names(known.name_tables, known.code),
        "lines": object_verdicts.source_lines(infos, known.split, known.supplementary, has_go),
        "stacks": _stack_verdict(known, infos, has_go),
    }


def _stack_verdict(known: Explanation, infos: list[DebugInfo], has_go: bool) -> Verdict:
    if has_go:
        return Verdict(True, "Go keeps frame pointers")
    if known.type == "REL":
        return Verdict(True, "not measured: the file is not linked")
    if object_verdicts.keeps_frame_pointers(infos):
        return Verdict(True, "compiled with frame pointers")
    return object_verdicts.stack_unwinding(known.frame_tables, known.code)


def _package(finder: Finder, recorded: str, known: Explanation) -> str:
    return "" if known.answers["names"].good and known.answers["lines"].good else debug_package(finder, recorded)


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
