import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emitters.encoding import json_encoder
from perf2x.emitters.encoding.decimal_text import decimal_cells, number_chunks, without_nuls
from perf2x.emitters.encoding.json_encoder import json_bytes, json_milliseconds, json_nullable, json_numbers

TYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]


@given(st.data(), st.sampled_from(TYPES), st.sampled_from([b"", b",", b":::"]))
def test_numbers_as_texts(data, dtype, before) -> None:
    limits = np.iinfo(dtype)
    values = data.draw(
        st.lists(st.integers(max(limits.min, -300), 300 & limits.max) | st.integers(limits.min, limits.max))
    )
    wanted = b"".join(before + b"%d" % value for value in values)
    assert without_nuls(decimal_cells(np.array(values, dtype), before)) == wanted


@pytest.mark.parametrize("digits", range(19))
def test_numbers_of_every_length(digits) -> None:
    values = [10**digits - 1, 10**digits, -(10**digits), 0]
    assert without_nuls(decimal_cells(np.array(values), b" ")) == b"".join(b" %d" % value for value in values)


@pytest.mark.parametrize("few", [0, 1000])
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_numbers_as_json_whichever_way_they_go(few, values) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_encoder, "_FEW", few)
        assert json_numbers(np.array(values, np.int64)) == ",".join(map(str, values)).encode()


@pytest.mark.parametrize("few", [0, 1000])
@given(
    values=st.lists(
        st.integers(0, 10**7) | st.integers(100, 10**15 - 1) | st.integers(0, 10**6).map(lambda whole: whole * 1000)
    )
)
def test_nanoseconds_as_milliseconds(few, values) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_encoder, "_FEW", few)
        assert b"[%b]" % json_milliseconds(np.array(values, np.int64)) == json_bytes([value / 1e6 for value in values])


@pytest.mark.parametrize("odd", [1, 99, -1, -(2**63), 10**15, 10**15 + 1, 123456789 * 10**9 + 1, 2**63 - 1])
def test_milliseconds_of_unusual_size(odd, monkeypatch) -> None:
    monkeypatch.setattr(json_encoder, "_FEW", 0)
    values = [0, odd, 100, 1_000_000]
    assert b"[%b]" % json_milliseconds(np.array(values, np.int64)) == json_bytes([value / 1e6 for value in values])


@pytest.mark.parametrize("few", [0, 1000])
@given(values=st.lists(st.just(-1) | st.integers(0, 20) | st.integers(0, 2**63 - 1)))
def test_row_numbers_or_null(few, values) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_encoder, "_FEW", few)
        wanted = [None if value < 0 else value for value in values]
        assert b"[%b]" % json_nullable(np.array(values, np.int64)) == json_bytes(wanted)


@given(st.lists(st.integers(0, 10**12), max_size=9), st.sampled_from([b"", b"\n", b',"dur":']))
def test_chunks_of_numbers(values, end) -> None:
    parts = np.array([b"", b".5", b".125"], "S4").view(np.uint32)[np.arange(len(values)) % 3]
    column = np.array(values, np.int64)
    assert number_chunks(column, end).tolist() == [b"%d%b" % (value, end) for value in values]
    texts = [b"%d%b%b" % (value, (b"", b".5", b".125")[row % 3], end) for row, value in enumerate(values)]
    assert number_chunks(column, end, parts).tolist() == texts
