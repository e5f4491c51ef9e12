"""Groups a profile's mappings and locations by object, and computes the addresses to look up in each."""

from itertools import pairwise

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.binaries.elf.elf_file import PF_X, ElfObject
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.binaries.find.recorded_vdso import find_vdso
from perf2x.base.columnar import I64, U64, Bools, Frozen, arange, argsort, as_int64, flatnonzero, searchsorted, zeros
from perf2x.base.mapping_names import is_object
from perf2x.model.profile import Profile
from perf2x.model.recording import Session, build_id_by_name
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind

_KERNEL_PREFIXES = ("[kernel", "[guest.kernel")


class ObjectKey(Frozen):
    """The key of an object: mappings with equal keys belong to one object."""

    kind: DsoKind
    name: str
    build_id: bytes
    pid: int
    """The process of ANONYMOUS memory, because names are valid only in it; −1 for data, and for all other kinds.

    ANONYMOUS memory has an empty name, except for data and for code whose names are in the recording.
    """


class MappedObject(Frozen):
    """One object of a profile, with its mappings and the requested locations."""

    key: ObjectKey
    mappings: I64
    """Rows of mappings."""
    locations: I64
    """Rows of locations, ascending."""
    pid: int
    """A process that has the object mapped; −1 for the kernel."""
    start: int = 0
    """The lowest address that it is mapped at, 0 if there is no mapping."""


def _kind_of(filename: str, is_kernel: bool, *, has_build_id: bool) -> DsoKind:
    """Return the kind of object for a mapping's recorded name."""
    if is_kernel:
        if filename.startswith(_KERNEL_PREFIXES) or not filename:
            return DsoKind.KERNEL
        return DsoKind.MODULE if filename.startswith(("/", "[")) else DsoKind.SYMBOL
    if filename.startswith(("[vdso", "[vsyscall", "[uprobes")):
        return DsoKind.VDSO
    return DsoKind.FILE if is_object(filename, has_build_id) else DsoKind.ANONYMOUS


def mapped_objects(profile: Profile, session: Session, selected: Bools | None = None) -> list[MappedObject]:
    """Return objects with ``selected`` locations, in order of their first mappings; unmapped kernel code comes last.

    ``selected`` (locations,): None selects the locations without names. A mapping without a build id gets the one that
    ``session`` has for its name.
    """
    keys: dict[ObjectKey, list[int]] = {}
    for row in range(len(profile.mappings)):
        keys.setdefault(object_key(profile, row, session), []).append(row)
    selected = (np.diff(profile.locations.line_offsets) == 0) if selected is None else selected
    selected = selected & ~profile.locations.synthetic
    by_object = _locations_by_object(profile, list(keys.values()), selected)
    pid, start = profile.mappings.pid, profile.mappings.start
    result = [
        MappedObject(key, as_int64(rows), locations, int(pid[rows[0]]), int(start[rows].min()))
        for (key, rows), locations in zip(keys.items(), by_object, strict=True)
    ]
    unmapped = selected & (profile.locations.mapping < 0) & (profile.locations.mode == CpuMode.KERNEL)
    if unmapped.any():
        key = ObjectKey(DsoKind.KERNEL, "[kernel.kallsyms]", b"", -1)
        result.append(MappedObject(key, zeros(0), flatnonzero(unmapped), -1))
    return [mapped for mapped in result if len(mapped.locations)]


def _locations_by_object(profile: Profile, rows: list[list[int]], selected: Bools) -> list[I64]:
    """Return the selected locations of each object, ascending; ``rows`` are the mappings of each object."""
    owner = zeros(len(profile.mappings))
    for index, mappings in enumerate(rows):
        owner[mappings] = index
    found = flatnonzero(selected & (profile.locations.mapping >= 0))
    owners = owner[profile.locations.mapping[found]]
    order = argsort(owners)
    cuts = searchsorted(owners[order], arange(len(rows) + 1))
    return [found[order[start:end]] for start, end in pairwise(cuts.tolist())]


def object_key(profile: Profile, row: int, session: Session) -> ObjectKey:
    """Return the object of a mapping."""
    mappings, strings = profile.mappings, profile.strings
    name = strings[int(mappings.filename[row])]
    carried = bytes.fromhex(strings[int(mappings.build_id[row])])
    build_id = carried or build_id_by_name(session, name)
    kind = _kind_of(name, bool(mappings.is_kernel[row]), has_build_id=bool(build_id))
    if kind is DsoKind.ANONYMOUS:
        pid = int(mappings.pid[row])
        return ObjectKey(kind, name if pid < 0 or name in session.recorded_files else "", b"", pid)
    if kind is DsoKind.KERNEL:
        name = name.partition("]")[0] + "]" if "]" in name else name
    return ObjectKey(kind, name, build_id, -1)


def dso_of(profile: Profile, mapped: MappedObject, found: ObjectFiles) -> Dso:
    """Return the object in the form that symbol sources expect."""
    key, rows = mapped.key, mapped.mappings
    limit = int(profile.mappings.limit[rows].max()) if len(rows) else 2**64 - 1
    offset = int(profile.mappings.offset[rows].min()) if len(rows) else 0
    return Dso(key.name, key.build_id, key.kind, mapped.pid, found, mapped.start, limit, offset)


def addresses_of(profile: Profile, mapped: MappedObject, found: ObjectFiles) -> U64:
    """Return (2 * locations,) addresses to look up: ELF addresses in files, otherwise recorded addresses (see DsoKind).

    The address for a location's ``lookup`` is followed by that for its ``address``, for a second try. If the locations
    are sorted, so are the addresses.
    """
    locations, mappings = profile.locations, profile.mappings
    offset = np.empty(2 * len(mapped.locations), np.uint64)
    offset[::2], offset[1::2] = locations.lookup[mapped.locations], locations.address[mapped.locations]
    if mapped.key.kind not in (DsoKind.FILE, DsoKind.VDSO):
        return offset
    shift = mappings.offset - mappings.start if mapped.key.kind is DsoKind.FILE else -mappings.start
    offset.reshape(-1, 2)[:] += shift[locations.mapping[mapped.locations], None]
    if found.code is not None:
        svma, inside = found.code.svma(offset)
        return np.where(inside, svma, offset)  # offsets outside all segments are never found
    if found.files:
        return _svmas_without_code(found.files[0], offset, int(mappings.offset[mapped.mappings].min()))
    return offset


def _svmas_without_code(debug: ElfObject, offset: U64, first: int) -> U64:
    """Convert file offsets to ELF addresses with only a debug file, in which the offsets of segments differ.

    ``objcopy --only-keep-debug`` keeps addresses and sizes, but not offsets. The executable segment began at the offset
    of the first mapping, rounded to pages.
    """
    text = [s for s in debug.segments if s.type == "PT_LOAD" and s.flags & PF_X]
    if not text:
        return offset
    shift = text[0].address // 4096 * 4096 - first
    return offset + np.uint64(shift % 2**64)


def vdso_files(context: Context, mapped: MappedObject) -> ObjectFiles:
    """Return the files of a vDSO; that of 32-bit programs is mapped below 4 GiB."""
    is_64 = mapped.start >= 2**32
    return find_vdso(context.finder, context.session, mapped.key.build_id, context.kernel_build_id, is_64=is_64)
