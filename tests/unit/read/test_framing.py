import struct
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.reader.framing import frame

Order = Literal["<", ">"]
LOOKS_LIKE_A_HEADER = (9, 2, 24)
"""type, misc, size: put into payloads."""
PAYLOADS = st.lists(
    st.sampled_from([(0, 0, 0), LOOKS_LIKE_A_HEADER, (9, 1, 8), (0xFFFFFF80, 0xFFFF, 0xFFFF)]), max_size=5
)
RECORDS = st.lists(
    st.tuples(st.sampled_from([1, 9, 68, 1 << 20]), PAYLOADS, st.sampled_from([1, 1, 3, 20, 300]), st.integers(0, 3)),
    max_size=8,
)
"""(type, payload, how many of them, bytes more than a multiple of eight)."""


def _bytes(records: list[tuple[int, list[tuple[int, int, int]], int, int]], order: Order) -> bytes:
    out = b""
    for kind, payload, count, more in records:
        words = b"".join(struct.pack(order + "IHH", *word) for word in payload) + b"\0" * (more if more == 3 else 0)
        out += (struct.pack(order + "IHH", kind, 1, 8 + len(words)) + words) * count
    return out


def _followed(data: bytes, order: Order) -> list[int]:
    """The sizes, followed one by one."""
    sizes, at = [], 0
    while at + 8 <= len(data):
        size = struct.unpack_from(order + "H", data, at + 6)[0]
        if size < 8 or at + size > len(data):
            break
        sizes.append(size)
        at += size
    return sizes


@pytest.mark.parametrize("order", ["<", ">"])
@given(records=RECORDS, cut=st.integers(0, 40), tail=st.binary(max_size=20))
def test_runs_of_headers_are_what_following_them_gives(
    order: Order, records: list[tuple[int, list[tuple[int, int, int]], int, int]], cut: int, tail: bytes
) -> None:
    whole = _bytes(records, order)
    for data in (whole, whole[: max(0, len(whole) - cut)], whole + tail):
        framed = frame(np.frombuffer(data, np.uint8), order, specials=frozenset())
        assert framed.sizes.tolist() == _followed(data, order)
        assert framed.length == sum(framed.sizes.tolist())
        assert framed.special == 0


@given(st.binary(max_size=400))
def test_any_bytes_are_framed_as_following_them_does(data: bytes) -> None:
    framed = frame(np.frombuffer(data, np.uint8), "<", specials=frozenset())
    assert framed.sizes.tolist() == _followed(data, "<")
