"""Groups a profile's mappings and locations by object, and computes the addresses to look up in each object."""

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
    """The identity of an object: mappings with equal keys belong to one object."""

    kind: DsoKind
    name: str
    """The mappings' name.

    It is "" for ANONYMOUS code, so that all such code of a process is one object. Data keeps its name, and so does
    memory whose symbols are in the recording (``Session.recorded_files``).
    """
    build_id: bytes
    pid: int
    """The process of ANONYMOUS code, whose names are valid only there; −1 for data and all other kinds."""


class MappedObject(Frozen):
    """One object of a profile, with its mappings and its locations to look up."""

    key: ObjectKey
    mappings: I64
    locations: I64
    """Ascending."""
    pid: int
    """A process that has mapped the object; −1 for the kernel and for data."""
    start: int = 0
    """The lowest address that it is mapped at, 0 if there is no mapping."""


def _kind_of(filename: str, is_kernel: bool, *, has_build_id: bool) -> DsoKind:
    if is_kernel:
        if filename.startswith(_KERNEL_PREFIXES) or not filename:
            return DsoKind.KERNEL
        return DsoKind.MODULE if filename.startswith(("/", "[")) else DsoKind.SYMBOL
    if filename.startswith(("[vdso", "[vsyscall", "[uprobes")):
        return DsoKind.VDSO
    return DsoKind.FILE if is_object(filename, has_build_id) else DsoKind.ANONYMOUS


def mapped_objects(profile: Profile, session: Session, selected: Bools | None = None) -> list[MappedObject]:
    """Return the objects that have ``selected`` locations, in the order of their first mappings.

    None selects locations without names. Kernel addresses outside all mappings form an object of their own, which comes
    last. A missing build id comes from the recording's header (``session``).
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
    return [mapped_object for mapped_object in result if len(mapped_object.locations)]


def _locations_by_object(profile: Profile, object_mappings: list[list[int]], selected: Bools) -> list[I64]:
    """Return the selected locations of each object, ascending; ``object_mappings`` are rows of mappings."""
    object_of_mapping = zeros(len(profile.mappings))
    for object_number, mappings in enumerate(object_mappings):
        object_of_mapping[mappings] = object_number
    rows = flatnonzero(selected & (profile.locations.mapping >= 0))
    numbers = object_of_mapping[profile.locations.mapping[rows]]
    order = argsort(numbers)
    bounds = searchsorted(numbers[order], arange(len(object_mappings) + 1))
    return [rows[order[start:end]] for start, end in pairwise(bounds.tolist())]


def object_key(profile: Profile, row: int, session: Session) -> ObjectKey:
    """Return the key of the object that the mapping in ``row`` belongs to."""
    mappings, strings = profile.mappings, profile.strings
    name = strings[int(mappings.filename[row])]
    mapping_build_id = bytes.fromhex(strings[int(mappings.build_id[row])])
    build_id = mapping_build_id or build_id_by_name(session, name)
    kind = _kind_of(name, bool(mappings.is_kernel[row]), has_build_id=bool(build_id))
    if kind is DsoKind.ANONYMOUS:
        pid = int(mappings.pid[row])
        return ObjectKey(kind, name if pid < 0 or name in session.recorded_files else "", b"", pid)
    if kind is DsoKind.KERNEL:  # [kernel.kallsyms]_text and [kernel.kallsyms]_stext are one object
        name = name.partition("]")[0] + "]" if "]" in name else name
    return ObjectKey(kind, name, build_id, -1)


def dso_of(profile: Profile, mapped_object: MappedObject, files: ObjectFiles) -> Dso:
    """Return the object in the form that symbol sources expect."""
    key, rows = mapped_object.key, mapped_object.mappings
    limit = int(profile.mappings.limit[rows].max()) if len(rows) else 2**64 - 1
    offset = int(profile.mappings.offset[rows].min()) if len(rows) else 0
    return Dso(key.name, key.build_id, key.kind, mapped_object.pid, files, mapped_object.start, limit, offset)


def addresses_of(profile: Profile, mapped_object: MappedObject, files: ObjectFiles) -> U64:
    """Return (2 * locations,): for each location of an object its ``lookup``, then its ``address``.

    For a FILE or VDSO these are svmas, or file offsets where no svma is known. For other kinds they are as recorded.
    """
    locations, mappings = profile.locations, profile.mappings
    address = np.empty(2 * len(mapped_object.locations), np.uint64)
    address[::2], address[1::2] = locations.lookup[mapped_object.locations], locations.address[mapped_object.locations]
    if mapped_object.key.kind not in (DsoKind.FILE, DsoKind.VDSO):
        return address
    # addresses → file offsets → svmas
    shift = mappings.offset - mappings.start if mapped_object.key.kind is DsoKind.FILE else -mappings.start
    address.reshape(-1, 2)[:] += shift[locations.mapping[mapped_object.locations], None]
    if files.code is not None:
        svma, is_in_segment = files.code.offset_to_svma(address)
        return np.where(is_in_segment, svma, address)
    if files.files:
        return _svmas_without_code(files.files[0], address, int(mappings.offset[mapped_object.mappings].min()))
    return address


def _svmas_without_code(debug: ElfObject, offset: U64, first_offset: int) -> U64:
    """Convert file offsets to svmas if only a debug file was found.

    ``objcopy --only-keep-debug`` keeps the addresses of segments, but not their offsets. The first executable segment
    is assumed to be at ``first_offset``, the object's lowest mapped offset.
    """
    text_segments = [s for s in debug.segments if s.type == "PT_LOAD" and s.flags & PF_X]
    if not text_segments:
        return offset
    shift = text_segments[0].address // 4096 * 4096 - first_offset
    return offset + np.uint64(shift % 2**64)


def vdso_files(context: Context, mapped_object: MappedObject) -> ObjectFiles:
    """Return the files of a vDSO; the one for 32-bit programs is mapped below 4 GiB."""
    is_64 = mapped_object.start >= 2**32
    return find_vdso(context.finder, context.session, mapped_object.key.build_id, context.kernel_build_id, is_64=is_64)
