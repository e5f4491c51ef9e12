"""Code of a profile's objects: where functions begin and end, their bytes, and what stands at an address."""

from collections.abc import Sequence

import numpy as np

from perf2x.analysis.annotate.dumped_code import DumpedCode
from perf2x.analysis.annotate.kernel_code import KernelCode
from perf2x.base.columnar.arrays import I64, U64
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.code_bytes import code_at
from perf2x.binaries.elf.elf_file import ElfObject
from perf2x.binaries.find.object_files import ObjectFiles
from perf2x.binaries.go.go_table import go_functions, has_go_table
from perf2x.model.profile.profile import Profile
from perf2x.symbolizer.mapped_objects import MappedObject, addresses_of, dso_of
from perf2x.symbolizer.object_resolver import ObjectResolver, find_files
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.sources.jitdump_source import JitdumpSource
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind
from perf2x.symbolizer.styled_names import FunctionRow

IN_MEMORY = "its code was in memory only, and is in no file"
LEFT_OUT = "it has zeros in place of code, as objects in a bundle of symbols alone have"
_IN_FILES = (DsoKind.FILE, DsoKind.VDSO)


class ObjectCode:
    """One object of a profile.

    Addresses are as stated in the file, those of the kernel as recorded, those of jitdumps file offsets.
    """

    def __init__(self, profile: Profile, context: Context, resolver: ObjectResolver, mapped: MappedObject) -> None:
        self._context, self._resolver, self.mapped = context, resolver, mapped
        self._found = find_files(context, mapped)
        self._dso = dso_of(profile, mapped, self._found)
        self.address: U64 = addresses_of(profile, mapped, self._found)[::2]
        """(locations,) of ``mapped.locations``."""
        self._kernel = None if mapped.key.kind in (*_IN_FILES, DsoKind.ANONYMOUS) else KernelCode(context, self._dso)
        self._dump = DumpedCode(context, self._dso) if JitdumpSource(context).covers(self._dso) else None

    @property
    def build_id(self) -> bytes:
        """Build id of the object, b"" if unknown."""
        return self._dso.build_id or next((file.build_id for file in self._found.files), b"")

    def extents(self, address: U64) -> tuple[U64, U64]:
        """(n,) first byte, and one past the last, of the function at each address; both 0 where unknown."""
        apart = self._kernel or self._dump
        if apart is not None:
            return apart.extents(address)
        if not self._found.files:
            return np.zeros(len(address), np.uint64), np.zeros(len(address), np.uint64)
        start, end = ElfNames(self._found, self._context.diagnostics).extents(address)
        unknown = np.flatnonzero(end == 0)
        start[unknown], end[unknown] = _go_extents(self._found, address[unknown])
        return start, end

    def read(self, start: int, end: int) -> tuple[str, bytes]:
        """Machine and bytes of the code at an address; ObjectError with the reason if it cannot be read."""
        apart = self._kernel or self._dump
        if apart is not None:
            return apart.read(start, end)
        code = self._code()
        data = code_at(code, start, end - start)
        if data and not any(data):
            raise ObjectError(f"{code.name}: {LEFT_OUT}")
        return code.machine, data

    def displacement(self, start: int) -> int:
        """Distance from the address of a function to the one that is shown, modulo 2**64."""
        return self._dump.displacement(start) if self._dump is not None else 0

    def addresses_of_shown(self, shown: U64) -> U64:
        """(n,) address of what other code refers to as ``shown``."""
        return self._dump.offsets_of(shown) if self._dump is not None else shown

    def functions_at(self, address: U64) -> tuple[Ragged, Sequence[FunctionRow]]:
        """Rows of (function, line) at each address (n,), sorted and unique, innermost first, and the functions."""
        return self._resolver.functions_at(self._dso, address)

    def _code(self) -> ElfObject:
        if self.mapped.key.kind is DsoKind.ANONYMOUS:
            raise ObjectError(IN_MEMORY)
        if self._found.code is not None:
            return self._found.code
        name = self.mapped.key.name
        if self._found.files:
            raise ObjectError(f"{name}: only its debug file was found, which has no instructions")
        raise ObjectError(f"{name}: {self._found.reason}")


def _go_extents(found: ObjectFiles, address: U64) -> tuple[U64, U64]:
    """(n,) extents of functions in Go's own table, of programs without symbols."""
    start, end = np.zeros(len(address), np.uint64), np.zeros(len(address), np.uint64)
    table = go_functions(found.code) if found.code is not None and has_go_table(found.code) else None
    rows: I64 = table.find(address) if table is not None else np.full(len(address), -1, np.int64)
    for place, row in enumerate(rows.tolist()):
        here = table.function(row) if table is not None and row >= 0 else None
        following = table.function(row + 1) if table is not None and 0 <= row < len(table) - 1 else None
        if here is not None and following is not None:
            start[place], end[place] = here.entry, following.entry
    return start, end
