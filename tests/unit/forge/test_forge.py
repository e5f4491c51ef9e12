"""The forge itself: sizes, alignment and the few real records whose bytes are known."""

import struct

import pytest

from perf2x.base.abi import uapi
from tests import forge
from tests.forge import kernel as k
from tests.forge.container import split_records

QUOTED = bytes.fromhex(
    "16000000 0200 4000 060000000b000000 0300000000000000 a77f33fe187f0000 0f0e33fe187f0000 481433fe187f0000"
    "0809000008090000 e67ae7351c000000"
)
"""A deferred callchain from the kernel's own commit message (c69993ecdd4d's series, linux/kernel/events/core.c)."""


def test_the_quoted_record_is_what_the_forge_writes() -> None:
    event = forge.Event(sample_type=k.IP | k.TID | k.TIME | k.PERIOD)
    record = forge.CallchainDeferred(
        cookie=0xB00000006,
        ips=(0x7F18FE337FA7, 0x7F18FE330E0F, 0x7F18FE331448),
        stamp=forge.Stamp(pid=2312, tid=2312, time=121163447014),
    )
    assert record.encode([event], "<") == QUOTED


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("pipe", [False, True])
def test_every_record_is_whole_and_aligned(order: str, pipe: bool) -> None:
    event = forge.Event(ids=(1, 2), sample_type=k.IP | k.TID | k.TIME | k.ID | k.CPU | k.CALLCHAIN)
    records = [
        forge.Comm(pid=1, tid=1, comm="zufällig"),
        forge.Mmap2(pid=1, tid=1, addr=0x1000, len=0x1000, build_id=b"\1" * 20),
        forge.Sample(ip=1, chain=(k.CONTEXT_USER, 1)),
        forge.FinishedRound(),
    ]
    features = forge.Features(hostname="here", build_ids=(("/bin/prog", b"\1" * 20),))
    raw = forge.write_file(forge.Session((event,), order, pipe, features), records)
    start = 16 if pipe else struct.unpack_from(order + "Q", raw, 40)[0]
    length = len(raw) - start if pipe else struct.unpack_from(order + "Q", raw, 48)[0]
    pieces = split_records(raw[start : start + length], order)
    assert b"".join(pieces) == raw[start : start + length]
    assert all(len(piece) % 8 == 0 for piece in pieces)
    numbers = [struct.unpack_from(order + "I", piece)[0] for piece in pieces]
    assert numbers[-4:] == [3, 10, 9, 68]


def test_numbers_agree_with_the_product() -> None:
    theirs = {name: bit for bit, name in enumerate(uapi.ATTR_FLAGS) if name not in {"precise_ip", "precise_ip_hi"}}
    assert theirs == k.FLAG_BITS
    assert {kind.name: kind.value for kind in uapi.SampleType} == {
        name: getattr(k, name) for name in (kind.name for kind in uapi.SampleType)
    }
    for context in uapi.CallchainContext:
        assert getattr(k, f"CONTEXT_{context.name}") == context.value
