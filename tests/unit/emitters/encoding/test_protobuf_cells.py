import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emitters.encoding import protobuf as cells
from perf2x.emitters.encoding.protobuf import message, varint

U64 = st.integers(0, 2**64 - 1) | st.integers(0, 300)


@given(st.lists(st.tuples(U64, st.booleans(), U64, U64, U64)))
def test_rows_are_messages(rows) -> None:
    columns = [np.array(column, np.uint64) for column in zip(*rows, strict=True)] or [np.zeros(0, np.uint64)] * 5
    fields = [
        cells.number_cells(8, columns[0]),
        cells.constant_cells(len(rows), b"\x50\x02"),
        cells.number_cells(300, columns[2]).without(columns[1].astype(np.bool_)),
        cells.packed_cells(14, columns[3:]),
    ]
    expected = [
        message(
            135,
            varint(8 << 3) + varint(first) + b"\x50\x02"
            + (b"" if is_out else varint(300 << 3) + varint(second))
            + message(14, varint(third) + varint(fourth)),
        )
        for first, is_out, second, third, fourth in rows
    ]  # fmt: skip
    got = cells.message_cells(135, cells.join_fields(fields))
    assert got.tobytes() == b"".join(expected)
    assert got.sizes.tolist() == [len(row) for row in expected]


@given(st.lists(st.tuples(st.integers(0, 2**14 - 1), st.booleans(), st.integers(0, 2**14 - 1)), min_size=1))
def test_narrow_fields_share_a_word(rows) -> None:
    first, is_out, second = (np.array(column) for column in zip(*rows, strict=True))
    fields = [
        cells.number_cells(1, first).without(is_out),
        cells.constant_cells(len(rows), b"\x50\x02"),
        cells.number_cells(2, second),
    ]
    expected = [
        (b"" if none else varint(1 << 3) + varint(one)) + b"\x50\x02" + varint(2 << 3) + varint(other)
        for one, none, other in rows
    ]
    assert cells.join_fields(fields).tobytes() == b"".join(expected)
