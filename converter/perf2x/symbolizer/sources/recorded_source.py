"""Names that the recording itself contains: simpleperf looks symbols up on the phone, where the files are.

A recording has only the symbols of sampled functions, so this source comes last. Source of truth: Dso::IpToVaddrInFile
and ThreadTree::FindSymbol of simpleperf.
"""

import numpy as np

from perf2x.base.columnar import U64, minus_ones, unique_known
from perf2x.model.recording import KERNEL, FileKind, RecordedFile
from perf2x.symbolizer.sources.symbol_source import (
    BuiltInSource,
    Dso,
    DsoKind,
    Symbols,
    symbols_from_names,
)


class RecordedSource(BuiltInSource):
    """Names addresses by the symbols that simpleperf recorded for their file."""

    order = 50

    def covers(self, dso: Dso) -> bool:
        """Return True for objects whose symbols were recorded."""
        return self._file(dso) is not None

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions; ``DsoKind`` says what ``address`` (n,) counts from."""
        file = self._file(dso)
        symbol = minus_ones(len(address)) if file is None else file.find(_as_symbol_addresses(file, dso, address))
        distinct, name_index = unique_known(symbol)
        names = [file.names[row] for row in distinct.tolist()] if file is not None else []
        return symbols_from_names(names, name_index, "not among the recorded symbols")

    def _file(self, dso: Dso) -> RecordedFile | None:
        """Return an object's symbols; those of the kernel may include symbols of modules that are not listed."""
        files = self._context.session.recorded_files
        if dso.kind is DsoKind.ANONYMOUS and not dso.name:
            return files.get(f"perf-{dso.pid}.map")
        return files.get(dso.name) or (files.get(KERNEL) if dso.kind is DsoKind.MODULE else None)


def _as_symbol_addresses(file: RecordedFile, dso: Dso, address: U64) -> U64:
    """Convert a Dso's addresses (n,) to those of the file's recorded symbols, modulo 2⁶⁴.

    - DEX file: recorded address → file offset.
    - Kernel module: recorded address → address in the ``.ko`` file, whose lowest code address is ``min_vaddr``.
    - ELF file that is not on this machine: file offset → svma, as if the file had one segment.
    - Anything else: unchanged.
    """
    start, code_offset = dso.start, file.offset if file.offset is not None else dso.offset
    if dso.kind is DsoKind.ANONYMOUS:
        return address if file.kind is not FileKind.DEX else address + np.uint64((dso.offset - start) % 2**64)
    if file.kind is FileKind.MODULE:
        return address + np.uint64((file.min_vaddr - start - code_offset) % 2**64)
    if file.kind is FileKind.ELF and not dso.found.files:
        return address + np.uint64((file.min_vaddr - code_offset) % 2**64)
    return address
