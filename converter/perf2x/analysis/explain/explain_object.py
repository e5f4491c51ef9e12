"""Explains one ELF file: opens it, looks for what belongs to it, measures the tables."""

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from perf2x.analysis.explain import verdict
from perf2x.analysis.explain.advice import advice
from perf2x.analysis.explain.call_frames import frame_tables
from perf2x.analysis.explain.code_coverage import code_of
from perf2x.analysis.explain.debian_packages import debug_package
from perf2x.analysis.explain.debug_info import DebugInfo, debug_info
from perf2x.analysis.explain.findings import Explanation, SearchResult, Supplementary, Verdict
from perf2x.analysis.explain.other_files import link_of, recorded_name, split_of, supplementary_of
from perf2x.analysis.explain.symbol_tables import GO_TABLE, name_tables
from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.debug_link import mini_debug_info
from perf2x.binaries.elf.elf_file import ElfObject, ElfSection, open_object
from perf2x.binaries.find.object_files import ObjectFiles
from perf2x.binaries.find.object_finder import Finder


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
        if not one.name.endswith(verdict.MINI):
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
        "names": verdict.function_names(known.name_tables, known.code),
        "lines": verdict.source_lines(infos, known.split, known.supplementary, has_go),
        "stacks": _stack_verdict(known, infos, has_go),
    }


def _stack_verdict(known: Explanation, infos: list[DebugInfo], has_go: bool) -> Verdict:
    if has_go:
        return Verdict(True, "Go keeps frame pointers")
    if known.type == "REL":
        return Verdict(True, "not measured: the file is not linked")
    if verdict.keeps_frame_pointers(infos):
        return Verdict(True, "compiled with frame pointers")
    return verdict.stack_unwinding(known.frame_tables, known.code)


def _package(finder: Finder, recorded: str, known: Explanation) -> str:
    return "" if known.answers["names"].good and known.answers["lines"].good else debug_package(finder, recorded)
