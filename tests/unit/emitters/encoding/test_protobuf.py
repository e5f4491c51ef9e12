import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.list_array import ListArray, side_by_side
from perf2x.emitters.encoding import protobuf
from perf2x.emitters.pprof import profile_pb2
from tests.support.ragged_rows import ragged_of

U64 = st.integers(0, 2**64 - 1) | st.integers(0, 300)
I64 = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 300)


def varint(value: int) -> bytes:
    """The scalar twin."""
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def rows(table: ListArray) -> list[bytes]:
    return [bytes(row) for row in table.rows()]


@given(st.lists(U64))
def test_unsigned_varints(values) -> None:
    assert rows(protobuf.varints(np.array(values, np.uint64)).rows()) == [varint(value) for value in values]


@given(st.lists(I64))
def test_signed_varints(values) -> None:
    assert rows(protobuf.varints(np.array(values, np.int64)).rows()) == [varint(value) for value in values]


@pytest.mark.parametrize("bits", range(64))
def test_varints_at_every_length(bits) -> None:
    values = [2**bits - 1, 2**bits]
    assert rows(protobuf.varints(np.array(values, np.uint64)).rows()) == [varint(value) for value in values]


@given(st.lists(st.lists(st.integers(0, 40_000), max_size=5)))
def test_ids_are_varints_of_what_they_count(drawn) -> None:
    ids, numbers = protobuf.EncodedIds(40_001), ragged_of(drawn, np.int64)
    assert rows(ids.rows(numbers)) == [b"".join(varint(number + 1) for number in row) for row in drawn]
    packed = protobuf.packed_field(7, ListArray(numbers.offsets, numbers.values + 1))
    assert rows(ids.packed_field(7, numbers)) == rows(packed)


def test_rows_of_many_ids_are_packed_behind_their_length() -> None:
    numbers = ListArray(np.array([0, 0, 300, 301]), np.arange(301))
    packed = protobuf.packed_field(1, ListArray(numbers.offsets, numbers.values + 1))
    assert rows(protobuf.EncodedIds(301).packed_field(1, numbers)) == rows(packed)


SAMPLES = st.lists(
    st.tuples(st.lists(U64, max_size=5), st.lists(I64, max_size=3), st.lists(st.tuples(I64, I64), max_size=3))
)


@given(SAMPLES)
def test_samples_parse_to_what_went_in(samples) -> None:
    labels = [label for sample in samples for label in sample[2]]
    messages = side_by_side(
        [
            protobuf.number_field(field, np.array([label[at] for label in labels], np.int64))
            for at, field in ((0, 1), (1, 3))
        ]
    )
    offsets = np.cumsum([0] + [len(sample[2]) for sample in samples])
    fields = [
        protobuf.packed_field(1, ragged_of([sample[0] for sample in samples])),
        protobuf.packed_field(2, ragged_of([sample[1] for sample in samples], np.int64)),
        protobuf.nested_field(3, messages, offsets),
    ]
    parsed = profile_pb2.Profile.FromString(protobuf.top_level(2, side_by_side(fields)))
    got = [
        (list(one.location_id), list(one.value), [(label.key, label.num) for label in one.label])
        for one in parsed.sample
    ]
    assert got == samples
    rows = np.arange(len(samples))[::-1]
    shared = [(protobuf.encoded_values(field), rows) for field in fields]
    backwards = side_by_side([field[rows] for field in fields])
    assert protobuf.messages_of_columns(2, shared) == protobuf.top_level(2, backwards)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=200)))
def test_texts_parse_to_what_went_in(texts) -> None:
    assert list(profile_pb2.Profile.FromString(protobuf.repeated_string(6, texts)).string_table) == texts
