"""Explains one ELF file: will a profile have function names, source lines and complete stacks, and if not, why?"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from perf2x.base.binaries.cfi.section_rules import debug_frame_index, eh_frame_index
from perf2x.base.binaries.dwarf.compilation_units import DebugFile
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.elf.debug_link import mini_debug_info
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf, open_object
from perf2x.base.binaries.elf.relocate_module import relocate_debug_info
from perf2x.base.binaries.elf.symtab import STT_FUNC, function_symbols
from perf2x.base.binaries.find.dwo_and_dwz_files import (
    dwo_paths,
    find_package_file,
    find_supplementary_file,
    has_supplementary_file,
)
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles, SearchedPath, has_code
from perf2x.base.binaries.go.find_pclntab import has_go_table
from perf2x.base.files.sysroot import is_file
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError
from perf2x.model.number_format import plural
from perf2x.symbolizer.sources.elf_source import STRIPPED
from perf2x.tools.explain.debug_file_advice import Remedy, debug_package, for_debug_file

_RELEVANT = (
    ".symtab", ".dynsym", ".gnu_debugdata", ".gopclntab", ".debug_info", ".debug_line", ".eh_frame",
    ".debug_frame", ".sframe", ".gnu_debuglink", ".gnu_debugaltlink",
)  # fmt: skip
# The name of an ELF file from the section .gnu_debugdata ends so.
_MINI_SUFFIX = ", .gnu_debugdata"
# Maximum number of units whose ``.dwo`` files are searched.
MAX_UNITS = 100


class CheckResult(Frozen):
    """The answer to one question about an object, and a sentence that says why."""

    good: bool
    text: str


class FileSections(Frozen):
    """The sections of a file that matter for names, lines and stacks."""

    file: str
    sections: tuple[str, ...]


class Explanation(Frozen):
    """The explanation of one object; field names are those of the JSON output."""

    path: str
    build_id: str
    answers: dict[str, CheckResult]
    """By question: ``names``, ``lines`` and ``stacks``."""
    advice: tuple[Remedy, ...]
    files: tuple[FileSections, ...]
    looked_at: tuple[SearchedPath, ...]
    troubles: tuple[str, ...]
    """Unusable files and sections, with reasons."""


def explain_file(path: str, finder: Finder) -> Explanation:
    """Explain a file together with the files that belong to it. Raises ObjectError when it is not an ELF file."""
    local_path = Path(path)
    if local_path.exists() and not local_path.is_file():
        raise ObjectError(f"{path}: not a regular file")
    file = open_object(local_path)
    recorded = _recorded_name(finder, local_path)
    found = finder.find(recorded, file.build_id)
    examined = _ExaminedObject(path, file, recorded, finder, found)
    answers = {"names": examined.names(), "lines": examined.lines(), "stacks": examined.stacks()}
    lacking = [what for what in ("names", "lines") if not answers[what].good]
    return Explanation(
        path=path,
        build_id=file.build_id.hex(),
        answers=answers,
        advice=tuple(examined.advice(" and ".join(lacking), answers["stacks"].good)),
        files=tuple(examined.sections()),
        looked_at=tuple(found.searched),
        troubles=tuple(dict.fromkeys(examined.troubles)),
    )


def _recorded_name(finder: Finder, path: Path) -> str:
    """Return the path that a recording has for a file: with links resolved, and relative to ``--symfs``."""
    resolved, symfs = path.resolve(), finder.search_paths.symfs
    if symfs is not None and resolved.is_relative_to(symfs.resolve()):
        return f"/{resolved.relative_to(symfs.resolve()).as_posix()}"
    return str(resolved)


class _ExaminedObject:
    """An object with all its files; call `lines` before `advice`, because it finds missing ``.dwo`` files."""

    def __init__(self, path: str, file: ElfObject, recorded: str, finder: Finder, found: ObjectFiles) -> None:
        self._path, self._file, self._recorded, self._finder, self._found = path, file, recorded, finder, found
        self.troubles = list(found.refused)
        distinct = {(elf.build_id, elf.size, elf.sections): elf for elf in self._own_files()}
        self.files = list(distinct.values())
        self._object_files = ObjectFiles(self.files)
        self._is_go = has_go_table(file)
        self._lacks_dwo = False

    def _own_files(self) -> Iterator[ElfObject]:
        yield self._file
        yield from (elf for elf in self._found.files if not elf.name.endswith(_MINI_SUFFIX))
        try:
            mini = mini_debug_info(self._file)
        except ObjectError as error:
            self.troubles.append(str(error))
        else:
            yield from [mini] if mini is not None else []

    def _name(self, file: ElfObject) -> str:
        return self._path if file is self._file else file.name

    def sections(self) -> Iterator[FileSections]:
        for elf in self.files:
            yield FileSections(self._name(elf), tuple(name for name in _RELEVANT if elf.section(name) is not None))

    def names(self) -> CheckResult:
        for elf in self.files:
            try:
                if function_symbols(elf, ".symtab") is not None:
                    return CheckResult(True, f".symtab in {self._name(elf)}")
            except ObjectError as error:
                self.troubles.append(str(error))
        return CheckResult(True, f".gopclntab in {self._path}") if self._is_go else CheckResult(False, STRIPPED)

    def lines(self) -> CheckResult:
        file = self._object_files.dwarf
        if file is None and self._is_go:
            return CheckResult(True, "lines from Go's own table, no debug info")
        if file is None:
            return CheckResult(False, "no debug info: neither lines nor inlined functions")
        try:
            version, missing = self._version_and_missing(file)
        except ObjectError as error:
            return CheckResult(False, f"debug info cannot be read completely: {error}")
        if missing:
            return CheckResult(False, f"DWARF {version} in {self._name(file)}, but {missing}")
        return CheckResult(True, f"DWARF {version} in {self._name(file)}")

    def _version_and_missing(self, file: ElfObject) -> tuple[int, str]:
        """Return the DWARF version of the first unit, and the missing part of the debug info ("": none)."""
        relocated = open_elf(relocate_debug_info(file), file.name) if file.type == "ET_REL" else file
        dwz_file = find_supplementary_file(self._finder, file) if has_supplementary_file(file) else None
        units = DebugFile(
            DebugSections(relocated), DebugFile(DebugSections(dwz_file)) if dwz_file is not None else None
        ).units
        if not units:
            raise ObjectError(f"{file.name}: no unit of DWARF 2 to 5")
        version = units[0].encoding.version
        link = file.section(".gnu_debugaltlink")
        if link is not None and dwz_file is None:
            name = file.data(link).partition(b"\0")[0].decode(errors="surrogateescape")
            return version, f"the dwz file {name} is missing"
        folders_and_names = [(unit.comp_dir, unit.dwo_name) for unit in islice(units, MAX_UNITS)]
        missing_names = [
            name
            for folder, name in folders_and_names
            if name and not any(map(is_file, dwo_paths(self._finder, file, folder, name)))
        ]
        self._lacks_dwo = bool(missing_names) and not self._has_package()
        return (
            version,
            f"{plural(len(missing_names), '.dwo file')} not found, such as {missing_names[0]}"
            if self._lacks_dwo
            else "",
        )

    def _has_package(self) -> bool:
        try:
            return find_package_file(self._finder, self._object_files, self._recorded) is not None
        except ObjectError as error:
            self.troubles.append(str(error))
            return False

    def stacks(self) -> CheckResult:
        if self._is_go:
            return CheckResult(True, "Go keeps frame pointers")
        if self._file.type == "ET_REL":
            return CheckResult(True, "unknown: the file is not linked")
        covered = len(set().union(*map(self._functions_with_cfi, self.files)))
        functions = max((self._function_count(elf) for elf in self.files), default=0)
        if not covered:
            return CheckResult(False, "no call frame information: stacks through it need frame pointers")
        if 2 * covered < functions:
            coverage = f"only {covered:,} of {functions:,} functions have call frame information"
            return CheckResult(False, f"{coverage}: stacks through the others need frame pointers")
        return CheckResult(True, "call frame information: stacks can be unwound without frame pointers")

    def _functions_with_cfi(self, file: ElfObject) -> set[int]:
        try:
            indexes = [eh_frame_index(file)] if has_code(file) else []
            return {
                start
                for index in (*indexes, debug_frame_index(file))
                if index is not None
                for start in index.start.tolist()
            }
        except ObjectError as error:
            self.troubles.append(str(error))
            return set()

    def _function_count(self, file: ElfObject) -> int:
        try:
            rows = function_symbols(file, ".symtab")
        except ObjectError:
            return 0
        return 0 if rows is None else len(set(rows.start[rows.type == STT_FUNC].tolist()))

    def advice(self, lacking: str, can_unwind: bool) -> Iterator[Remedy]:
        if self._lacks_dwo:
            yield Remedy("keep the .dwo files where they were compiled, or pack them as PROGRAM.dwp",
                         f"dwp -e {self._path}")  # fmt: skip
        elif lacking:
            package = debug_package(self._finder, self._recorded)
            yield from for_debug_file(lacking, package, self._file.build_id.hex(), self._found)
            if not self._file.build_id and self._file.type != "ET_REL":
                yield Remedy("so that debug files can be found by build id, link with", "-Wl,--build-id")
            if not package:
                yield Remedy("if you built it, compile with debug info and do not strip it", "-g")
        if not can_unwind and has_code(self._file):
            yield Remedy("for whole stacks, compile with frame pointers", "-fno-omit-frame-pointer")
