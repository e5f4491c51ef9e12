"""Adds the fields of tracepoint samples, such as ``prev_comm`` and ``next_pid``, to a timeline as columns.

A separate pass reads the raw data of samples (PERF_SAMPLE_RAW). Source of truth: the kernel's format files, which the
recording contains (reader/records/tracepoint_decoder.py).
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
    position: I64
    """Position in the recording, as in Samples.position."""
    raw: ListArray
    """The bytes of each sample's fields."""


def _tracepoint_formats(recording: Recording) -> dict[int, list[Mapping[str, Any]]]:
    """Return fields by row of session.events, without those that all tracepoints have ("common_pid" …)."""
    session = recording.session
    return {
        row: [field for field in entry["fields"] if not field["name"].startswith("common_")]
        for row, event in enumerate(session.events)
        if (entry := session.tracepoint_format(event))
    }


def _raw_samples(recording: Recording, events: set[int]) -> dict[int, _RawSamples]:
    parts: dict[int, list[_RawSamples]] = {}
    for batch in recording.samples(Want.RAW | Want.REREAD):
        if batch.raw is None:
            continue
        for event in events:
            rows = flatnonzero((batch.event == event) & (batch.raw.lengths > 0))
            if len(rows):
                parts.setdefault(event, []).append(_RawSamples(batch.position[rows], batch.raw[rows]))
    return {event: join_tables(tables) for event, tables in sorted(parts.items())}


def _numbers_at(raw: ListArray, offset: int, size: int, signed: bool, byte_order: str) -> AnyArray:
    """Return (n,) int64 or uint64; bytes beyond a row's end are zeros.

    ``size``: 1, 2, 4 or 8 bytes; ``byte_order``: ``<`` or ``>``.
    """
    values = raw.numbers_at(offset, f"{byte_order}{'i' if signed else 'u'}{size}")
    return values.astype(np.int64 if signed else np.uint64)


# JSON's numbers are doubles, which cannot represent all integers from here on
_FIRST_INEXACT = 1 << 53

_NUMBER_SIZES = (1, 2, 4, 8)  # bytes


def with_fields(profile: Profile, recording: Recording) -> Profile:
    """Add the fields of all tracepoints whose format was recorded; the samples' positions are removed."""
    samples, formats = profile.samples, _tracepoint_formats(recording)
    if samples.position is None:
        return profile
    # the rows of all events' tables are numbered consecutively; −1: a sample without a row
    field_row, tables, first_row = np.full(len(samples), -1, np.int32), list[TracepointFields](), 0
    for event, raw_samples in _raw_samples(recording, set(formats)).items():
        by_position = argsort(raw_samples.position)
        index = searchsorted(raw_samples.position[by_position], samples.position)
        raw_row = by_position[np.minimum(index, len(raw_samples) - 1)]
        is_found = raw_samples.position[raw_row] == samples.position
        field_row = as_int32(np.where(is_found, first_row + raw_row, field_row))
        tables.append(decode_columns(formats[event], raw_samples.raw, recording.session.byte_order))
        first_row += len(raw_samples)
    samples = replace(samples, position=None, fields=field_row if formats else None)
    return replace(profile, samples=samples, fields=tuple(tables))


def decode_columns(formats: list[Mapping[str, Any]], raw: ListArray, byte_order: str) -> TracepointFields:
    """Decode the fields with these formats in all rows of ``raw``."""
    columns = [column for field in formats for column in _columns(field, raw, byte_order)]
    return TracepointFields(len(raw), tuple(columns))


def _columns(field: Mapping[str, Any], raw: ListArray, byte_order: str) -> list[FieldColumn]:
    field_type, name, offset, size = field["type"], field["name"], field["offset"], field["size"]
    if field_type.startswith(("__data_loc", "__rel_loc")):
        # bits 0–15 are an offset of the data, bits 16–31 its length; the offset is relative to the beginning of the raw
        # data, or for __rel_loc to the end of this field
        location = as_int64(_numbers_at(raw, offset, 4, False, byte_order))
        start = (location & 0xFFFF) + (offset + size if field_type.startswith("__rel_loc") else 0)
        return [_string_column(name, raw, start, location >> 16, "char" in field_type)]
    if "[" in field_type and "char" not in field_type and (element_size := _element_size(field)):
        return [
            _number_column(
                f"{name}[{element_offset // element_size}]",
                field_type,
                _numbers_at(raw, offset + element_offset, element_size, field["signed"], byte_order),
            )
            for element_offset in range(0, size, element_size)
        ]
    if size in _NUMBER_SIZES and "[" not in field_type:
        return [_number_column(name, field_type, _numbers_at(raw, offset, size, field["signed"], byte_order))]
    return [
        _string_column(
            name, raw, np.full(len(raw), offset, np.int64), np.full(len(raw), size, np.int64), "char" in field_type
        )
    ]


def _element_size(field: Mapping[str, Any]) -> int:
    count = field["type"].rpartition("[")[2].rstrip("]")
    count_or_zero = int(count) if count.isdigit() else 0
    element_size = field["size"] // count_or_zero if 0 < count_or_zero <= 16 else 0
    return element_size if element_size in _NUMBER_SIZES and element_size * count_or_zero == field["size"] else 0


def _number_column(name: str, field_type: str, values: AnyArray) -> FieldColumn:
    is_address = field_type.endswith("*")
    if is_address or (len(values) and (int(values.max()) >= _FIRST_INEXACT or int(values.min()) <= -_FIRST_INEXACT)):
        first, row = group_rows([values])
        return FieldColumn(name, "text", row, [hex(value) for value in values[first].tolist()])
    return FieldColumn(name, "integer", as_int64(values))


def _string_column(name: str, raw: ListArray, begin: I64, length: I64, has_characters: bool) -> FieldColumn:
    """Make strings from ``length`` bytes of each row, which start at ``begin`` (n,).

    Characters end before the first NUL; other bytes become hexadecimal digits. Bytes beyond a row's end are left out.
    """
    begin = np.minimum(begin, raw.lengths)
    length = np.minimum(length, raw.lengths - begin)
    distinct = ListInterner(np.uint8)
    row = distinct.number_spans(raw.values, raw.offsets[:-1] + begin, length)
    strings = [_string(entry.tobytes(), has_characters) for entry in distinct.table().rows()]
    # by first appearance: the numbers of strings are in order of hashes, which differ from run to run
    first, _ = group_rows([row])
    order = argsort(first)
    return FieldColumn(name, "text", argsort(order)[row], [strings[number] for number in order.tolist()])


def _string(content: bytes, has_characters: bool) -> str:
    return content.split(b"\0", 1)[0].decode("utf-8", "surrogateescape") if has_characters else content.hex()
