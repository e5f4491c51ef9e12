"""Protobuf of columns.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding).
"""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, Bools
from perf2x.base.columnar.ragged import Ragged, side_by_side
from perf2x.emitters.encoding.protobuf import (
    LENGTH,
    fixed_field,
    message_field,
    nested_field,
    number_field,
    packed_field,
    top_level,
    varint,
)
from perf2x.emitters.otlp.otlp_schema import Field, Pieces


class Wire:
    """An Encoding: protobuf, as files and collectors take it."""

    def number(self, field: Field, values: AnyArray, held: Bools | None = None) -> Ragged:
        """(n,) rows of a field of one number."""
        write = fixed_field if field.kind == "fixed64" else number_field
        return write(field.number, values, held)

    def numbers(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a packed field."""
        if field.kind == "fixed64":
            words = rows.values.astype("<u8")
            return message_field(field.number, Ragged(rows.offsets * 8, words.view(np.uint8)))
        return packed_field(field.number, rows)

    def octets(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a field of bytes or text."""
        return message_field(field.number, rows)

    def blob(self, field: Field, octets: bytes) -> Pieces:
        """Bytes behind tag and length."""
        return self.entry(field, [octets])

    def messages(self, field: Field, messages: Ragged, offsets: I64) -> Ragged:
        """(n,) rows of a field of messages."""
        return nested_field(field.number, messages, offsets)

    def joined(self, fields: Sequence[Ragged]) -> Ragged:
        """(n,) messages of the given fields."""
        return side_by_side(fields)

    def entries(self, field: Field, messages: Ragged) -> bytes:
        """Messages, or texts, each behind tag and length."""
        return top_level(field.number, messages)

    def entry(self, field: Field, pieces: Pieces) -> Pieces:
        """One message behind tag and length."""
        held = list(pieces)  # the length stands in front
        return [varint(field.number << 3 | LENGTH) + varint(sum(map(len, held))), *held]

    def repeated(self, field: Field, entries: Pieces) -> Pieces:
        """Entries as they are."""
        return entries

    def single(self, field: Field, pieces: Pieces) -> Pieces:
        """One message behind tag and length."""
        return self.entry(field, pieces)

    def document(self, pieces: Pieces) -> Pieces:
        """Fields as they are."""
        return pieces
