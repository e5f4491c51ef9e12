"""Names in the recording itself: simpleperf looks them up on the phone, where the files are.

Source of truth: Dso::IpToVaddrInFile and ThreadTree::FindSymbol of simpleperf. This source comes last, because the
user's files may have more than the sampled functions.
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
    """Functions by the addresses that simpleperf gives them."""

    order = 50

    def covers(self, dso: Dso) -> bool:
        """Return True for files that the recording lists, for modules (the kernel may list them), and for perf maps."""
        return self._file(dso) is not None

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions by svma, file offset, or recorded address."""
        file = self._file(dso)
        row = minus_ones(len(address)) if file is None else file.find(_in_file(file, dso, address))
        rows, function = unique_known(row)
        names = [file.names[one] for one in rows.tolist()] if file is not None else []
        return symbols_from_names(names, function, "not among the recorded symbols")

    def _file(self, dso: Dso) -> RecordedFile | None:
        files = self._context.session.recorded_files
        if dso.kind is DsoKind.ANONYMOUS and not dso.name:
            return files.get(f"perf-{dso.pid}.map")
        return files.get(dso.name) or (files.get(KERNEL) if dso.kind is DsoKind.MODULE else None)


def _in_file(file: RecordedFile, dso: Dso, address: U64) -> U64:
    """Return (n,) the addresses of a file's symbols, modulo 2⁶⁴."""
    start, first = dso.start, file.offset if file.offset is not None else dso.offset
    if dso.kind is DsoKind.ANONYMOUS:
        return address if file.kind is not FileKind.DEX else address + np.uint64((dso.offset - start) % 2**64)
    if file.kind is FileKind.MODULE:
        return address + np.uint64((file.min_vaddr - start - first) % 2**64)
    if file.kind is FileKind.ELF and not dso.found.files:
        return address + np.uint64((file.min_vaddr - first) % 2**64)
    return address
