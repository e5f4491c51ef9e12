"""Finds the place of each location of a profile: an object, and an offset in it.

The same code must have the same place in all recordings, so that its name is stored once. Offsets count from the
object's ``base``, its address in the recording, because code lies at other addresses on every host and after every
boot. Memory that cannot be identified is private ("local") to its recording::

    object                       identified by                     base
    file, vDSO                   build id, or path of a file       start of the mapping − its offset in the file
    module                       build id                          start of the mapping
    kernel                       build id, name                    recorded address of its reference symbol (_text)
    all other mappings           the recording, name, process      0 (private)
    kernel code, not mapped      the recording                     0 (private)
    other code, not mapped       nothing: one for all recordings   0
    synthetic frame              name                              0
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
    """(mappings,) id of the object in hexadecimal."""
    base: U64
    """(mappings,) recorded address of the object's offset 0, modulo 2⁶⁴."""
    is_local: Bools
    """(mappings,) whether the object is private to its recording."""
    variant: I64
    """(mappings,) number that distinguishes overlapping mappings of one object: 0 for the first.

    Their offsets overlap if code was mapped in parts, or if copies of one build have two names.
    """


def code_objects(mappings: Mappings, strings: Sequence[str], recording: bytes) -> CodeObjects:
    """Find the object of every mapping; ``recording`` is the recording's id."""
    objects = [_code_object(mappings, strings, row, recording) for row in range(len(mappings))]  # id, base, is_local
    ids, base = [entry[0].hex() for entry in objects], as_uint64([entry[1] % 2**64 for entry in objects])
    limit = np.where(mappings.limit == 0, np.uint64(2**64 - 1), mappings.limit - base)
    is_local = np.array([entry[2] for entry in objects], np.bool_)
    return CodeObjects(ids, base, is_local, _variants(ids, (mappings.start - base).tolist(), limit.tolist()))


def _code_object(mappings: Mappings, strings: Sequence[str], row: int, recording: bytes) -> tuple[bytes, int, bool]:
    name, build_id = (printable(strings[int(column[row])]) for column in (mappings.filename, mappings.build_id))
    start, limit, offset = (int(column[row]) for column in (mappings.start, mappings.limit, mappings.offset))
    shared = _shared_object(name, build_id, bool(mappings.is_kernel[row]), start, offset)
    # damaged mappings, whose offsets would not fit into 64 bits, are private, too
    if shared is None or not limit or start < shared[1] or limit - shared[1] >= 2**64:
        return text_id("own", recording, name, int(mappings.pid[row])), 0, True
    return (*shared, False)


def _shared_object(name: str, build_id: str, is_kernel: bool, start: int, offset: int) -> tuple[bytes, int] | None:
    """Return id and base; None for an object that is private to its recording."""
    if is_kernel:
        # perf names this mapping after the reference symbol, [kernel.kallsyms]_text, whose address is ``offset``
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
    """Number the mappings (mappings,) in each run of overlapping mappings of an object."""
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


_UNMAPPED_OBJECT = text_id("unmapped").hex()
"""Id of the object for all addresses of programs and guests outside mappings."""


def synthetic_object(name: str) -> str:
    """Return the id of the object for a synthetic frame, such as ``[truncated stack]``."""
    return text_id("made up", name).hex()


class ProfilePlaces(Frozen):
    """Places of a profile: one per location, then the twins of the kernel's return addresses.

    Only names show which return addresses of the kernel are interrupted instructions, so both places get names.
    """

    location: I32
    """(places,) row of the location in the profile."""
    object_ids: Sequence[str]
    """In hexadecimal."""
    object: I64
    """(places,) row of ``object_ids``; −1 for synthetic frames."""
    keys: PlaceKeys
    """(places,)"""
    is_local: Bools
    """(places,) whether the place is private to its recording."""


def profile_places(locations: Locations, objects: CodeObjects, recording: bytes) -> ProfilePlaces:
    """Return the places of all locations.

    ``recording`` is the id of the recording to which kernel addresses outside mappings belong.
    """
    returns, is_kernel = locations.lookup != locations.address, locations.mode == CpuMode.KERNEL
    twins = flatnonzero(is_kernel & returns & ~locations.synthetic)
    location = np.append(np.arange(len(locations), dtype=np.int32), as_int32(twins))
    is_return = np.append(returns, falses(len(twins)))
    mapping, in_kernel = locations.mapping[location], is_kernel[location]
    object_ids = [*objects.ids, text_id("own", recording, "", "kernel").hex(), _UNMAPPED_OBJECT]
    # without a mapping: the last row of object_ids, or in the kernel the one before it
    object_row = np.where(mapping < 0, len(object_ids) - np.where(in_kernel, 2, 1), mapping)
    object_row[locations.synthetic[location]] = -1
    columns: tuple[AnyArray, ...] = (objects.base, objects.variant, objects.is_local)
    base, variant, is_local = (
        np.append(column, np.zeros(1, column.dtype))[mapping] for column in columns
    )  # the appended 0 is for mapping −1
    offset: U64 = locations.address[location] - base
    keys = PlaceKeys(offset, locations.mode[location], is_return, variant)
    return ProfilePlaces(
        location, object_ids, object_row, keys, is_local | (mapping < 0) & in_kernel & (object_row >= 0)
    )


def synthetic_names(profile: Profile) -> list[str]:
    """Return the names of synthetic frames, in the order of their locations."""
    locations = profile.locations
    first_lines = locations.line_offsets[flatnonzero(locations.synthetic)]
    return [profile.strings[row] for row in profile.functions.name[locations.line_function[first_lines]].tolist()]
