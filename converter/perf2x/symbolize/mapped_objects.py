"""Sorts a profile's mappings into the objects that symbols are asked of."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from msgspec import Struct

from perf2x.abi.uapi import CpuMode
from perf2x.binary.elf.file import PF_X, ElfObject
from perf2x.columnar.arrays import I64, U64, Bools
from perf2x.debugfiles.object_files import ObjectFiles
from perf2x.symbolize.sources.contract import Dso, DsoKind
from perf2x.tables.mapping_names import is_real_path, without_deleted
from perf2x.tables.profile import Profile

KERNEL_PREFIXES = ("[kernel", "[guest.kernel")


class ObjectKey(Struct, frozen=True):
    """What makes two mappings mappings of one object."""

    kind: DsoKind
    name: str
    build_id: bytes
    pid: int
    """Only for ANONYMOUS: its names mean nothing outside the process."""


class MappedObject(Struct, frozen=True):
    """One object of a profile, its mappings and its locations."""

    key: ObjectKey
    mappings: I64
    locations: I64
    pid: int
    """A process that has it; −1 for the kernel."""


def kind_of(filename: str, is_kernel: bool) -> DsoKind:
    """What a mapping's recorded name stands for."""
    if is_kernel:
        if filename.startswith(KERNEL_PREFIXES) or not filename:
            return DsoKind.KERNEL
        return DsoKind.MODULE if filename.startswith(("/", "[")) else DsoKind.SYMBOL
    if filename.startswith(("[vdso", "[vsyscall", "[uprobes")):
        return DsoKind.VDSO
    return DsoKind.FILE if is_real_path(without_deleted(filename)) else DsoKind.ANONYMOUS


def mapped_objects(profile: Profile, build_ids: Mapping[str, bytes]) -> list[MappedObject]:
    """Every object that unnamed locations lie in, in the order of its first mapping; unmapped kernel code comes last.

    ``build_ids`` are the recording's own by file name, for mappings that carry none.
    """
    keys: dict[ObjectKey, list[int]] = {}
    for row in range(len(profile.mappings)):
        keys.setdefault(_object_key(profile, row, build_ids), []).append(row)
    unnamed = (np.diff(profile.locations.line_offsets) == 0) & ~profile.locations.synthetic
    by_object = _locations_by_object(profile, list(keys.values()), unnamed)
    result = [
        MappedObject(key, np.array(rows, np.int64), locations, int(profile.mappings.pid[rows[0]]))
        for (key, rows), locations in zip(keys.items(), by_object, strict=True)
    ]
    stray = unnamed & (profile.locations.mapping < 0) & (profile.locations.mode == CpuMode.KERNEL)
    if stray.any():
        key = ObjectKey(DsoKind.KERNEL, "[kernel.kallsyms]", b"", -1)
        result.append(MappedObject(key, np.zeros(0, np.int64), np.flatnonzero(stray), -1))
    return [found for found in result if len(found.locations)]


def _locations_by_object(profile: Profile, rows: list[list[int]], unnamed: Bools) -> list[I64]:
    """The unnamed locations of each object, in rising order."""
    owner = np.zeros(len(profile.mappings), np.int64)
    for index, mappings in enumerate(rows):
        owner[mappings] = index
    found = np.flatnonzero(unnamed & (profile.locations.mapping >= 0)).astype(np.int64)
    owners = owner[profile.locations.mapping[found]]
    order = np.argsort(owners, kind="stable")
    cuts = np.searchsorted(owners[order], np.arange(len(rows) + 1))
    return [found[order[start:end]] for start, end in pairwise(cuts.tolist())]


def _object_key(profile: Profile, row: int, build_ids: Mapping[str, bytes]) -> ObjectKey:
    mappings, strings = profile.mappings, profile.strings
    name = strings[int(mappings.filename[row])]
    build_id = bytes.fromhex(strings[int(mappings.build_id[row])]) or recorded_build_id(name, build_ids)
    kind = kind_of(name, bool(mappings.is_kernel[row]))
    if kind is DsoKind.ANONYMOUS:
        return ObjectKey(kind, "", b"", int(mappings.pid[row]))
    if kind is DsoKind.KERNEL:
        name = name.partition("]")[0] + "]" if "]" in name else name
    return ObjectKey(kind, name, build_id, -1)


def recorded_build_id(name: str, build_ids: Mapping[str, bytes]) -> bytes:
    """The recording's build id for a mapping's name; the kernel's stands there without its reference symbol."""
    bare = name.partition("]")[0] + "]" if name.startswith(KERNEL_PREFIXES) else name
    return build_ids.get(name, b"") or build_ids.get(bare, b"")


def dso_of(profile: Profile, mapped: MappedObject, found: ObjectFiles) -> Dso:
    """The object as sources see it."""
    key, mappings = mapped.key, profile.mappings
    start = min((int(v) for v in mappings.start[mapped.mappings]), default=0)
    limit = max((int(v) for v in mappings.limit[mapped.mappings]), default=2**64 - 1)
    return Dso(key.name, key.build_id, key.kind, mapped.pid, found, start, limit)


def addresses_of(profile: Profile, mapped: MappedObject, found: ObjectFiles) -> U64:
    """(2 * locations,) what to look up: svmas in files, recorded addresses elsewhere (see DsoKind).

    Those of ``locations.lookup`` first, then those of ``locations.address`` for a second try.
    """
    locations, mappings = profile.locations, profile.mappings
    lookup = np.concatenate([locations.lookup[mapped.locations], locations.address[mapped.locations]])
    if mapped.key.kind not in (DsoKind.FILE, DsoKind.VDSO):
        return lookup
    mapping = locations.mapping[mapped.locations]
    start = mappings.start[mapping]
    shift = mappings.offset[mapping] - start if mapped.key.kind is DsoKind.FILE else -start
    offset: U64 = lookup + np.tile(shift, 2)
    if found.code is not None:
        return _stated(found.code, offset)
    if found.files:
        return _stated_without_code(found.files[0], offset, int(mappings.offset[mapped.mappings].min()))
    return offset


def _stated(code: ElfObject, offset: U64) -> U64:
    """File offsets to svmas; offsets in no segment stay as they are and will not be found."""
    svma, held = code.svma(offset)
    return np.where(held, svma, offset)


def _stated_without_code(debug: ElfObject, offset: U64, first: int) -> U64:
    """The same with a debug file alone, whose own file offsets are another file's: its executable segment began at the
    mapping's offset, rounded to pages (``objcopy --only-keep-debug`` keeps addresses and sizes, not offsets).
    """
    text = [s for s in debug.segments if s.type == "PT_LOAD" and s.flags & PF_X]
    if not text:
        return offset
    shift = text[0].address // 4096 * 4096 - first
    return offset + np.uint64(shift % 2**64)
