"""Makes a profile of one object's places, so that the symbolizer can look up their names."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import StringTableBuilder, as_uint64, falses, zeros
from perf2x.model.printable_text import undo_printable
from perf2x.model.profile import Locations, Profile
from perf2x.model.recording import KERNEL, Session
from perf2x.sources.dataset.arrow_columns import map_strings
from perf2x.sources.dataset.names.unnamed_places import CodeObject
from perf2x.sources.dataset.read.restore_profile import restore_mappings
from perf2x.sources.dataset.write.profile_places import code_objects
from perf2x.sources.dataset.write.recording_to_store import empty_profile


def object_profile(code: CodeObject) -> Profile:
    """Make a profile without samples, with a location for each place, in order.

    Addresses count from the base of the object's first mapping, and may lie outside it.
    """
    strings, no_lines = StringTableBuilder(), np.zeros(0, np.int32)
    mappings = restore_mappings(code.mappings, strings)
    objects = code_objects(mappings, strings.table(), bytes.fromhex(code.facts["recording"]))
    mapping = objects.ids.index(code.id)
    address = code.places.offset + objects.base[mapping]
    count = len(address)
    return replace(
        empty_profile(""),
        strings=strings.table(),
        mappings=mappings,
        locations=Locations(
            address=address,
            lookup=address - as_uint64(code.places.is_return),
            mapping=np.full(count, mapping, np.int32),
            mode=code.places.mode,
            synthetic=falses(count),
            line_offsets=zeros(count + 1),
            line_function=no_lines,
            line_number=no_lines,
        ),
    )


def object_session(code: CodeObject) -> Session:
    """Make a session with what symbolization needs to know."""
    facts = map_strings(code.facts, undo_printable)
    return Session(
        source="",
        byte_order="<",
        events=(),
        arch=facts["arch"],
        hostname=facts["host"],
        os_release=facts["kernel"],
        build_ids={KERNEL: bytes.fromhex(kernel)} if (kernel := facts["kernel_build_id"]) else {},
    )
