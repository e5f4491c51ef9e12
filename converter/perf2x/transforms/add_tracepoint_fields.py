"""Adds the fields of tracepoints to a timeline: ``prev_comm``, ``next_pid`` … of each sample.

Bytes are read by traced_samples.py. Source of truth: the format files of the recording
(reader/records/tracepoint_decoder.py).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, AnyArray
from perf2x.base.columnar.interner import RaggedInterner
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import group_rows
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.tracepoint_fields import FieldColumn, TracepointFields
from perf2x.model.recording.events import Recording
from perf2x.transforms.traced_samples import numbers_at, recorded_rows, traced_samples, tracepoint_formats

_EXACT = 1 << 53
"""JSON's numbers are doubles; greater ones are no longer exact."""

_NUMBER_SIZES = (1, 2, 4, 8)


def with_fields(profile: Profile, recording: Recording) -> Profile:
    """Return the timeline with the fields of all tracepoints whose format was recorded."""
    formats = tracepoint_formats(recording)
    if profile.samples.time is None or not formats:
        return profile
    fields = np.full(len(profile.samples), -1, np.int32)
    tables: list[TracepointFields] = []
    base = 0
    for event, traced in traced_samples(recording, set(formats)).items():
        rows = np.flatnonzero(profile.samples.event == event)
        found = recorded_rows(profile, rows, traced)
        fields[rows] = np.where(found >= 0, base + found, -1)
        tables.append(decode_columns(formats[event], traced.raw, recording.session.byte_order))
        base += len(traced)
    return replace(profile, samples=replace(profile.samples, fields=fields), fields=tuple(tables))


def decode_columns(fields: list[Mapping[str, Any]], raw: Ragged, order: str) -> TracepointFields:
    """Decode fields of all rows; bytes beyond a row's end are zeros."""
    columns = [column for field in fields for column in _columns(field, raw, order)]
    return TracepointFields(len(raw), tuple(columns))


def _columns(field: Mapping[str, Any], raw: Ragged, order: str) -> list[FieldColumn]:
    """One column for each field, one for each element of an array of numbers."""
    kind, name, offset, size = field["type"], field["name"], field["offset"], field["size"]
    if kind.startswith(("__data_loc", "__rel_loc")):
        place = numbers_at(raw, offset, 4, False, order).astype(np.int64)
        start = (place & 0xFFFF) + (offset + size if kind.startswith("__rel_loc") else 0)
        return [_text_column(name, raw, start, place >> 16, "char" in kind)]
    if "[" in kind and "char" not in kind and (width := _element_size(field)):
        return [
            _number_column(f"{name}[{at // width}]", kind, numbers_at(raw, offset + at, width, field["signed"], order))
            for at in range(0, size, width)
        ]
    if size in _NUMBER_SIZES and "[" not in kind:
        return [_number_column(name, kind, numbers_at(raw, offset, size, field["signed"], order))]
    return [_text_column(name, raw, np.full(len(raw), offset), np.full(len(raw), size), "char" in kind)]


def _element_size(field: Mapping[str, Any]) -> int:
    """Bytes of each element of an array of a few numbers, 0 for anything else."""
    count = field["type"].rpartition("[")[2].rstrip("]")
    number = int(count) if count.isdigit() else 0
    width = field["size"] // number if 0 < number <= 16 else 0
    return width if width in _NUMBER_SIZES and width * number == field["size"] else 0


def _number_column(name: str, kind: str, values: AnyArray) -> FieldColumn:
    """Addresses and numbers that doubles cannot hold are hexadecimal texts."""
    is_address = kind.endswith("*")
    if is_address or (len(values) and (int(values.max()) >= _EXACT or int(values.min()) <= -_EXACT)):
        first, row = group_rows([values])
        return FieldColumn(name, "text", row, [hex(value) for value in values[first].tolist()])
    return FieldColumn(name, "integer", values.astype(np.int64))


def _text_column(name: str, raw: Ragged, start: I64, length: I64, is_text: bool) -> FieldColumn:
    """Texts up to their first NUL; other bytes as hexadecimal digits."""
    start = np.minimum(start, raw.lengths)
    length = np.minimum(length, raw.lengths - start)
    distinct = RaggedInterner(np.uint8)
    row = distinct.number_spans(raw.values, raw.offsets[:-1] + start, length)
    found = distinct.table()
    return FieldColumn(name, "text", row, [_text(entry.tobytes(), is_text) for entry in found.rows()])


def _text(octets: bytes, is_text: bool) -> str:
    return octets.split(b"\0", 1)[0].decode("utf-8", "surrogateescape") if is_text else octets.hex()
