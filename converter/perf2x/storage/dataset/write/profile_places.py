"""Places of a profile's locations, each an offset in an object.

Objects of a recording's code, as all hosts know them: by build id, else by path, else by the recording alone.

Places in an object count from its ``base``, which is where the recording had it: equal code has equal offsets although
programs, modules and (by KASLR) kernels lie elsewhere on every host and after every boot::

    file, vDSO         build id, or path of a file     base = start − offset in the file
    module             build id                        base = start
    kernel             build id                        base = the recorded address of its reference symbol (_text)
    all other memory   this recording, name, process   base = 0
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, I64, U64, AnyArray, Bools, flatnonzero
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Locations, Mappings, Profile
from perf2x.model.recording.build_ids import KERNEL
from perf2x.model.recording.recorded_names import is_jitdump, is_object
from perf2x.storage.dataset.content_ids import text_id


class CodeObjects(Struct, frozen=True):
    """Object of each mapping of a profile, and the offsets in it that the mapping shows: ``first`` to ``limit``."""

    ids: tuple[bytes, ...]
    """(mappings,) two mappings of one object have the same."""
    base: U64
    """(mappings,) the recorded address of the object's offset 0, modulo 2⁶⁴."""
    first: U64
    limit: U64
    is_local: Bools
    """(mappings,) the object means nothing outside its recording."""
    variant: I64
    """(mappings,) 0; numbers, from 0, tell mappings of one object apart that overlap, or touch one that does.

    Code that was mapped in pieces does, and copies of one build under two names.
    """


def code_objects(mappings: Mappings, strings: Sequence[str], recording: bytes) -> CodeObjects:
    """Find the object of every mapping of a recording."""
    rows = [_code_object(mappings, strings, row, recording) for row in range(len(mappings))]
    base = np.array([one[1] % 2**64 for one in rows], np.uint64)
    ids, first = tuple(one[0] for one in rows), mappings.start - base
    limit = np.where(mappings.limit == 0, np.uint64(2**64 - 1), mappings.limit - base)
    is_local = np.array([one[2] for one in rows], np.bool_)
    return CodeObjects(ids, base, first, limit, is_local, _variants(ids, first.tolist(), limit.tolist()))


def _code_object(mappings: Mappings, strings: Sequence[str], row: int, recording: bytes) -> tuple[bytes, int, bool]:
    """(id, base, whether it is the recording's own) of one mapping."""
    name, build_id = (printable(strings[int(column[row])]) for column in (mappings.filename, mappings.build_id))
    start, limit, offset = (int(column[row]) for column in (mappings.start, mappings.limit, mappings.offset))
    shared = _shared_object(name, build_id, bool(mappings.is_kernel[row]), start, offset)
    if shared is None or not limit or start < shared[1] or limit - shared[1] >= 2**64:  # damaged: offsets would not fit
        return text_id("own", recording, name, int(mappings.pid[row])), 0, True
    return (*shared, False)


def _shared_object(name: str, build_id: str, is_kernel: bool, start: int, offset: int) -> tuple[bytes, int] | None:
    """Id and base of an object that other recordings may have, too; None for one that they cannot have."""
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


def _variants(ids: Sequence[bytes], first: Sequence[int], limit: Sequence[int]) -> I64:
    """(mappings,) the place of each among those of its object that form one run of overlapping ones."""
    variant = np.zeros(len(ids), np.int64)
    run: list[int] = []
    end = 0
    for row in sorted(range(len(ids)), key=lambda row: (ids[row], first[row], row)):
        if not run or ids[row] != ids[run[0]] or first[row] >= end:
            run, end = [], 0
        run.append(row)
        end = max(end, limit[row])
        variant[row] = len(run) - 1
    return variant


UNMAPPED = text_id("unmapped")
"""Object of addresses of programs that no mapping holds."""


def unmapped_kernel(recording: bytes) -> bytes:
    """Object of kernel addresses that no mapping holds: they hold for one boot."""
    return text_id("own", recording, "", "kernel")


