"""Adds the fields of tracepoint samples to a timeline as columns: ``prev_comm``, ``next_pid`` …

Few formats need them, so the raw bytes of samples are read in a separate pass, and matched with the profile's samples
by position in the recording. Source of truth: the recorded format files (reader/records/tracepoint_decoder.py).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    AnyArray,
    ColumnTable,
    ListArray,
    ListInterner,
    argsort,
    as_int32,
    as_int64,
    flatnonzero,
    group_rows,
    join_tables,
    searchsorted,
)
from perf2x.model.profile import FieldColumn, Profile, TracepointFields
from perf2x.model.recording import Recording, Want


class _RawSamples(ColumnTable):
    """Samples of one event."""

    position: I64
    """As in Samples.position."""
    raw: ListArray
    """The bytes of each sample's fields."""


def _tracepoint_formats(recording: Recording) -> dict[int, list[Mapping[str, Any]]]:
    """Return the fields of each tracepoint event (row of session.events), except those that all tracepoints have."""
    session = recording.session
    return {
        row: [field for field in entry["fields"] if not field["name"].startswith("common_")]
        for row, event in enumerate(session.events)
        if (entry := session.tracepoint_format(event))
    }


def _raw_samples(recording: Recording, events: set[int]) -> dict[int, _RawSamples]:
    """Read the samples of these events that have raw bytes; events without any are omitted."""
    parts: dict[int, list[_RawSamples]] = {}
    for batch in recording.samples(Want.RAW | Want.REREAD):
        if batch.raw is None:
            continue
        for event in events:
            rows = flatnonzero((batch.event == event) & (batch.raw.lengths > 0))
            if len(rows):
                parts.setdefault(event, []).append(_RawSamples(batch.position[rows], batch.raw[rows]))
    return {event: join_tables(tables) for event, tables in sorted(parts.items())}


def _numbers_at(raw: ListArray, offset: int, size: int, signed: bool, order: str) -> AnyArray:
    """Return (n,) int64 or uint64 numbers of 1, 2, 4 or 8 bytes; bytes beyond a row's end are zeros."""
    values = raw.numbers_at(offset, f"{order}{'i' if signed else 'u'}{size}")
    return values.astype(np.int64 if signed else np.uint64)


_EXACT = 1 << 53
"""JSON's numbers are doubles, which cannot represent all integers from here on."""

_NUMBER_SIZES = (1, 2, 4, 8)


def with_fields(profile: Profile, recording: Recording) -> Profile:
    """Return the timeline with the fields of all tracepoints with a recorded format; positions are removed."""
    samples, formats = profile.samples, _tracepoint_formats(recording)
    if samples.position is None:
        return profile
    # the rows of all tables are numbered throughout; base is the number of the first row of the next table
    fields, tables, base = np.full(len(samples), -1, np.int32), list[TracepointFields](), 0
    for event, raw_samples in _raw_samples(recording, set(formats)).items():
        order = argsort(raw_samples.position)
        found = searchsorted(raw_samples.position[order], samples.position)
        row = order[np.minimum(found, len(raw_samples) - 1)]
        fields = as_int32(np.where(raw_samples.position[row] == samples.position, base + row, fields))
        tables.append(decode_columns(formats[event], raw_samples.raw, recording.session.byte_order))
        base += len(raw_samples)
    samples = replace(samples, position=None, fields=fields if formats else None)
    return replace(profile, samples=samples, fields=tuple(tables))


def decode_columns(fields: list[Mapping[str, Any]], raw: ListArray, order: str) -> TracepointFields:
    """Decode the fields of all rows of ``raw``, as columns; bytes beyond a row's end count as zeros."""
    columns = [column for field in fields for column in _columns(field, raw, order)]
    return TracepointFields(len(raw), tuple(columns))


def _columns(field: Mapping[str, Any], raw: ListArray, order: str) -> list[FieldColumn]:
    """Return the column of a field, or one column for each element of a short array of numbers."""
    kind, name, offset, size = field["type"], field["name"], field["offset"], field["size"]
    if kind.startswith(("__data_loc", "__rel_loc")):
        # the field says where its data is: offset in the lower 16 bits, length above; __rel_loc counts from its end
        location = as_int64(_numbers_at(raw, offset, 4, False, order))
        start = (location & 0xFFFF) + (offset + size if kind.startswith("__rel_loc") else 0)
        return [_text_column(name, raw, start, location >> 16, "char" in kind)]
    if "[" in kind and "char" not in kind and (width := _element_size(field)):
        return [
            _number_column(f"{name}[{at // width}]", kind, _numbers_at(raw, offset + at, width, field["signed"], order))
            for at in range(0, size, width)
        ]
    if size in _NUMBER_SIZES and "[" not in kind:
        return [_number_column(name, kind, _numbers_at(raw, offset, size, field["signed"], order))]
    return [
        _text_column(name, raw, np.full(len(raw), offset, np.int64), np.full(len(raw), size, np.int64), "char" in kind)
    ]


def _element_size(field: Mapping[str, Any]) -> int:
    """Return the size in bytes of the elements of an array of at most 16 numbers; 0 for any other field."""
    count = field["type"].rpartition("[")[2].rstrip("]")
    number = int(count) if count.isdigit() else 0
    width = field["size"] // number if 0 < number <= 16 else 0
    return width if width in _NUMBER_SIZES and width * number == field["size"] else 0


def _number_column(name: str, kind: str, values: AnyArray) -> FieldColumn:
    """Return a column of integers; of hexadecimal strings for pointers, or if a number is too large for doubles."""
    is_address = kind.endswith("*")
    if is_address or (len(values) and (int(values.max()) >= _EXACT or int(values.min()) <= -_EXACT)):
        first, row = group_rows([values])
        return FieldColumn(name, "text", row, [hex(value) for value in values[first].tolist()])
    return FieldColumn(name, "integer", as_int64(values))


def _text_column(name: str, raw: ListArray, start: I64, length: I64, is_text: bool) -> FieldColumn:
    """Return a column of strings: characters up to the first NUL if ``is_text``, otherwise hexadecimal digits."""
    start = np.minimum(start, raw.lengths)
    length = np.minimum(length, raw.lengths - start)
    distinct = ListInterner(np.uint8)
    row = distinct.number_spans(raw.values, raw.offsets[:-1] + start, length)
    texts = [_text(entry.tobytes(), is_text) for entry in distinct.table().rows()]
    # in order of appearance, because an interner's numbers depend on hashes, which differ from run to run
    first, _ = group_rows([row])
    order = argsort(first)
    return FieldColumn(name, "text", argsort(order)[row], [texts[number] for number in order.tolist()])


def _text(octets: bytes, is_text: bool) -> str:
    return octets.split(b"\0", 1)[0].decode("utf-8", "surrogateescape") if is_text else octets.hex()
