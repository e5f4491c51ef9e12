"""Text that programs copied over itself, to have it in huge pages: code in anonymous memory where a file was mapped.

::

    file     0x400000 … 0x900000    /bin/server                      0x400000 … 0x900000    /bin/server
    then     0x600000 … 0x800000    //anon, executable      is       0x600000 … 0x800000    /bin/server from 0x200000 on

As iodlr, BOLT's --hot-text and Chromium do. The copy has the code of the file that it hides: names and call frame
information are those of the file. No record tells what was unmapped: other memory than whole huge pages may be a
compiler's, in the place of a library that is gone.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, U64, Texts, arange, as_int64, ends_of, falses, flatnonzero, take
from perf2x.model.recording import Mmaps, is_injected, is_jitdump, is_real_path, without_deleted
from perf2x.stitcher.history.address_spaces import AddressSpaces
from perf2x.stitcher.history.kernel_mappings import end_addresses
from perf2x.stitcher.history.profile_mappings import may_hold_code

_HUGE = np.uint64(2 << 20)
"""Huge pages of all processors begin and end at multiples of this."""


def with_copied_text(mmaps: Mmaps, mmap_rank: I64, spaces: AddressSpaces) -> Mmaps:
    """The mappings, those of copied text as parts of the files whose text they hide; ``mmap_rank`` (mappings,)."""
    code = may_hold_code(mmaps)
    rows = flatnonzero(mmaps.filename.which(lambda name: name.startswith(("//anon", "/anon_hugepage"))) & code)
    if not len(rows):
        return mmaps
    start, end = mmaps.start[rows], end_addresses(mmaps.start, mmaps.length)[rows]
    epoch = spaces.epoch(as_int64(mmaps.pid[rows]), mmap_rank[rows] - 1)
    here = falses(len(rows))
    hidden = spaces.find(epoch, start, here)
    last = np.maximum(end, start + np.uint64(1)) - np.uint64(1)
    is_one = (hidden >= 0) & (hidden != rows) & (spaces.find(epoch, last, here) == hidden)
    is_one &= (start | end) % _HUGE == 0
    source = _first_hidden(rows[is_one], hidden[is_one], len(mmaps))[rows]
    is_file = mmaps.filename.which(_is_file) & code
    found = flatnonzero((source != rows) & take(is_file, source))
    return _as_parts(mmaps, rows[found], source[found]) if len(found) else mmaps


def _first_hidden(rows: I64, hidden: I64, count: int) -> I64:
    """(count,) the mapping at the end of what each hides."""
    source = arange(count)
    source[rows] = hidden
    return ends_of(source)


def _is_file(name: str) -> bool:
    return is_real_path(without_deleted(name)) and not (is_jitdump(name) or is_injected(name))


def _as_parts(mmaps: Mmaps, rows: I64, source: I64) -> Mmaps:
    """The mappings ``rows`` as parts of the files of the mappings ``source``, at the same addresses."""
    pgoff: U64 = mmaps.pgoff.copy()
    pgoff[rows] = mmaps.pgoff[source] + (mmaps.start[rows] - mmaps.start[source])
    file, filename, build_id = mmaps.file.copy(), mmaps.filename.number.copy(), mmaps.build_id.number.copy()
    for column in (file, filename, build_id):
        column[rows] = column[source]
    return replace(
        mmaps, pgoff=pgoff, file=file,
        filename=Texts(filename, mmaps.filename.distinct), build_id=Texts(build_id, mmaps.build_id.distinct),
    )  # fmt: skip
