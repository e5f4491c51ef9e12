"""Extents and machine code of the functions in a profile's objects.

- Most code is in ELF files; addresses are those of the file (svma).
- JIT-compiled code is in a jitdump. Addresses are offsets in that file, because several functions may have been loaded
  at one address.
- Kernel code comes from a copy of the kernel's memory (kcore), because a kernel patches its own code at boot; else from
  its ELF file (vmlinux). Addresses are as recorded. Source of truth: dso__load_kernel_sym in tools/perf/util/symbol.c.
"""

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from elftools.elf.enums import ENUM_E_MACHINE

from perf2x.base.binaries.elf.elf_file import MAX_CODE_SIZE, ElfObject, open_elf, read_code
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.binaries.find.running_kernel import running_kernel_build_id
from perf2x.base.binaries.go.find_pclntab import go_functions, has_go_table
from perf2x.base.columnar import I64, U64, ListArray, argsort, as_uint64, flatnonzero, minus_ones, searchsorted
from perf2x.base.files.sysroot import KCORE, host_path, is_file
from perf2x.base.files.temporary import shown_name
from perf2x.errors import ObjectError
from perf2x.model.profile import FunctionRow, Profile
from perf2x.symbolizer.mapped_objects import MappedObject, addresses_of, dso_of, mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver, find_files
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.sources.jitdump_mappings import JitdumpFiles
from perf2x.symbolizer.sources.jitdump_source import CodeByOffset, JitdumpSource
from perf2x.symbolizer.sources.kernel_source import KernelSource
from perf2x.symbolizer.sources.module_source import VmlinuxSource, kernel_slide
from perf2x.symbolizer.sources.parse_jitdump import JitDump, machine_of
from perf2x.symbolizer.sources.perf_map_source import PerfMapSource
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind, SymbolSource

MISSING = "no copy of the recorded kernel's code: record with perf record --kcore, or pass its ELF file with --vmlinux"


class _KernelCode:
    """Code of the kernel or of one of its modules."""

    def __init__(self, context: Context, dso: Dso) -> None:
        self._context, self._kallsyms, self._vmlinux = context, KernelSource(context), VmlinuxSource(context)
        self._has_vmlinux = self._vmlinux.covers(dso)
        self._is_module = dso.kind is not DsoKind.KERNEL

    def extents(self, address: U64) -> tuple[U64, U64]:
        if self._vmlinux_and_slide is None or self._is_module:
            return self._kallsyms.extents(address)
        file, slide_bytes = self._vmlinux_and_slide
        slide = np.uint64(slide_bytes)
        start, end = ElfNames(ObjectFiles([file]), self._context.diagnostics).extents(address - slide)
        return np.where(end > 0, start + slide, start), np.where(end > 0, end + slide, end)

    def read(self, start: int, end: int) -> tuple[str, bytes]:
        for path in filter(is_file, self._kcore_paths()):
            with contextlib.suppress(ObjectError):
                kcore = open_elf(path)
                return kcore.machine, read_code(kcore, start, end - start)
        if self._vmlinux_and_slide is None or self._is_module:
            raise ObjectError(MISSING)
        file, slide = self._vmlinux_and_slide
        return file.machine, read_code(file, start - slide, end - start)

    @cached_property
    def _vmlinux_and_slide(self) -> tuple[ElfObject, int] | None:
        """The kernel's ELF file, and how many bytes above its linked address the kernel was loaded (KASLR)."""
        files = self._vmlinux.files if self._has_vmlinux else None
        if files is None or files.symbols is None:
            return None
        return files.symbols, kernel_slide(files.symbols, self._context.kernel_reference)

    def _kcore_paths(self) -> Iterator[Path]:
        context = self._context
        if context.session.kcore_dir:
            yield Path(context.session.kcore_dir) / "kcore"
        is_same_kernel = context.kernel_build_id and running_kernel_build_id() == context.kernel_build_id
        if is_same_kernel and context.options.symfs is None:
            yield host_path(KCORE)


_NO_OFFSET = np.uint64(2**64 - 1)  # an unknown file offset


