"""Places of a profile's locations, and nodes of its stacks, by id."""

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, I64, U8, U64, AnyArray, Bools
from perf2x.model.profile.profile import Locations, Profile
from perf2x.storage.dataset.content_ids import WIDTH, as_rows, node_ids, place_ids
from perf2x.storage.dataset.write.code_objects import (
    UNMAPPED,
    CodeObjects,
    code_objects,
    made_up_object,
    unmapped_kernel,
)

_AT_ONCE = 1 << 15
"""Places that are hashed together."""
Rows = AnyArray | slice


class ProfilePlaces(Struct, frozen=True):
    """Places of a profile: one of each location, then exact twins of the kernel's return addresses.

    They may be all addresses of a file, so what mappings tell of them is found for some ``rows`` at a time.
    """

    id: U8
    """(places, 16)"""
    location: I32
    """(places,) row of the profile's locations."""
    is_return: Bools
    locations: Locations
    object_of_location: I32
    """(locations,) row of ``object_ids``."""
    object_ids: U8
    """(objects, 16) distinct ones."""
    objects: CodeObjects

    def object(self, rows: Rows) -> I32:
        """(rows,) row of ``object_ids``."""
        return self.object_of_location[self.location[rows]]

    def offset(self, rows: Rows) -> U64:
        """(rows,) the distance from the object's base; 0 of frames that stand for no code."""
        return offsets_of_locations(self.locations, self.objects, self.location[rows])

    def variant(self, rows: Rows) -> I32:
        """(rows,) as in CodeObjects."""
        return np.append(self.objects.variant, 0).astype(np.int32)[self.locations.mapping[self.location[rows]]]

    def contents(self, rows: Rows) -> tuple[AnyArray, ...]:
        """Columns that tell places apart."""
        return self.object(rows), self.offset(rows), self.is_return[rows], self.variant(rows)

    def is_local(self, rows: Rows) -> Bools:
        """(rows,) the place means nothing outside its recording."""
        locations, location = self.locations, self.location[rows]
        mapping = locations.mapping[location]
        is_kernel = (locations.mode[location] == CpuMode.KERNEL) & ~locations.synthetic[location]
        found: Bools = np.append(self.objects.is_local, False)[mapping] | (mapping < 0) & is_kernel
        return found


def offsets_of_locations(locations: Locations, objects: CodeObjects, rows: AnyArray) -> U64:
    """(rows,) the distance of locations from the bases of their objects."""
    offset: U64 = locations.address[rows]
    offset -= np.append(objects.base, np.uint64(0))[locations.mapping[rows]]  # the last one serves −1
    return offset


def profile_places(profile: Profile, recording: bytes, wanted: I64 | None = None) -> ProfilePlaces:
    """Find the places of all locations of a recording's profile, or the ``wanted`` ones of these places.

    A return address of the kernel may turn out to be where an interrupt came, once functions have names: it is there a
    second time as an exact address, so that whoever names places names both.
    """
    locations, objects = profile.locations, code_objects(profile.mappings, profile.strings, recording)
    location, is_return = _with_twins(locations)
    if wanted is not None:
        location, is_return = location[wanted], is_return[wanted]
    object_ids, row = _objects_of(profile, objects, recording)
    ids = np.empty((len(location), WIDTH), np.uint8)
    places = ProfilePlaces(ids, location, is_return, locations, row, object_ids, objects)
    for first in range(0, len(ids), _AT_ONCE):
        at = slice(first, first + _AT_ONCE)
        mode = locations.mode[location[at]]
        ids[at] = place_ids(object_ids[places.object(at)], places.offset(at), mode, is_return[at], places.variant(at))
    return places


def _with_twins(locations: Locations) -> tuple[I32, Bools]:
    """(places,) the location of each place, and whether it is a return address."""
    returns = locations.lookup != locations.address
    twins = np.flatnonzero((locations.mode == CpuMode.KERNEL) & returns & ~locations.synthetic)
    location = np.append(np.arange(len(locations), dtype=np.int32), twins.astype(np.int32))
    return location, np.append(returns, np.zeros(len(twins), np.bool_))


def _objects_of(profile: Profile, objects: CodeObjects, recording: bytes) -> tuple[U8, I32]:
    """(objects, 16) distinct ids of objects, and (locations,) the row of each location's."""
    locations = profile.locations
    numbers: dict[bytes, int] = {}
    known = [numbers.setdefault(one, len(numbers)) for one in (*objects.ids, UNMAPPED)]  # the last one serves −1
    row = np.array(known, np.int32)[locations.mapping]
    kernel = numbers.setdefault(unmapped_kernel(recording), len(numbers))
    row[(locations.mapping < 0) & (locations.mode == CpuMode.KERNEL)] = kernel
    for location in np.flatnonzero(locations.synthetic).tolist():
        row[location] = numbers.setdefault(made_up_object(made_up_name(profile, location)), len(numbers))
    return as_rows(list(numbers)), row


def made_up_name(profile: Profile, location: int) -> str:
    """Name of a frame that stands for no code."""
    function = int(profile.locations.line_function[profile.locations.line_offsets[location]])
    return profile.strings[int(profile.functions.name[function])]


def profile_nodes(profile: Profile, places: ProfilePlaces) -> U8:
    """(stacks, 16) ids of the profile's nodes."""
    return node_ids(profile.stacks.parent, places.id, profile.stacks.location)
