"""Finds the place of each location of a profile: an object, and an offset in it.

Objects are identified in the same way on all hosts: by build id, else by path, else only within the recording.

Offsets count from an object's ``base``, its address in the recording: equal code has equal offsets although programs,
modules and (by KASLR) kernels are at other addresses on every host and after every boot::

    file, vDSO         build id, or path of a file     base = start − offset in the file
    module             build id                        base = start
    kernel             build id                        base = the recorded address of its reference symbol (_text)
    all other memory   this recording, name, process   base = 0
"""

from collections.abc import Sequence

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    AnyArray,
    Bools,
    Frozen,
    as_int32,
    as_uint64,
    falses,
    flatnonzero,
    zeros,
)
from perf2x.base.mapping_names import is_jitdump, is_object
from perf2x.model.printable_text import printable
from perf2x.model.profile import Locations, Mappings, Profile
from perf2x.model.recording import KERNEL
from perf2x.sources.dataset.content_ids import text_id
from perf2x.sources.dataset.place_keys import PlaceKeys


class CodeObjects(Frozen):
    """The object of each mapping of a profile."""

    ids: Sequence[str]
    """(mappings,) in hexadecimal; equal for two mappings of one object."""
    base: U64
    """(mappings,) the recorded address of the object's offset 0, modulo 2⁶⁴."""
    is_local: Bools
    """(mappings,) whether the object is private to its recording."""
    variant: I64
    """(mappings,) numbers that distinguish overlapping mappings of one object; 0 for a mapping that overlaps no other.

    Mappings overlap if code was mapped in parts, or if copies of one build have two names.
    """


def code_objects(mappings: Mappings, strings: Sequence[str], recording: bytes) -> CodeObjects:
    """Find the object of every mapping of a recording."""
    rows = [_code_object(mappings, strings, row, recording) for row in range(len(mappings))]
    ids, base = [one[0].hex() for one in rows], as_uint64([one[1] % 2**64 for one in rows])
    limit = np.where(mappings.limit == 0, np.uint64(2**64 - 1), mappings.limit - base)
    is_local = np.array([one[2] for one in rows], np.bool_)
    return CodeObjects(ids, base, is_local, _variants(ids, (mappings.start - base).tolist(), limit.tolist()))


def _code_object(mappings: Mappings, strings: Sequence[str], row: int, recording: bytes) -> tuple[bytes, int, bool]:
    """Return (id, base, whether it is private to the recording) for one mapping."""
    name, build_id = (printable(strings[int(column[row])]) for column in (mappings.filename, mappings.build_id))
    start, limit, offset = (int(column[row]) for column in (mappings.start, mappings.limit, mappings.offset))
    shared = _shared_object(name, build_id, bool(mappings.is_kernel[row]), start, offset)
    if shared is None or not limit or start < shared[1] or limit - shared[1] >= 2**64:  # damaged: offsets would not fit
        return text_id("own", recording, name, int(mappings.pid[row])), 0, True
    return (*shared, False)


def _shared_object(name: str, build_id: str, is_kernel: bool, start: int, offset: int) -> tuple[bytes, int] | None:
    """Return id and base of an object that other recordings may have, too; None for a private one."""
    if is_kernel:
        if build_id and name.startswith(KERNEL) and name != KERNEL and offset:
            return text_id("kernel", build_id, name), offset
        is_module = name.startswith(("/", "[")) and not name.startswith(("[kernel", "[guest"))
        return (text_id("module", build_id), start) if build_id and is_module else None
    if name.startswith("[vdso") and build_id:
        return text_id("file", build_id), start - offset
    if is_object(name, bool(build_id)) and not is_jitdump(name):
        return text_id("file", build_id or name), start - offset
    return None


def _variants(ids: Sequence[str], first: Sequence[int], limit: Sequence[int]) -> I64:
    """Return the number of each mapping within a run of overlapping mappings of its object."""
    variant = zeros(len(ids))
    run: list[int] = []
    end = 0
    for row in sorted(range(len(ids)), key=lambda row: (ids[row], first[row], row)):
        if not run or ids[row] != ids[run[0]] or first[row] >= end:
            run, end = [], 0
        run.append(row)
        end = max(end, limit[row])
        variant[row] = len(run) - 1
    return variant


_UNMAPPED = text_id("unmapped").hex()
"""Object of user addresses outside all mappings."""


def _unmapped_kernel(recording: bytes) -> str:
    """Return the object of kernel addresses outside all mappings, which are valid for one boot."""
    return text_id("own", recording, "", "kernel").hex()


def synthetic_object(name: str) -> str:
    """Return the object of a synthetic frame, such as ``[truncated stack]``."""
    return text_id("made up", name).hex()


class ProfilePlaces(Frozen):
    """Places of a profile: one per location, then exact twins of the kernel's return addresses.

    Once functions have names, a return address of the kernel may turn out to be an interrupted instruction. So each of
    them is included a second time as an exact address, and both places get names.
    """

    location: I32
    """(places,) row of the profile's locations."""
    object_ids: Sequence[str]
    """In hexadecimal."""
    object: I64
    """(places,) row of ``object_ids``; −1 for synthetic frames."""
    keys: PlaceKeys
    """Offsets are distances from the object's base."""
    is_local: Bools
    """(places,) whether the place is private to its recording."""


def profile_places(locations: Locations, objects: CodeObjects, recording: bytes) -> ProfilePlaces:
    """Return the places of all locations; ``recording`` is the one with kernel code outside all mappings."""
    returns, is_kernel = locations.lookup != locations.address, locations.mode == CpuMode.KERNEL
    twins = flatnonzero(is_kernel & returns & ~locations.synthetic)
    location = np.append(np.arange(len(locations), dtype=np.int32), as_int32(twins))
    is_return = np.append(returns, falses(len(twins)))
    mapping, own_kernel = locations.mapping[location], is_kernel[location]
    known = [*objects.ids, _unmapped_kernel(recording), _UNMAPPED]
    row = np.where(mapping < 0, len(known) - np.where(own_kernel, 2, 1), mapping)
    row[locations.synthetic[location]] = -1
    columns: tuple[AnyArray, ...] = (objects.base, objects.variant, objects.is_local)
    base, variant, is_local = (
        np.append(one, np.zeros(1, one.dtype))[mapping] for one in columns
    )  # the appended 0 is for mapping −1
    offset: U64 = locations.address[location] - base
    keys = PlaceKeys(offset, locations.mode[location], is_return, variant)
    return ProfilePlaces(location, known, row, keys, is_local | (mapping < 0) & own_kernel & (row >= 0))


def synthetic_names(profile: Profile) -> list[str]:
    """Return the names of synthetic frames, in the order of their locations."""
    locations = profile.locations
    first = locations.line_offsets[flatnonzero(locations.synthetic)]
    return [profile.strings[row] for row in profile.functions.name[locations.line_function[first]].tolist()]
