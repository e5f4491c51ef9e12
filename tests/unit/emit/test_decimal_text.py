import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emit.encoding import json_encoder
from perf2x.emit.encoding.decimal_text import decimal_cells, without_nulls
from perf2x.emit.encoding.json_encoder import json_numbers

TYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]


@given(st.data(), st.sampled_from(TYPES), st.sampled_from([b"", b",", b":::"]))
def test_numbers_as_texts(data, dtype, before) -> None:
    limits = np.iinfo(dtype)
    values = data.draw(
        st.lists(st.integers(max(limits.min, -300), 300 & limits.max) | st.integers(limits.min, limits.max))
    )
    wanted = b"".join(before + b"%d" % value for value in values)
    assert without_nulls(decimal_cells(np.array(values, dtype), before)) == wanted


@pytest.mark.parametrize("digits", range(19))
def test_numbers_of_every_length(digits) -> None:
    values = [10**digits - 1, 10**digits, -(10**digits), 0]
    assert without_nulls(decimal_cells(np.array(values), b" ")) == b"".join(b" %d" % value for value in values)


@pytest.mark.parametrize("few", [0, 1000])
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_numbers_as_json_whichever_way_they_go(few, values) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_encoder, "_FEW", few)
        assert json_numbers(np.array(values, np.int64)) == ",".join(map(str, values)).encode()