def made_up_object(name: str) -> bytes:
    """Object of a frame that stands for no code, such as ``[truncated stack]``."""
    return text_id("made up", name)


Rows = AnyArray | slice


class ProfilePlaces(Struct, frozen=True):
    """Places of a profile: one of each location, then exact twins of the kernel's return addresses.

    They may be all addresses of a file, so what mappings tell of them is found for some ``rows`` at a time.
    """

    location: I32
    """(places,) row of the profile's locations."""
    is_return: Bools
    locations: Locations
    object_of_location: I32
    """(locations,) row of ``object_ids``."""
    object_ids: tuple[str, ...]
    """Distinct ones, in hexadecimal."""
    objects: CodeObjects

    def object(self, rows: Rows) -> I32:
        """(rows,) row of ``object_ids``."""
        return self.object_of_location[self.location[rows]]

    def offset(self, rows: Rows) -> U64:
        """(rows,) the distance from the object's base; 0 of frames that stand for no code."""
        return _offsets_of_locations(self.locations, self.objects, self.location[rows])

    def variant(self, rows: Rows) -> I32:
        """(rows,) as in CodeObjects."""
        return np.append(self.objects.variant, 0).astype(np.int32)[self.locations.mapping[self.location[rows]]]

    def is_local(self, rows: Rows) -> Bools:
        """(rows,) the place means nothing outside its recording."""
        locations, location = self.locations, self.location[rows]
        mapping = locations.mapping[location]
        is_kernel = (locations.mode[location] == CpuMode.KERNEL) & ~locations.synthetic[location]
        found: Bools = np.append(self.objects.is_local, False)[mapping] | (mapping < 0) & is_kernel
        return found


def _offsets_of_locations(locations: Locations, objects: CodeObjects, rows: AnyArray) -> U64:
    """(rows,) the distance of locations from the bases of their objects."""
    offset: U64 = locations.address[rows]
    offset -= np.append(objects.base, np.uint64(0))[locations.mapping[rows]]  # the last one serves −1
    return offset


def profile_places(profile: Profile, recording: bytes) -> ProfilePlaces:
    """Find the places of all locations of a recording's profile.

    A return address of the kernel may turn out to be where an interrupt came, once functions have names: it is there a
    second time as an exact address, so that whoever names places names both.
    """
    locations, objects = profile.locations, code_objects(profile.mappings, profile.strings, recording)
    location, is_return = with_twins(locations)
    object_ids, row = _objects_of(profile, objects, recording)
    return ProfilePlaces(location, is_return, locations, row, object_ids, objects)


def with_twins(locations: Locations) -> tuple[I32, Bools]:
    """Return (places,) the location of each place, and whether it is a return address."""
    returns = locations.lookup != locations.address
    twins = flatnonzero((locations.mode == CpuMode.KERNEL) & returns & ~locations.synthetic)
    location = np.append(np.arange(len(locations), dtype=np.int32), twins.astype(np.int32))
    return location, np.append(returns, np.zeros(len(twins), np.bool_))


def _objects_of(profile: Profile, objects: CodeObjects, recording: bytes) -> tuple[tuple[str, ...], I32]:
    """Distinct ids of objects in hexadecimal, and (locations,) the row of each location's."""
    locations = profile.locations
    numbers: dict[bytes, int] = {}
    known = [numbers.setdefault(one, len(numbers)) for one in (*objects.ids, UNMAPPED)]  # the last one serves −1
    row = np.array(known, np.int32)[locations.mapping]
    kernel = numbers.setdefault(unmapped_kernel(recording), len(numbers))
    row[(locations.mapping < 0) & (locations.mode == CpuMode.KERNEL)] = kernel
    for location in flatnonzero(locations.synthetic).tolist():
        row[location] = numbers.setdefault(made_up_object(made_up_name(profile, location)), len(numbers))
    return tuple(one.hex() for one in numbers), row


def made_up_name(profile: Profile, location: int) -> str:
    """Name of a frame that stands for no code."""
    function = int(profile.locations.line_function[profile.locations.line_offsets[location]])
    return profile.strings[int(profile.functions.name[function])]
