"""Fields of tracepoints in the payloads of markers, and in their schemas."""

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray
from perf2x.base.columnar.unique import unique
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.encoding.text_chunks import chunk_array, interleaved, number_chunks
from perf2x.emitters.timeline.field_rows import field_tables
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.tracepoint_fields import FieldColumn, TracepointFields

_TAKEN = frozenset({"type", "cause", "stack", "category", "innerWindowID"})
"""Members of a payload that mean something to the viewer."""

_FORMATS = {"integer": "integer", "text": "string"}


def field_chunks(profile: Profile, rows: I64) -> AnyArray:
    """(rows,) the fields of each of these samples as members of a JSON object, each with a comma in front."""
    chunks = chunk_array([b""] * len(rows))
    for entry, held, local in field_tables(profile, rows):
        if entry.columns:
            chunks[held] = _members(entry, local)
    return chunks


def _members(entry: TracepointFields, rows: I64) -> AnyArray:
    pieces = []
    for column in entry.columns:
        pieces.append(chunk_array([b",%b:" % json_bytes(_key(column))] * len(rows)))
        pieces.append(_values(column, rows))
    whole = interleaved(*pieces, chunk_array([b"\n"] * len(rows)))
    return chunk_array(whole.split(b"\n")[:-1])


def _values(column: FieldColumn, rows: I64) -> AnyArray:
    if column.kind == "integer":
        return number_chunks(column.values[rows])
    used = unique(column.values[rows])
    texts = chunk_array([b""] * len(column.texts))
    texts[used] = chunk_array(json_bytes(printable(column.texts[row])) for row in used.tolist())
    return texts[column.values[rows]]


def _key(column: FieldColumn) -> str:
    name = printable(column.name)
    return f"{name}_" if name in _TAKEN else name


def events_with_fields(profile: Profile) -> list[int]:
    """Return the events whose samples have fields."""
    if profile.samples.fields is None:
        return []
    return [int(row) for row in unique(profile.samples.event[profile.samples.fields >= 0])]


def field_formats(profile: Profile, kind: int) -> dict[str, str]:
    """Return the fields of an event, with the viewer's format of each."""
    rows = np.flatnonzero(profile.samples.event == kind)
    return {
        _key(column): _FORMATS[column.kind] for entry, _, _ in field_tables(profile, rows) for column in entry.columns
    }