class JitdumpCode:
    """The functions in one jitdump; their addresses are file offsets."""

    def __init__(self, context: Context, dso: Dso) -> None:
        self._dso, self._arch = dso, context.session.arch
        self._files = JitdumpFiles.of(context)

    def extents(self, offset: U64) -> tuple[U64, U64]:
        """Return (n,) start and end of the function at each file offset; both 0 if there is none."""
        row = self._pieces.find(offset)
        # the appended zeros are for row −1, no function
        start, size = np.append(self._pieces.start, np.uint64(0)), np.append(self._pieces.size, np.uint64(0))
        return start[row], start[row] + size[row]

    def read(self, start: int, end: int) -> tuple[str, bytes]:
        """Return machine and bytes between two file offsets. Raises ObjectError if they cannot be read."""
        if self._dump is None:
            raise ObjectError(f"{self._dso.name}: the dump was not found")
        if end - start > MAX_CODE_SIZE:
            raise ObjectError(f"its code is larger than {MAX_CODE_SIZE >> 20} MiB")
        number = machine_of(self._dump, self._arch)
        machine = next((name for name, value in ENUM_E_MACHINE.items() if value == number), f"machine {number}")
        try:
            with Path(self._dump.name).open("rb") as file:
                file.seek(start)
                data = file.read(end - start)
        except OSError as error:
            raise ObjectError(f"{shown_name(self._dump.name)}: {error.strerror}") from None
        if len(data) < end - start:
            raise ObjectError(f"{shown_name(self._dump.name)}: it ends within the code")
        return machine, data

    def displacement(self, start: int) -> int:
        """Return a function's load address minus its file offset ``start``, modulo 2**64; 0 for an unknown function.

        Of several load addresses of a moved function, the first one counts.
        """
        row = int(self._pieces.find(as_uint64([start]))[0])
        if row < 0:
            return 0
        code = self._pieces.codes[row]
        return (code.load_address - code.offset) % 2**64

    def file_offsets(self, address: U64) -> U64:
        """Return (n,) the file offset of the code loaded at each address; `_NO_OFFSET` for none or several functions.

        If one more function begins than ends at or below an address, exactly one function contains it. The distance
        (file offset minus load address) of that function is the sum of the distances of all begun functions minus the
        sum of those of all ended ones.
        """
        codes = self._pieces.codes
        load_address = as_uint64([code.load_address for code in codes])
        address_to_offset = self._pieces.start - load_address  # modulo 2**64
        begun, sum_of_begun = _count_and_sum_up_to(address, load_address, address_to_offset)
        ended, sum_of_ended = _count_and_sum_up_to(address, load_address + self._pieces.size, address_to_offset)
        return np.where(begun - ended == 1, address + sum_of_begun - sum_of_ended, _NO_OFFSET)

    @cached_property
    def _dump(self) -> JitDump | None:
        return self._files.open(self._dso.name, self._dso.pid)

    @cached_property
    def _pieces(self) -> CodeByOffset:
        return CodeByOffset(self._dump or JitDump(0, False, ()))


def _count_and_sum_up_to(address: U64, bounds: U64, summands: U64) -> tuple[I64, U64]:
    """Count the ``bounds`` (m,) at or below each address (n,), and add up their ``summands`` (m,), modulo 2**64."""
    order = argsort(bounds)
    count = searchsorted(bounds[order], address, "right")
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(summands[order], dtype=np.uint64)])
    return count, sums[count]


_IN_MEMORY = "its code was only in memory, not in a file"
_ZEROED = "it has zeros in place of code, like the objects in a bundle of symbols alone"
_IN_FILES = (DsoKind.FILE, DsoKind.VDSO)


