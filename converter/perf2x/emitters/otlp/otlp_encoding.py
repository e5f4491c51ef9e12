"""Single messages, beside those of columns in `perf2x.emitters.encoding.protobuf`.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding).
"""

import numpy as np

from perf2x.emitters.encoding.protobuf import LENGTH, number_field, varint
from perf2x.emitters.otlp.otlp_schema import Pieces


def entry(field: int, pieces: Pieces) -> list[bytes]:
    """One message of the given pieces behind tag and length."""
    held = list(pieces)  # the length stands in front
    return [varint(field << 3 | LENGTH) + varint(sum(map(len, held))), *held]


def one_number(field: int, value: int) -> bytes:
    """Encode a varint field of one message; nothing for 0."""
    return bytes(number_field(field, np.array([value], np.uint64)).values)
