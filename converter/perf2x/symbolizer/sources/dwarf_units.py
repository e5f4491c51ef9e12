"""Source locations that symcaches lack, read from DWARF units: ``.dwo`` files, DWARF packages and dwz files.

symbolic reads one file and takes it for the whole. This module reads the units that contain the addresses, and what
they refer to in other files. An object without such files is read here only if symbolic is not installed.
"""

from functools import cached_property

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import U64, argsort, flatnonzero
from perf2x.base.columnar.ragged import row_numbers
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import ObjectError
from perf2x.base.files.sysroot import is_file
from perf2x.binaries.dwarf.code_lines import CodeLines
from perf2x.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.binaries.dwarf.debug_sections import DebugSections
from perf2x.binaries.dwarf.dwp_package import DwarfPackage, DwoFiles
from perf2x.binaries.dwarf.line_lookup import UnitLines
from perf2x.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.binaries.elf.relocate_module import relocate_debug_info
from perf2x.binaries.find.object_finder import ObjectFiles
from perf2x.binaries.find.split_debug import has_supplementary, package_file, split_paths, supplementary_file
from perf2x.model.diagnostics import Severity
from perf2x.symbolizer.source_locations import (
    DebugFunction,
    SourceLocations,
    is_nameless_call_operator,
    source_locations_of,
)
from perf2x.symbolizer.sources.elf_symbols import count_broken
from perf2x.symbolizer.sources.symbol_source import Context


def locations_from_units(context: Context, found: ObjectFiles, recorded: str, svma: U64) -> SourceLocations:
    """Functions and lines at each address, from the file with debug info in ``found`` and the files it refers to.

    Units that cannot be read are counted and left out; ObjectError if the file as a whole cannot be read.
    """
    assert found.dwarf is not None
    order = argsort(svma)
    frames = _UnitReader(context, found, found.dwarf, recorded).lines().find(svma[order])
    chains = [
        [(DebugFunction(one.name, one.path, one.decl_line, one.inside), one.line) for one in chain] for chain in frames
    ]
    return source_locations_of(chains).take(argsort(order))


def code_lines(context: Context, found: ObjectFiles, recorded: str) -> CodeLines:
    """Functions, lines and discriminators, from the file with debug info in ``found`` and the files it refers to."""
    assert found.dwarf is not None
    return CodeLines(_UnitReader(context, found, found.dwarf, recorded).lines())


class _UnitReader:
    """Reads one object and the files that belong to it, each opened when first needed."""

    def __init__(self, context: Context, found: ObjectFiles, file: ElfObject, recorded: str) -> None:
        self._context, self._found, self._file, self._recorded = context, found, file, recorded
        self._split_files = DwoFiles()

    def lines(self) -> UnitLines:
        file = self._file
        if file.type == "ET_REL":
            file = open_elf(relocate_debug_info(file), file.name)
        debug_file = DebugFile(DebugSections(file), self._supplementary())
        return UnitLines(debug_file, self._split, self._count_broken, is_nameless_call_operator)

    def _count_broken(self, error: ObjectError) -> None:
        count_broken(self._context.diagnostics, error)

    def _supplementary(self) -> DebugFile | None:
        if not has_supplementary(self._file):
            return None
        try:
            other = supplementary_file(self._context.finder, self._file)
        except ObjectError as error:
            self._count_broken(error)
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
        """The unit that a skeleton stands for, from the package or else from its own file."""
        unit = self._from_package(skeleton) or self._from_dwo_file(skeleton)
        if unit is None:
            advice = (
                "debug info lies in .dwo files (-gsplit-dwarf) that were not found; inlined functions are missing. "
                "Keep them where they were compiled, under --symfs or --debug-dir, or make a .dwp beside the program."
            )
            self._context.diagnostics.add("debug_info_in_dwo", Severity.INFO, advice, where=skeleton.dwo_name)
        return unit

    def _from_package(self, skeleton: Unit) -> Unit | None:
        return _link_skeleton(skeleton, self._package.unit(skeleton.dwo_id)) if self._package is not None else None

    @cached_property
    def _package(self) -> DwarfPackage | None:
        try:
            file = package_file(self._context.finder, self._found, self._recorded)
            return DwarfPackage(file) if file is not None else None
        except ObjectError as error:
            self._count_broken(error)
            return None

    def _from_dwo_file(self, skeleton: Unit) -> Unit | None:
        for path in split_paths(self._context.finder, self._file, skeleton.comp_dir, skeleton.dwo_name):
            if is_file(path):
                try:
                    unit = _link_skeleton(skeleton, self._split_files.unit(path, skeleton.dwo_id))
                except ObjectError as error:
                    self._count_broken(error)
                    continue
                if unit is not None:
                    return unit
        return None


def _link_skeleton(skeleton: Unit, unit: Unit | None) -> Unit | None:
    """Attach the skeleton to the unit with its id; returns the unit."""
    if unit is not None:
        unit.skeleton = skeleton
    return unit


def with_scopes(
    context: Context, found: ObjectFiles, recorded: str, svma: U64, locations: SourceLocations
) -> SourceLocations:
    """Put namespaces and classes before plain names; one address is read for each line of a function that has one."""
    bare = np.array([function.is_bare for function in locations.functions], np.bool_)
    rows = flatnonzero(bare[locations.function])
    first, line_of_row = group_rows([locations.function[rows], locations.line[rows]])
    asked = rows[first]
    told = locations_from_units(context, found, recorded, svma[row_numbers(np.diff(locations.offsets))[asked]])
    number: dict[DebugFunction, int] = {}
    renamed = np.zeros(len(asked), np.int64)
    for row, at in enumerate(asked.tolist()):
        function, line = locations.functions[locations.function[at]], locations.line[at]
        alike = [pair for pair in told.chain(row) if pair[0].symbol.endswith(function.symbol)]
        better = min(alike, key=lambda pair: pair[1] != line, default=(function, 0))[0]
        function = replace(function, symbol=better.symbol, inside=better.inside, is_bare=False)
        renamed[row] = len(locations.functions) + number.setdefault(function, len(number))
    which = locations.function.copy()
    which[rows] = renamed[line_of_row]
    return replace(locations, function=which, functions=[*locations.functions, *number])