class ObjectCode:
    """The code of one object of a profile.

    Its *addresses* are those of the ELF file, of the recording (kernel), or file offsets (jitdumps). *Displayed*
    addresses are the same, but load addresses for jitdumps.
    """

    def __init__(self, profile: Profile, context: Context, resolver: ObjectResolver, mapped: MappedObject) -> None:
        self._context, self._resolver, self.mapped = context, resolver, mapped
        self._found = find_files(context, mapped)
        self._dso = dso_of(profile, mapped, self._found)
        # ``addresses_of`` returns two for each location, that of its lookup address first
        self.address: U64 = addresses_of(profile, mapped, self._found)[::2]
        """(locations,) the lookup address of each of ``mapped.locations``."""
        self._kernel = None if mapped.key.kind in (*_IN_FILES, DsoKind.ANONYMOUS) else _KernelCode(context, self._dso)
        self._dump = JitdumpCode(context, self._dso) if JitdumpSource(context).covers(self._dso) else None

    def extents(self, address: U64) -> tuple[U64, U64]:
        """Return (n,) start and end of the function at each address; both 0 if unknown."""
        other_code = self._kernel or self._dump
        if other_code is not None:
            return other_code.extents(address)
        start, end = ElfNames(self._found, self._context.diagnostics).extents(address)
        unknown_rows = flatnonzero(end == 0)
        start[unknown_rows], end[unknown_rows] = _go_extents(self._found, address[unknown_rows])
        return start, end

    def read(self, start: int, end: int) -> tuple[str, bytes]:
        """Return machine and bytes of the code. Raises ObjectError with the reason if it cannot be read."""
        other_code = self._kernel or self._dump
        if other_code is not None:
            return other_code.read(start, end)
        code = self._code()
        data = read_code(code, start, end - start)
        if data and not any(data):
            raise ObjectError(f"{code.name}: {_ZEROED}")
        return code.machine, data

    def displacement(self, start: int) -> int:
        """Return the displayed address of the function at ``start`` minus ``start``, modulo 2**64."""
        return self._dump.displacement(start) if self._dump is not None else 0

    def addresses_of_displayed(self, displayed: U64) -> U64:
        """Convert displayed addresses (n,) to addresses in the object (n,)."""
        return self._dump.file_offsets(displayed) if self._dump is not None else displayed

    def functions_at(self, address: U64) -> tuple[ListArray, Sequence[FunctionRow]]:
        """Return the frames of each address (sorted and unique), and the functions that they refer to.

        The frames are a list array (n,) of pairs, innermost first: row of the functions, line number.
        """
        return self._resolver.functions_at(self._dso, address)

    def _code(self) -> ElfObject:
        if self.mapped.key.kind is DsoKind.ANONYMOUS:
            raise ObjectError(_IN_MEMORY)
        if self._found.code is not None:
            return self._found.code
        name = self.mapped.key.name
        if self._found.files:
            raise ObjectError(f"{name}: only its debug file was found, which has no instructions")
        raise ObjectError(f"{name}: {self._found.reason}")


def _go_extents(found: ObjectFiles, address: U64) -> tuple[U64, U64]:
    """Go programs without symbols have Go's function table; both ends are 0 if unknown."""
    start, end = np.zeros(len(address), np.uint64), np.zeros(len(address), np.uint64)
    table = go_functions(found.code) if found.code is not None and has_go_table(found.code) else None
    rows: I64 = table.find(address) if table is not None else minus_ones(len(address))
    for index, row in enumerate(rows.tolist()):
        function = table.function(row) if table is not None and row >= 0 else None
        next_function = table.function(row + 1) if table is not None and 0 <= row < len(table) - 1 else None
        if function is not None and next_function is not None:
            start[index], end[index] = function.entry, next_function.entry
    return start, end


def symbol_starts(profile: Profile, context: Context, symbol_sources: Sequence[type[SymbolSource]]) -> U64:
    """Return (locations,) the recorded address at which each location's symbol begins; 0 if unknown."""
    resolver = ObjectResolver(profile, context, [source(context) for source in symbol_sources])
    symbol_start = np.zeros(len(profile.locations), np.uint64)
    has_name = np.diff(profile.locations.line_offsets) > 0
    for mapped in mapped_objects(profile, context.session, has_name):
        lookup = profile.locations.lookup[mapped.locations]
        if mapped.key.kind is DsoKind.ANONYMOUS:
            symbol_start[mapped.locations] = _perf_map_starts(context, mapped, lookup)
            continue
        code = ObjectCode(profile, context, resolver, mapped)
        start, end = code.extents(code.address)
        # a lookup address, one byte before a return address, may be in the padding before the symbol of the return
        # address
        bytes_back = profile.locations.address[mapped.locations] - lookup
        rows = flatnonzero((end == start) & (bytes_back > 0))
        start[rows], end[rows] = code.extents(code.address[rows] + bytes_back[rows])
        symbol_start[mapped.locations] = np.where(end > start, lookup - (code.address - start), np.uint64(0))
    return symbol_start


def _perf_map_starts(context: Context, mapped: MappedObject, address: U64) -> U64:
    """Unknown starts are 0; ``address`` is in any order."""
    starts = np.zeros(len(address), np.uint64)
    _, table = PerfMapSource(context).file(mapped.pid, address)
    if table is not None:
        order = argsort(address)
        row = table.find(address[order])
        is_found = row >= 0
        starts[order[is_found]] = table.start[row[is_found]]
    return starts
