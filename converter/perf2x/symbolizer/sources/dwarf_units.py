"""Reads source locations from the debug info units that contain addresses.

Units are in the debug file itself, in ``.dwo`` files, in packages of these (``.dwp``) and in dwz files.
"""

from functools import cached_property, partial

from msgspec import Struct, field

from perf2x.base.binaries.dwarf.address_lookup import UnitLines
from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.dwarf.dwp_package import DwarfPackage, DwoFiles
from perf2x.base.binaries.dwarf.pgo_lines import CodeLines
from perf2x.base.binaries.dwarf.source_locations import SourceLocations
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.elf.relocate_module import relocate_debug_info
from perf2x.base.binaries.find.dwo_and_dwz_files import has_supplementary, package_file, split_paths, supplementary_file
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.columnar import U64, argsort, flatnonzero
from perf2x.base.files.sysroot import is_file
from perf2x.symbolizer.sources.elf_symbols import count_broken, counting_broken
from perf2x.symbolizer.sources.remembered_lines import place_of, recall, remember
from perf2x.symbolizer.sources.symbol_source import Context


def locations_from_units(context: Context, found: ObjectFiles, recorded: str, svma: U64) -> SourceLocations:
    """Return functions and lines at each address, from the debug file in ``found`` and the files it refers to.

    Addresses that were looked up before are not read again. Unreadable units are counted and skipped. Raises
    ObjectError if the whole file is unreadable.
    """
    assert found.dwarf is not None
    reader = _UnitReader(context, found, found.dwarf, recorded)
    place, beside = place_of(found.dwarf, context.options), reader.beside
    known, order = recall(place, beside), argsort(svma)
    address = svma[order]
    missing = flatnonzero(known.rows(address) < 0)
    if len(missing):
        try:
            with context.diagnostics.apart() as counts:
                read = reader.lines().find(address[missing])
        finally:
            context.diagnostics.absorb(counts.values())
        known = known.joined(address[missing], read)
        # if diagnostics were counted, the next run must read and count again
        if not counts and not reader.has_read_dwo:
            remember(place, beside, known)
    return known.locations.take(known.rows(address)[argsort(order)])


def code_lines(context: Context, found: ObjectFiles, recorded: str) -> CodeLines:
    """Return functions, lines and discriminators, from the debug file in ``found`` and the files it refers to."""
    assert found.dwarf is not None
    return CodeLines(_UnitReader(context, found, found.dwarf, recorded).lines())


class _UnitReader(Struct, dict=True):
    """Reads one object and the files that belong to it, each opened when first needed."""

    _context: Context
    _found: ObjectFiles
    _file: ElfObject
    _recorded: str
    _split_files: DwoFiles = field(default_factory=DwoFiles)
    has_read_dwo: bool = False
    """Whether a result depends on ``.dwo`` files. It is then not cached: there may be thousands of them to identify."""

    @property
    def beside(self) -> str:
        """Identities of the other files that results depend on, except ``.dwo`` files."""
        files = self._supplementary, self._package_file
        return " ".join(file.identity if file is not None else "none" for file in files)

    def lines(self) -> UnitLines:
        file = self._file
        if file.type == "ET_REL":
            file = open_elf(relocate_debug_info(file), file.name)
        other = DebugFile(DebugSections(self._supplementary)) if self._supplementary is not None else None
        debug_file = DebugFile(DebugSections(file), other)
        return UnitLines(debug_file, self._split, partial(count_broken, self._context.diagnostics))

    @cached_property
    def _supplementary(self) -> ElfObject | None:
        if not has_supplementary(self._file):
            return None
        with counting_broken(self._context.diagnostics):
            other = supplementary_file(self._context.finder, self._file)
            if other is None:
                advice = (
                    "part of the debug info is in a dwz file that was not found; some inlined functions have no name. "
                    "Install debug packages, or use --debug-dir or --debuginfod."
                )
                self._context.diagnostics.add("debug_info_in_dwz", advice, where=self._file.name)
            return other
        return None

    def _split(self, skeleton: Unit) -> Unit | None:
        """Return the unit that a skeleton stands for, from the package or from the ``.dwo`` file that it names."""
        unit = self._package.unit(skeleton.dwo_id) if self._package is not None else None
        unit = unit or self._from_dwo_file(skeleton)
        if unit is not None:
            unit.skeleton = skeleton
        else:
            advice = (
                "debug info is in .dwo files (-gsplit-dwarf) that were not found; inlined functions are missing. "
                "Keep them where they were compiled, under --symfs or --debug-dir, or create a .dwp next to it."
            )
            self._context.diagnostics.add("debug_info_in_dwo", advice, where=skeleton.dwo_name)
        return unit

    @cached_property
    def _package_file(self) -> ElfObject | None:
        with counting_broken(self._context.diagnostics):
            return package_file(self._context.finder, self._found, self._recorded)
        return None

    @cached_property
    def _package(self) -> DwarfPackage | None:
        with counting_broken(self._context.diagnostics):
            return DwarfPackage(self._package_file) if self._package_file is not None else None
        return None

    def _from_dwo_file(self, skeleton: Unit) -> Unit | None:
        for path in split_paths(self._context.finder, self._file, skeleton.comp_dir, skeleton.dwo_name):
            if is_file(path):
                with counting_broken(self._context.diagnostics):
                    unit = self._split_files.unit(path, skeleton.dwo_id)
                    if unit is not None:
                        self.has_read_dwo = True
                        return unit
        return None
