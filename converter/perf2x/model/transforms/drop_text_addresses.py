"""Removes placeholder addresses from profiles made of text, whose locations have only names."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import new_rows, take_rows_of
from perf2x.model.profile import Profile


def without_places(profile: Profile) -> Profile:
    """Set the numbers that stand in for addresses to 0, and remove objects without a name."""
    mappings, locations = profile.mappings, profile.locations
    nowhere = mappings.limit == 0
    if not nowhere.any():
        return profile
    kept = ~(nowhere & (mappings.filename == 0))
    is_place = np.append(nowhere, True)[locations.mapping]
    address, lookup = (np.where(is_place, np.uint64(0), one) for one in (locations.address, locations.lookup))
    locations = replace(locations, address=address, lookup=lookup, mapping=new_rows(kept)[locations.mapping])
    return replace(profile, mappings=take_rows_of(mappings, kept), locations=locations)
