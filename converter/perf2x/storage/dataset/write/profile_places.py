"""Places of a profile's locations, and nodes of its stacks, by id."""

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, I64, U8, U64, Bools
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


class ProfilePlaces(Struct, frozen=True):
    """Places of a profile: one of each location, then exact twins of the kernel's return addresses."""

    id: U8
    """(places, 16)"""
    object: I32
    """(places,) row of ``object_ids``."""
    object_ids: U8
    """(objects, 16) distinct ones."""
    offset: U64
    """(places,) the distance from the object's base; 0 of frames that stand for no code."""
    is_return: Bools
    variant: I32
    is_local: Bools
    """(places,) the place means nothing outside its recording."""
    location: I32
    """(places,) row of the profile's locations."""
    objects: CodeObjects


def profile_places(profile: Profile, recording: bytes, wanted: I64 | None = None) -> ProfilePlaces:
    """Find the places of all locations of a recording's profile, or the ``wanted`` ones of these places.

    A return address of the kernel may turn out to be where an interrupt came, once functions have names: it is there a
    second time as an exact address, so that whoever names places names both.
    """
    locations, objects = profile.locations, code_objects(profile.mappings, profile.strings, recording)
    location, is_return = _with_twins(locations)
    if wanted is not None:
        location, is_return = location[wanted], is_return[wanted]
    mapping = locations.mapping[location]
    object_ids, row = _objects_of(profile, objects, recording)
    offset = locations.address[location]
    offset -= np.append(objects.base, np.uint64(0))[mapping]  # here and below the last ones serve −1
    is_local = np.append(objects.is_local, False)[mapping]
    is_local |= (mapping < 0) & (locations.mode[location] == CpuMode.KERNEL) & ~locations.synthetic[location]
    variant = np.append(objects.variant, 0).astype(np.int32)[mapping]
    del mapping
    row, ids = row[location], np.empty((len(location), WIDTH), np.uint8)
    for first in range(0, len(ids), _AT_ONCE):
        at = slice(first, first + _AT_ONCE)
        mode = locations.mode[location[at]]
        ids[at] = place_ids(object_ids[row[at]], offset[at], mode, is_return[at], variant[at])
    return ProfilePlaces(ids, row, object_ids, offset, is_return, variant, is_local, location, objects)


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
