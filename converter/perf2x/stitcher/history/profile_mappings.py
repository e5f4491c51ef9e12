"""Merges recorded mappings into the profile's mappings, and lays these end to end, so that one number names an address.

The profile has each piece of a file (a range of offsets) once, at the lowest of its addresses. Addresses in its other
mappings are moved there (as profile.Merge in github.com/google/pprof does). Code that is identified by its address, or
that belongs to one process, stays.
"""

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    DictionaryColumn,
    Frozen,
    StringTableBuilder,
    arange,
    as_int32,
    as_int64,
    falses,
    flatnonzero,
    group_rows,
    group_rows_by_hash,
    minus_ones,
    searchsorted,
)
from perf2x.base.mapping_names import is_jitdump, is_real_path, without_deleted
from perf2x.model.profile import Mappings
from perf2x.model.recording import Mmaps, Session, build_id_by_name
from perf2x.stitcher.history.kernel_mappings import end_addresses, is_kernel_mapping

# bit of Mmaps.prot (include/uapi/asm-generic/mman-common.h)
_PROT_EXEC = 4
# prefixes of names that have no meaning outside their process
_PRIVATE_NAMES = (
    "//anon",
    "[heap]",
    "[stack",
    "/memfd:",
    "/dev/zero",
    "anon_inode:",
    "/SYSV",
    "[anon",
    "/anon_hugepage",
)


class MergedMappings(Frozen):
    """Recorded mappings in groups; each group becomes one mapping of the profile.

    Arrays of mappings + 1 have a last row for no mapping.
    """

    group: I64
    """(mappings + 1,) group of each mapping; −1 for none."""
    shift: U64
    """(mappings + 1,) addend that moves addresses to the group's address, modulo 2⁶⁴."""
    mmaps: Mmaps
    build_ids: DictionaryColumn[str]
    """Build id of each mapping, in hexadecimal."""
    is_data: Bools
    """(mappings,) whether the mapping is private memory without code, to which stray words in chains may point."""

    def table(self, is_hit: Bools, strings: StringTableBuilder) -> tuple[Mappings, I64]:
        """Return the profile's mappings, and (groups + 1,) each group's row among them, −1 for groups without frames.

        ``is_hit`` (mappings + 1,) marks mappings with frames. The kernel's come last; all are sorted by name, build id,
        offset and address. A mapping's pid is the lowest of its group, −1 for the kernel and for data.
        """
        hit_rows = flatnonzero(is_hit[:-1])
        first, row_of_hit = group_rows([self.group[hit_rows]])  # groups are numbered in the order to sort by
        pid = np.full(len(first), np.iinfo(np.int32).max, np.int32)
        np.minimum.at(pid, row_of_hit, self.mmaps.pid[hit_rows])
        row_of_group = minus_ones(int(self.group.max(initial=-1)) + 2)
        row_of_group[self.group[hit_rows[first]]] = arange(len(first))
        return self._mappings(hit_rows[first], pid, strings), row_of_group

    def _mappings(self, rows: I64, pid: I32, strings: StringTableBuilder) -> Mappings:
        mmaps, is_kernel = self.mmaps, is_kernel_mapping(self.mmaps)[rows]
        start = mmaps.start[rows] + self.shift[rows]
        no_flags = falses(len(rows))
        return Mappings(
            start=start, limit=end_addresses(start, mmaps.length[rows]), offset=mmaps.pgoff[rows],
            filename=strings.add_all(mmaps.filename[rows]),
            build_id=strings.add_all(self.build_ids[rows]),
            pid=as_int32(np.where(is_kernel | self.is_data[rows], -1, pid)),
            is_kernel=is_kernel,
            has_functions=no_flags, has_filenames=no_flags.copy(), has_line_numbers=no_flags.copy(),
            has_inline_frames=no_flags.copy(),
        )  # fmt: skip


