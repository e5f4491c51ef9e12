"""Fields of a single protobuf message, one by one; `protobuf_cells.py` and `protobuf.py` encode columns of them.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding).
"""

from collections.abc import Iterable
from functools import lru_cache

VARINT, FIXED64, LENGTH = 0, 1, 2
"""Wire types: a number; eight bytes; bytes behind their length."""


@lru_cache(1 << 12)
def varint(value: int) -> bytes:
    """Encode a number: seven bits a byte, lowest first; a negative one as its 64-bit two's complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def number(field: int, value: int) -> bytes:
    """A field of one number, 0 included."""
    return varint(field << 3 | VARINT) + varint(value)


def number_but_0(field: int, value: int) -> bytes:
    """A field of one number; nothing for 0, as proto3 has it."""
    return number(field, value) if value else b""


def fixed64_but_0(field: int, value: int) -> bytes:
    """A field of eight bytes, the lowest first; nothing for 0."""
    return varint(field << 3 | FIXED64) + value.to_bytes(8, "little") if value else b""


def message(field: int, payload: bytes) -> bytes:
    """A field of bytes: a message, or a text in UTF-8."""
    return varint(field << 3 | LENGTH) + varint(len(payload)) + payload


def text(field: int, value: str) -> bytes:
    """A field of text, which must be printable; nothing for an empty one."""
    return message(field, value.encode()) if value else b""


def texts(field: int, values: Iterable[str]) -> bytes:
    """A repeated field of texts, empty ones included."""
    return b"".join(message(field, value.encode()) for value in values)


def entry(field: int, pieces: Iterable[bytes]) -> list[bytes]:
    """A message of the given pieces behind tag and length."""
    held = list(pieces)  # the length stands in front
    return [varint(field << 3 | LENGTH) + varint(sum(map(len, held))), *held]
