"""Messages of columns: what `perf2x.emitters.encoding.protobuf` lacks.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding).
"""

from collections.abc import Mapping

import numpy as np

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.ragged import Ragged, side_by_side
from perf2x.emitters.encoding.protobuf import LENGTH, number_field, packed_field, varint
from perf2x.emitters.otlp.otlp_schema import Pieces


def encoded_rows(fields: Mapping[int, AnyArray | Ragged]) -> Ragged:
    """(n,) messages whose fields, in this order, are a varint (a column) or packed varints (a table)."""
    rows = (
        packed_field(field, values) if isinstance(values, Ragged) else number_field(field, values)
        for field, values in fields.items()
    )
    return side_by_side(list(rows))


def entry(field: int, pieces: Pieces) -> list[bytes]:
    """One message of the given pieces behind tag and length."""
    held = list(pieces)  # the length stands in front
    return [varint(field << 3 | LENGTH) + varint(sum(map(len, held))), *held]


def one_number(field: int, value: int) -> bytes:
    """Encode a varint field of one message; nothing for 0."""
    return bytes(number_field(field, np.array([value], np.uint64)).values)