def merge_mappings(mmaps: Mmaps, session: Session, per_process: bool) -> MergedMappings:
    """Group mappings that are to be one mapping of the profile.

    Mappings without a build id get the one from ``session`` by name. With ``per_process``, mappings at different
    addresses stay separate.
    """
    rows, object_number = group_rows([mmaps.filename.indices, mmaps.build_id.indices])
    objects = zip(mmaps.filename[rows], mmaps.build_id[rows], strict=True)
    hex_ids = ((build_id or build_id_by_name(session, name)).hex() for name, build_id in objects)
    build_ids = DictionaryColumn.of(hex_ids)[object_number]
    is_private = mmaps.filename.which(lambda name: name.startswith(_PRIVATE_NAMES)) & ~build_ids.which(bool)
    is_data = is_private & ~may_hold_code(mmaps)
    traits = _traits(mmaps, build_ids, is_private, is_data, per_process)
    first, group = group_rows_by_hash(traits)
    start = np.full(len(first), 2**64 - 1, np.uint64)
    np.minimum.at(start, group, mmaps.start)
    shift = start[group] - mmaps.start
    return MergedMappings(np.append(group, -1), np.append(shift, np.uint64(0)), mmaps, build_ids, is_data)


def may_hold_code(mmaps: Mmaps) -> Bools:
    """Return (mappings,) whether each may be executed; perf record -d records data mappings, too."""
    is_code: Bools = ~mmaps.is_data & ((mmaps.prot < 0) | (mmaps.prot & _PROT_EXEC != 0))
    return is_code


def _traits(
    mmaps: Mmaps, build_ids: DictionaryColumn[str], is_private: Bools, is_data: Bools, per_process: bool
) -> list[I32 | I64 | U64]:
    """Columns (mappings,) that are equal within a group, the primary key first; an address that may be moved is 0."""
    is_kernel, start = is_kernel_mapping(mmaps), mmaps.start
    is_relative = mmaps.filename.which(_is_relative) | build_ids.which(bool)
    may_move = is_relative & ~is_private & ~is_kernel & (not per_process)
    return [
        as_int64(is_kernel), mmaps.filename.ranks(), build_ids.ranks(), mmaps.pgoff,
        np.where(may_move, np.uint64(0), start), end_addresses(start, mmaps.length) - start,
        as_int64(np.where(is_private, mmaps.pid, -1)), mmaps.file_hash, as_int64(is_data),
    ]  # fmt: skip


def _is_relative(name: str) -> bool:
    """Return whether symbols are looked up by file offset, and not by address as in a jitdump."""
    return name.startswith("[vdso") or (is_real_path(without_deleted(name)) and not is_jitdump(name))


# bytes; mappings that do not fit are left out
_LAYOUT_SIZE = 1 << 57
# bytes; longer mappings are damaged, or span a whole address space
_MAX_LENGTH = 1 << 48


class AddressLayout:
    """Lays the merged mappings end to end, and converts between addresses and offsets in this layout.

    ::

        group                  0 at 0x5000, 0x3000 long     1 at 0x9000, 0x1000 long
        begins at offset       0                            0x3000                        (end at 0x4000)
    """

    def __init__(self, merged: MergedMappings) -> None:
        mmaps, group = merged.mmaps, merged.group[:-1]
        count = int(group.max(initial=-1)) + 1
        length, start = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        length[group] = end_addresses(mmaps.start, mmaps.length) - mmaps.start
        start[group] = mmaps.start + merged.shift[:-1]
        # A mapping at address 0 stays outside the layout: 0 is not a return address, and only ``FrameKeys._side_keys``
        # handles that.
        fits = (length < np.uint64(_MAX_LENGTH)) & (start != 0)
        size = np.where(fits, length, np.uint64(0))
        begin = np.append(np.uint64(0), np.cumsum(size, dtype=np.uint64))
        fits &= np.cumsum(size, dtype=np.float64) < _LAYOUT_SIZE  # as floats, because integers may wrap around
        self._group = flatnonzero(fits & (length > 0))
        self._begin = begin[self._group]
        self._start = start[self._group]
        self.delta: U64 = np.append(begin[group] - mmaps.start, np.uint64(0))
        """(recorded mappings + 1,) offset minus address, modulo 2⁶⁴; the last row is for no mapping."""
        self.is_outside = np.append(~fits[group], True)
        """(recorded mappings + 1,) whether each mapping is outside the layout."""

    def at(self, offset: U64) -> tuple[I64, U64]:
        """Return the group and the address of each offset in the layout; shapes (n,)."""
        if not len(self._begin):
            return minus_ones(len(offset)), np.zeros(len(offset), np.uint64)
        row = np.maximum(searchsorted(self._begin, offset, "right") - 1, 0)
        return self._group[row], self._start[row] + (offset - self._begin[row])
