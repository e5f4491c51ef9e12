import struct
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.reader.record_framing import SPECIAL_TYPES, WIDE_TYPES, _lookalikes, frame_records

Order = Literal["<", ">"]
LOOKS_LIKE_A_HEADER = (9, 2, 24)
"""Type, misc and size of lookalikes in payloads."""
PAYLOADS = st.lists(
    st.sampled_from([(0, 0, 0), LOOKS_LIKE_A_HEADER, (9, 1, 8), (0xFFFFFF80, 0xFFFF, 0xFFFF)]), max_size=5
)
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 9, 68, 127, 128, 129, 1 << 20]),
        PAYLOADS,
        st.sampled_from([0, 0, 0, 200, 4090, 4096, 8180]),
        st.sampled_from([1, 1, 3, 20, 300]),
        st.integers(0, 3),
    ),
    max_size=8,
)
"""(type, payload, words of zeros behind it, how many of them at most, bytes more than a multiple of eight)."""
MOST = 1 << 18
"""Bytes of equal records in a row."""
Records = list[tuple[int, list[tuple[int, int, int]], int, int, int]]


def _bytes(records: Records, order: Order) -> bytes:
    out = b""
    for kind, payload, zeros, count, more in records:
        words = b"".join(struct.pack(order + "IHH", *word) for word in payload) + b"\0" * (zeros * 8)
        words += b"\0" * (more if more == 3 else 0)
        count = min(count, MOST // len(words + b"header"))
        out += (struct.pack(order + "IHH", kind, 1, 8 + len(words)) + words) * count
    return out


def _followed(data: bytes, order: Order) -> list[int]:
    """Follow the sizes one by one."""
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
def test_framing_in_runs_equals_following_sizes(order: Order, records: Records, cut: int, tail: bytes) -> None:
    whole = _bytes(records, order)
    for data in (whole, whole[: max(0, len(whole) - cut)], whole + tail):
        framed = frame_records(np.frombuffer(data, np.uint8), order, special_types=frozenset())
        assert framed.sizes.tolist() == _followed(data, order)
        assert framed.length == sum(framed.sizes.tolist())
        assert framed.special_type == 0
        starts = np.cumsum([0, *framed.sizes.tolist()])[:-1].tolist()
        assert framed.headers.tolist() == [struct.unpack_from(order + "Q", data, start)[0] for start in starts]


@given(st.binary(max_size=400))
def test_any_bytes_are_framed_as_by_following_sizes(data: bytes) -> None:
    framed = frame_records(np.frombuffer(data, np.uint8), "<", special_types=frozenset())
    assert framed.sizes.tolist() == _followed(data, "<")


@pytest.mark.parametrize("order", ["<", ">"])
def test_lookalikes_are_exactly_the_possible_headers(order: Order) -> None:
    headers = [
        (kind, 2, size) for kind in (0, 1, 127, 128, 129, 1 << 31) for size in (0, 4, 7, 8, 12, 16, 32768, 32776)
    ]
    words = np.frombuffer(b"".join(struct.pack(order + "IHH", *header) for header in headers), order + "u8")
    likely = [1 <= kind <= 128 and size % 8 == 0 and 8 <= size <= 32768 for kind, _, size in headers]
    assert _lookalikes(words.astype(np.uint64), order).tolist() == np.flatnonzero(likely).tolist()


@pytest.mark.parametrize("special", sorted(SPECIAL_TYPES - WIDE_TYPES))
@pytest.mark.parametrize("before", [0, 5, 200])
def test_framing_stops_after_a_special_record(special: int, before: int) -> None:
    header, other = struct.pack("<IHH", special, 0, 16), struct.pack("<IHH", 68, 0, 16)
    data = (other + bytes(8)) * before + (header + bytes(8)) * 2 + (other + bytes(8)) * 20
    framed = frame_records(np.frombuffer(data, np.uint8), "<")
    assert (len(framed.sizes), framed.length, framed.special_type) == (before + 1, 16 * (before + 1), special)


@pytest.mark.parametrize("special", sorted(WIDE_TYPES))
@pytest.mark.parametrize("before", [0, 5, 200])
@pytest.mark.parametrize("size", [(0, 16), (2, 0), (1, 4), (1, 24)])
def test_framing_stops_in_front_of_a_wide_record(special: int, before: int, size: tuple[int, int]) -> None:
    """The lower half of its size may be that of a record, or of none."""
    header, other = struct.pack("<IHH", special, *size), struct.pack("<IHH", 68, 0, 16)
    data = (other + bytes(8)) * before + (header + bytes(8)) * 2 + (other + bytes(8)) * 20
    framed = frame_records(np.frombuffer(data, np.uint8), "<")
    assert (len(framed.sizes), framed.length, framed.special_type) == (before, 16 * before, special)
