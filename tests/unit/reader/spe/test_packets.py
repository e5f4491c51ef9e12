"""Packets and records are those of the twin that reads them one by one (tests/reference/spe.py), of any bytes."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.reader.spe.packets import Field, find_packets
from perf2x.reader.spe.records import NO_CONTEXT, OpClass, read_records
from tests.reference import spe as reference
from tests.support.spe_traces import damaged

_NAMES = {
    "bad": Field.BAD, "end": Field.END, "ticks": Field.TIMESTAMP, "events": Field.EVENTS, "source": Field.SOURCE,
    "context": Field.CONTEXT, "pc": Field.PC, "target": Field.TARGET, "data": Field.DATA, "physical": Field.PHYSICAL,
    "previous": Field.PREVIOUS, "latency": Field.LATENCY, "other": Field.OTHER, "access": Field.ACCESS,
    "branch": Field.BRANCH,
}  # fmt: skip
HEADERS = bytes([0, 1, 0x71, 0x42, 0x52, 0x62, 0x72, 0x43, 0x53, 0x64, 0x67, *range(0x48, 0x4C), *range(0x20, 0x24)])
HEADERS += bytes([*range(0xB0, 0xB8), 0x98, 0x99, 0x9F, 0x55])
COLUMNS = {
    "data": "data_address",
    "physical": "physical_address",
    "previous": "previous_target",
    "source": "data_source",
}
"""Columns of TraceRecords with other names than the reference's."""


def check(data: bytes, offset: int) -> None:
    packets = find_packets(np.frombuffer(data, np.uint8), offset)
    ours = list(zip(packets.field.tolist(), packets.payload.tolist(), packets.end.tolist(), strict=True))
    assert ours == [(_NAMES[one.name], one.value if one.name != "bad" else ours[row][1], one.end)
                    for row, one in enumerate(reference.packets(data, offset))]  # fmt: skip
    records, bad, used = read_records(packets)
    expected, damage = reference.operations(data, offset)
    assert bad == damage and len(records) == len(expected)
    for name in ("pc", "target", "data", "physical", "previous", "events", "source", "latency", "ticks"):
        assert getattr(records, COLUMNS.get(name, name)).tolist() == [one.get(name) for one in expected], name
    assert records.context.tolist() == [one.tells.get("context", int(NO_CONTEXT)) for one in expected]
    assert not expected or expected[-1].end <= used <= len(data)


@given(st.binary(max_size=400), st.integers(0, 100))
def test_any_bytes(data: bytes, offset: int) -> None:
    check(data, offset)


@given(st.lists(st.sampled_from(HEADERS), max_size=700).map(bytes), st.integers(0, 100))
def test_nothing_but_headers(data: bytes, offset: int) -> None:
    check(data, offset)


@pytest.mark.parametrize("seed", range(20, 28))
def test_damaged_trace(seed: int) -> None:
    data = damaged(seed)
    check(data, 0)
    check(data[: random.Random(seed).randrange(len(data))], 5)  # alignment is that of the buffer


def test_the_last_of_two_operations_counts() -> None:
    data = b"\xb0" + bytes(8) + b"\x49\x01\x4a\x02\x01"
    records, _, _ = read_records(find_packets(np.frombuffer(data, np.uint8), 0))
    assert records.operation.tolist() == [OpClass.BRANCH | 2]


@pytest.mark.parametrize("packet", ["99 01", "21", "21 b0", "b5 00", "20", "23"])
@pytest.mark.parametrize("offset", range(4))
def test_an_incomplete_packet_is_left_for_later(packet: str, offset: int) -> None:
    """Also a packet whose contents are not used, wherever alignments would end."""
    data = bytes(5) + b"\x01" + bytes.fromhex(packet)
    assert find_packets(np.frombuffer(data, np.uint8), offset).length == 6


def test_nothing() -> None:
    check(b"", 0)
    check(bytes(5), 0)
