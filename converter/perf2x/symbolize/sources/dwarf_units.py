"""Lines that symcaches do not have, read from debug info itself: of ``.dwo`` files, DWARF packages and dwz files.

symbolic reads one file and takes it for the whole. Here the units that addresses lie in are read, and what they refer
to in other files; an object without any of that is never looked at, unless symbolic is not installed.
"""

from functools import cached_property

import numpy as np

from perf2x.binary.dwarf.lookup import UnitLines
from perf2x.binary.dwarf.package import DwarfPackage
from perf2x.binary.dwarf.sections import DebugSections
from perf2x.binary.dwarf.split import DwoFiles
from perf2x.binary.dwarf.units import DebugFile, Unit
from perf2x.binary.elf.file import ElfObject, open_elf
from perf2x.binary.elf.relocate import relocate_debug_info
from perf2x.columnar.arrays import U64
from perf2x.debugfiles.object_files import ObjectFiles
from perf2x.debugfiles.split_debug import has_supplementary, package_file, split_paths, supplementary_file
from perf2x.files.rooted_paths import is_file
from perf2x.symbolize.source_locations import DebugFunction, SourceLocations, source_locations_of
from perf2x.symbolize.sources.contract import Context
from perf2x.symbolize.sources.elf_symbols import count_broken
from perf2x.tables.diagnostics import Severity
from perf2x.tables.errors import ObjectError


def locations_from_units(context: Context, found: ObjectFiles, recorded: str, svma: U64) -> SourceLocations:
    """The functions that each address belongs to, from the file with debug info in ``found`` and what it refers to.

    Units that cannot be read are counted and left out; ObjectError when the whole cannot be read.
    """
    assert found.dwarf is not None
    order = np.argsort(svma, kind="stable")
    frames = _UnitReader(context, found, found.dwarf, recorded).lines().find(svma[order])
    chains = [[(DebugFunction(one.name, one.path, one.decl_line), one.line) for one in chain] for chain in frames]
    return source_locations_of(chains).take(np.argsort(order, kind="stable"))


class _UnitReader:
    """One object and the files that belong to it, each opened when first needed."""

    def __init__(self, context: Context, found: ObjectFiles, file: ElfObject, recorded: str) -> None:
        self._context, self._found, self._file, self._recorded = context, found, file, recorded
        self._split_files = DwoFiles()

    def lines(self) -> UnitLines:
        file = self._file
        if file.type == "ET_REL":
            file = open_elf(relocate_debug_info(file), file.name)
        return UnitLines(DebugFile(DebugSections(file), self._supplementary()), self._split, self._broken)

    def _broken(self, error: ObjectError) -> None:
        count_broken(self._context.diagnostics, error)

    def _supplementary(self) -> DebugFile | None:
        if not has_supplementary(self._file):
            return None
        try:
            other = supplementary_file(self._context.finder, self._file)
        except ObjectError as error:
            self._broken(error)
            return None
        if other is None:
            advice = (
                "a part of the debug info lies in a dwz file that was not found; some inlined functions have no name. "
                "Install debug packages, or give --debug-dir, --debuginfod."
            )
            self._context.diagnostics.add("debug_info_in_dwz", Severity.INFO, advice, where=self._file.name)
            return None
        return DebugFile(DebugSections(other))

    def _split(self, skeleton: Unit) -> Unit | None:
        """The unit that a skeleton stands for: from the package, else from its own file."""
        unit = self._packed(skeleton) or self._alone(skeleton)
        if unit is None:
            advice = (
                "debug info lies in .dwo files (-gsplit-dwarf) that were not found; inlined functions are missing. "
                "Keep them where they were compiled, under --symfs or --debug-dir, or make a .dwp beside the program."
            )
            self._context.diagnostics.add("debug_info_in_dwo", Severity.INFO, advice, where=skeleton.dwo_name)
        return unit

    def _packed(self, skeleton: Unit) -> Unit | None:
        return _standing_for(skeleton, self._package.unit(skeleton.dwo_id)) if self._package is not None else None

    @cached_property
    def _package(self) -> DwarfPackage | None:
        try:
            file = package_file(self._context.finder, self._found, self._recorded)
            return DwarfPackage(file) if file is not None else None
        except ObjectError as error:
            self._broken(error)
            return None

    def _alone(self, skeleton: Unit) -> Unit | None:
        for path in split_paths(self._context.finder, self._file, skeleton.comp_dir, skeleton.dwo_name):
            if is_file(path):
                try:
                    unit = _standing_for(skeleton, self._split_files.unit(path, skeleton.dwo_id))
                except ObjectError as error:
                    self._broken(error)
                    continue
                if unit is not None:
                    return unit
        return None


def _standing_for(skeleton: Unit, unit: Unit | None) -> Unit | None:
    """The unit with the skeleton's id, which knows the skeleton from here on."""
    if unit is not None:
        unit.skeleton = skeleton
    return unit
