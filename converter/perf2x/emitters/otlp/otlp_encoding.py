"""Two encodings of the same messages, from columns: protobuf, and the protocol's JSON. They have the same methods.

A *row* is the bytes of one field, or of all fields of one message, for each of n messages; a *piece* is bytes of one
message that is put together from the inside out. What is 0 or empty is left out, as proto3 does.
"""

from collections.abc import Mapping

import numpy as np

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.ragged import Ragged
from perf2x.emitters.otlp.json_text import JsonText
from perf2x.emitters.otlp.otlp_schema import Field
from perf2x.emitters.otlp.protobuf_columns import Wire

Encoding = Wire | JsonText


def encoded_rows(encoding: Encoding, fields: Mapping[Field, AnyArray | Ragged]) -> Ragged:
    """(n,) messages whose fields, in this order, are a number (a column) or a list of numbers (a table)."""
    rows = (
        encoding.numbers(field, values) if isinstance(values, Ragged) else encoding.number(field, values)
        for field, values in fields.items()
    )
    return encoding.joined(list(rows))


def one_number(encoding: Encoding, field: Field, value: int) -> bytes:
    """Encode a field of one message; nothing for 0."""
    return bytes(encoding.number(field, np.array([value], np.uint64)).values)
