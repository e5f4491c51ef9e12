"""The object whose code is to be counted: the one that was named, or the one with most samples."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from perf2x.base.errors import OptionError
from perf2x.model.recording.mapping_names import is_real_path, without_deleted
from perf2x.stitcher.history.kernel_mappings import is_kernel_mapping
from perf2x.transforms.filters.unmatched_filters import no_such

if TYPE_CHECKING:
    from perf2x.base.columnar.arrays import I64
    from perf2x.model.profile.profile import Profile
    from perf2x.stitcher.process_history import ProcessHistory

_BUILD_ID = re.compile(r"[0-9a-f]{6,40}")


class CountedObject(Struct, frozen=True):
    """A file that was mapped, as recorded."""

    filename: str
    build_id: str
    """Lower-case hexadecimal, "" where unknown."""
    rows: I64
    """Rows of ``ProcessHistory.mmaps``."""


def counted_object(history: ProcessHistory, profile: Profile, wanted: str) -> CountedObject:
    """Find the object called ``wanted``: a path, its last part or (the beginning of) a build id; "": the hottest.

    OptionError when nothing or more than one object is meant.
    """
    mapped = _mapped_files(history)
    weight = _samples_of(profile)
    keys = sorted(mapped, key=lambda key: (-weight[key], key))
    found = [key for key in keys if _is_meant(wanted, *key)] if wanted else keys[:1]
    if not found:
        raise OptionError(no_such("object", wanted, [name for name, _ in keys]))
    if len(found) > 1:
        raise OptionError(f"{wanted!r} means several objects: {', '.join(map(_in_full, found))}")
    return CountedObject(*found[0], np.array(mapped[found[0]], np.int64))


def _mapped_files(history: ProcessHistory) -> dict[tuple[str, str], list[int]]:
    """Rows of each (file, build id) that programs mapped."""
    mapped: dict[tuple[str, str], list[int]] = {}
    for row in np.flatnonzero(~is_kernel_mapping(history.mmaps)).tolist():
        name = history.mmaps.filename[row]
        if is_real_path(name):
            mapped.setdefault((name, history.mappings.build_ids[row]), []).append(row)
    return mapped


def _samples_of(profile: Profile) -> Counter[tuple[str, str]]:
    """Samples whose innermost frame lies in each (file, build id)."""
    leaf = np.append(profile.stacks.location, -1)[profile.samples.stack]
    mapping = np.append(profile.locations.mapping, -1)[leaf]
    count = np.zeros(len(profile.mappings) + 1, np.int64)
    np.add.at(count, mapping, profile.samples.count)
    weight: Counter[tuple[str, str]] = Counter()
    for row, (name, ident) in enumerate(zip(profile.mappings.filename, profile.mappings.build_id, strict=True)):
        weight[profile.strings[name], profile.strings[ident]] += int(count[row])
    return weight


def _is_meant(wanted: str, name: str, build_id: str) -> bool:
    plain = without_deleted(name)
    if wanted in (name, plain, plain.rpartition("/")[2]):
        return True
    return bool(_BUILD_ID.fullmatch(wanted)) and build_id.startswith(wanted)


def _in_full(key: tuple[str, str]) -> str:
    name, build_id = key
    return f"{name} (build id {build_id})" if build_id else name
