"""Places of a profile's locations, and nodes of its stacks, by id."""

import numpy as np
from msgspec import Struct

from perf2x.abi.uapi import CpuMode
from perf2x.columnar.arrays import I64, U8, U64, Bools
from perf2x.dataset.code_objects import UNMAPPED, CodeObjects, code_objects, made_up_object, unmapped_kernel
from perf2x.dataset.ids import as_rows, node_ids, place_ids
from perf2x.tables.profile import Profile


class ProfilePlaces(Struct, frozen=True):
    """Places of a profile: one of each location, then exact twins of the kernel's return addresses."""

    id: U8
    """(places, 16)"""
    object_id: U8
    """(places, 16)"""
    offset: U64
    """(places,) the distance from the object's base; 0 of frames that stand for no code."""
    is_return: Bools
    variant: I64
    is_local: Bools
    """(places,) the place means nothing outside its recording."""
    location: I64
    """(places,) row of the profile's locations."""
    objects: CodeObjects


def profile_places(profile: Profile, recording: bytes) -> ProfilePlaces:
    """Find the places of all locations of a recording's profile.

    A return address of the kernel may turn out to be where an interrupt came, once functions have names: it is there a
    second time as an exact address, so that whoever names places names both.
    """
    locations, objects = profile.locations, code_objects(profile.mappings, profile.strings, recording)
    twins = np.flatnonzero((locations.mode == CpuMode.KERNEL) & (locations.lookup != locations.address))
    location = np.append(np.arange(len(locations)), twins[~locations.synthetic[twins]]).astype(np.int64)
    is_return = (locations.lookup != locations.address)[location]
    is_return[len(locations) :] = False
    mapping = locations.mapping[location].astype(np.int64)
    base, variant = np.append(objects.base, np.uint64(0)), np.append(objects.variant, 0)  # the last ones serve −1
    object_id = _objects_of(profile, objects, recording)[location]
    offset = locations.address[location] - base[mapping]
    is_local = np.append(objects.is_local, False)[mapping]
    is_local |= (mapping < 0) & (locations.mode[location] == CpuMode.KERNEL) & ~locations.synthetic[location]
    ids = place_ids(object_id, offset, locations.mode[location], is_return, variant[mapping])
    return ProfilePlaces(ids, object_id, offset, is_return, variant[mapping], is_local, location, objects)


def _objects_of(profile: Profile, objects: CodeObjects, recording: bytes) -> U8:
    """(locations, 16) the object of each location."""
    locations = profile.locations
    kernel = unmapped_kernel(recording)
    known = [*objects.ids, UNMAPPED, kernel]
    row = np.where(locations.mapping >= 0, locations.mapping, len(known) - 2).astype(np.int64)
    row[(locations.mapping < 0) & (locations.mode == CpuMode.KERNEL)] = len(known) - 1
    for location in np.flatnonzero(locations.synthetic).tolist():
        row[location] = len(known)
        known.append(made_up_object(made_up_name(profile, location)))
    return as_rows(known)[row]


def made_up_name(profile: Profile, location: int) -> str:
    """Name of a frame that stands for no code."""
    function = int(profile.locations.line_function[profile.locations.line_offsets[location]])
    return profile.strings[int(profile.functions.name[function])]


def profile_nodes(profile: Profile, places: ProfilePlaces) -> U8:
    """(stacks, 16) ids of the profile's nodes."""
    return node_ids(profile.stacks.parent.astype(np.int64), places.id[profile.stacks.location])
