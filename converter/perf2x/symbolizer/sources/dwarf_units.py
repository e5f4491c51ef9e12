"""Reads source locations from the debug info units that contain addresses.

Units may be in ``.dwo`` files or in a package of these (``.dwp``). The tool dwz moves what several debug files have in
common to another file.
"""

from functools import cached_property, partial

from msgspec import Struct, field

from perf2x.base.binaries.dwarf.address_lookup import AddressLookup
from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.dwarf.dwp_package import DwarfPackage, DwoFiles
from perf2x.base.binaries.dwarf.pgo_lines import PgoLines
from perf2x.base.binaries.dwarf.source_locations import SourceLocations
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.elf.relocate_module import relocate_debug_info
from perf2x.base.binaries.find.dwo_and_dwz_files import (
    dwo_paths,
    find_package_file,
    find_supplementary_file,
    has_supplementary_file,
)
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.columnar import U64, argsort, flatnonzero
from perf2x.base.files.sysroot import is_file
from perf2x.symbolizer.sources.cached_lines import cache_path_of, read_cached_lines, write_cached_lines
from perf2x.symbolizer.sources.elf_symbols import count_unreadable, counting_unreadable
from perf2x.symbolizer.sources.symbol_source import Context


def locations_from_units(context: Context, files: ObjectFiles, recorded_path: str, svma: U64) -> SourceLocations:
    """Return functions and lines at ``svma`` (n,), from the cache or else from debug info.

    New results are cached, unless damage was counted or a ``.dwo`` file was read. Unreadable units are counted and
    skipped. Raises ObjectError if the whole file is unreadable.
    """
    assert files.dwarf is not None
    debug_files = _DebugFiles(context, files, files.dwarf, recorded_path)
    cache_path, other_files = cache_path_of(files.dwarf, context.options), debug_files.other_files
    cached, order = read_cached_lines(cache_path, other_files), argsort(svma)
    address = svma[order]
    missing = flatnonzero(cached.rows(address) < 0)
    if len(missing):
        try:
            with context.diagnostics.counted_apart() as counts:
                read = debug_files.lines().find(address[missing])
        finally:
            context.diagnostics.absorb(counts.values())
        cached = cached.joined(address[missing], read)
        # if damage was counted, the next run must count it, too
        if not counts and not debug_files.has_read_dwo:
            write_cached_lines(cache_path, other_files, cached)
    return cached.locations.take(cached.rows(address)[argsort(order)])


def code_lines(context: Context, files: ObjectFiles, recorded_path: str) -> PgoLines:
    """Return the lookup of functions, lines and discriminators in an object's debug info."""
    assert files.dwarf is not None
    return PgoLines(_DebugFiles(context, files, files.dwarf, recorded_path).lines())


class _DebugFiles(Struct, dict=True):
    """The files with one object's debug info, opened when needed; the ``.dwp`` may be next to ``_recorded_path``."""

    _context: Context
    _files: ObjectFiles
    _debug_file: ElfObject
    _recorded_path: str
    _dwo_files: DwoFiles = field(default_factory=DwoFiles)
    has_read_dwo: bool = False
    """Results from ``.dwo`` files are not cached, because thousands of such files may have to be identified."""

    @property
    def other_files(self) -> str:
        """Identities of the dwz file and the package; "none" for a missing one."""
        files = self._supplementary, self._package_file
        return " ".join(file.identity if file is not None else "none" for file in files)

    def lines(self) -> AddressLookup:
        file = self._debug_file
        if file.type == "ET_REL":  # a kernel module: references between its debug sections are relocations
            file = open_elf(relocate_debug_info(file), file.name)
        dwz_file = DebugFile(DebugSections(self._supplementary)) if self._supplementary is not None else None
        debug_file = DebugFile(DebugSections(file), dwz_file)
        return AddressLookup(debug_file, self._split_unit, partial(count_unreadable, self._context.diagnostics))

    @cached_property
    def _supplementary(self) -> ElfObject | None:
        if not has_supplementary_file(self._debug_file):
            return None
        with counting_unreadable(self._context.diagnostics):
            dwz_file = find_supplementary_file(self._context.finder, self._debug_file)
            if dwz_file is None:
                advice = (
                    "part of the debug info is in a dwz file that was not found; some inlined functions have no name. "
                    "Install debug packages, or use --debug-dir or --debuginfod."
                )
                self._context.diagnostics.add("debug_info_in_dwz", advice, where=self._debug_file.name)
            return dwz_file
        return None

    def _split_unit(self, skeleton: Unit) -> Unit | None:
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
        with counting_unreadable(self._context.diagnostics):
            return find_package_file(self._context.finder, self._files, self._recorded_path)
        return None

    @cached_property
    def _package(self) -> DwarfPackage | None:
        with counting_unreadable(self._context.diagnostics):
            return DwarfPackage(self._package_file) if self._package_file is not None else None
        return None

    def _from_dwo_file(self, skeleton: Unit) -> Unit | None:
        for path in dwo_paths(self._context.finder, self._debug_file, skeleton.comp_dir, skeleton.dwo_name):
            if is_file(path):
                with counting_unreadable(self._context.diagnostics):
                    unit = self._dwo_files.unit(path, skeleton.dwo_id)
                    if unit is not None:
                        self.has_read_dwo = True
                        return unit
        return None
