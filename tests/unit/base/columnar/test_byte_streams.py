"""Places that are reached in a stream of bytes, and numbers in it, against a loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.binaries.dwarf.attribute_forms import sleb128, uleb128
from perf2x.base.columnar.byte_streams import decode_leb128, instruction_starts, leb128_ends, sign_extended

STEPS = st.lists(st.one_of(st.integers(1, 5), st.integers(1, 400)), max_size=700)


@given(steps=STEPS, dtype=st.sampled_from([np.int32, np.int64]))
def test_offsets_are_those_of_a_loop(steps, dtype) -> None:
    wanted, at = [], 0
    while at < len(steps):
        wanted.append(at)
        at += steps[at]
    left = np.minimum(np.array(steps, dtype), np.arange(len(steps), 0, -1, dtype=dtype))
    assert instruction_starts(left).tolist() == wanted


@given(data=st.binary(min_size=1, max_size=9).map(lambda data: data + b"\x01"))
def test_numbers_are_those_of_a_loop(data) -> None:
    code = np.frombuffer(data, np.uint8)
    at, end = np.arange(len(data)), leb128_ends(code)
    value, spelled = decode_leb128(code, at, end), [uleb128(data, place) for place in at.tolist()]
    assert [*zip(value.tolist(), end.tolist(), strict=True)] == [(one % 2**64, behind) for one, behind in spelled]
    signed = sign_extended(value.copy(), code[end - 1], end - at).tolist()
    wanted = [sleb128(data, place)[0] for place in at.tolist()]
    assert signed == [(one + 2**63) % 2**64 - 2**63 for one in wanted]
