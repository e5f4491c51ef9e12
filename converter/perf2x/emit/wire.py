"""Protobuf messages from columns: one numpy pass per field instead of one Python object per message.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding). Every function makes a Ragged
of uint8, one row of bytes per message; rows are glued with ragged.side_by_side.
"""

from collections.abc import Sequence

import numpy as np

from perf2x.model.arrays import I64, AnyArray
from perf2x.model.ragged import Ragged, offsets_of, ranges, side_by_side

_VARINT, _LENGTH = 0, 2
_LIMITS = np.array([1 << (7 * size) for size in range(1, 10)], np.uint64)
"""The least value that needs 2, 3, … 10 bytes."""


def varints(values: AnyArray) -> Ragged:
    """Each value as a varint: seven bits a byte, lowest first, the top bit set on all but the last.

    Signed values are written as their 64-bit two's complement, as int64 fields are.
    """
    rest = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
    size = np.searchsorted(_LIMITS, rest, side="right") + 1
    offsets = offsets_of(size)
    out = np.empty(offsets[-1], np.uint8)
    at, rows = offsets[:-1].copy(), np.arange(len(rest))
    while len(rows):
        last = rest < 128
        out[at] = (rest & np.uint64(127)).astype(np.uint8) | (~last).astype(np.uint8) << 7
        rows, at, rest = rows[~last], at[~last] + 1, rest[~last] >> np.uint64(7)
    return Ragged(offsets, out)


def number_field(field: int, values: AnyArray) -> Ragged:
    """A varint field of every message; value 0 is left out, as proto3 does."""
    present = np.flatnonzero(values)
    return _scattered(len(values), present, _tagged(field, _VARINT, varints(values[present])))


def packed_field(field: int, rows: Ragged) -> Ragged:
    """A repeated varint field in packed form; rows without values are left out."""
    return message_field(field, _concatenated(varints(rows.values), rows.offsets))


def message_field(field: int, messages: Ragged) -> Ragged:
    """Bytes as a length-delimited field; empty rows are left out."""
    present = np.flatnonzero(messages.lengths)
    held = messages.take(present)
    return _scattered(len(messages), present, side_by_side([_tagged(field, _LENGTH, varints(held.lengths)), held]))


def nested_field(field: int, messages: Ragged, offsets: I64) -> Ragged:
    """A repeated message field: owner i holds ``messages[offsets[i]:offsets[i + 1]]``. Empty messages are kept."""
    delimited = side_by_side([_tagged(field, _LENGTH, varints(messages.lengths)), messages])
    return _concatenated(delimited, offsets)


def top_level(field: int, messages: Ragged) -> bytes:
    """All messages as one repeated field of the outermost message, ready to be written."""
    return bytes(nested_field(field, messages, np.array([0, len(messages)], np.int64)).values)


Chosen = tuple[Ragged, I64]
"""A table and rows of it: row i is what stands in the table's row ``chosen[1][i]``."""


def whole(rows: Ragged) -> Chosen:
    """Every row once, in order."""
    return rows, np.arange(len(rows))


def chosen_messages(field: int, parts: Sequence[Chosen]) -> bytes:
    """A repeated message field of the outermost message; each message is a row of every part, side by side.

    Each byte is copied once: messages often share the rows of a part, which therefore stand in its table once.
    """
    lengths = np.stack([rows.lengths[chosen] for rows, chosen in parts], axis=1)
    head = whole(_tagged(field, _LENGTH, varints(lengths.sum(axis=1))))
    tables = [head, *parts]
    base = np.cumsum([0, *(len(rows.values) for rows, _ in tables)])[:-1]
    starts = np.stack([rows.offsets[chosen] + at for (rows, chosen), at in zip(tables, base, strict=True)], axis=1)
    lengths = np.concatenate([head[0].lengths[:, None], lengths], axis=1)
    values = np.concatenate([rows.values for rows, _ in tables])
    return bytes(values.take(ranges(starts.reshape(-1), lengths.reshape(-1))))


def text_fields(field: int, texts: Sequence[str]) -> bytes:
    """A repeated string field of the outermost message."""
    encoded = [text.encode() for text in texts]
    lengths = varints(np.array([len(text) for text in encoded], np.int64))
    sizes, ends = lengths.values.tobytes(), lengths.offsets.tolist()
    tag = bytes([field << 3 | _LENGTH])
    return b"".join(
        piece for row, text in enumerate(encoded) for piece in (tag, sizes[ends[row] : ends[row + 1]], text)
    )


def _tagged(field: int, wire_type: int, rows: Ragged) -> Ragged:
    """Every row behind the field's tag; fields up to 15 have tags of one byte, and the schema has no other."""
    tag = Ragged(np.arange(len(rows) + 1, dtype=np.int64), np.full(len(rows), field << 3 | wire_type, np.uint8))
    return side_by_side([tag, rows])


def _scattered(count: int, present: I64, rows: Ragged) -> Ragged:
    """A table of ``count`` rows that are empty except the present ones."""
    lengths = np.zeros(count, np.int64)
    lengths[present] = rows.lengths
    return Ragged(offsets_of(lengths), rows.values)


def _concatenated(rows: Ragged, offsets: I64) -> Ragged:
    """Neighbouring rows made one: row i is rows[offsets[i]:offsets[i + 1]]; no byte moves."""
    return Ragged(rows.offsets[offsets], rows.values)
