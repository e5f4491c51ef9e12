"""Print formats of tracepoints, worded as libtraceevent words them."""

import pytest

from perf2x.reader.records.print_format import compile_format


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('"(%lx) size=0x%Lx", REC->ip, REC->size', "(7f2a) size=0xfffffffffffffff0"),
        ('"runtime=%Lu [ns]", REC->size', "runtime=18446744073709551600 [ns]"),
        ('"%Ld %d", REC->size, REC->size', "-16 -16"),
        ('"%u", (uint)REC->ip', "32554"),
        ('"%lld", (int64_t)REC->size', "-16"),
    ],
)
def test_lengths_and_types(form: str, expected: str) -> None:
    assert compile_format(form)({"ip": 0x7F2A, "size": 2**64 - 16}) == expected
