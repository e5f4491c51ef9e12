"""LLVM's discriminators and names; the encoder follows DILocation::encodeDiscriminator (DebugInfoMetadata.cpp)."""

import pytest

from perf2x.symbolizer.counts.discriminators import Discriminators, canonical_name

PACKED = Discriminators()


def encoded(*components: int) -> int:
    """Pack components, the first into the lowest bits: 0 as a set bit, others in 7 bits or, from 32 on, 14."""
    bits = at = 0
    last = max((row for row, number in enumerate(components) if number), default=-1)
    for number in components[: last + 1]:
        if number == 0:
            word, width = 1, 1
        elif number < 32:
            word, width = number << 1, 7
        else:
            word, width = (number & 0x1F | (number & 0xFE0) << 1 | 0x20) << 1, 14
        bits |= word << at
        at += width
    return bits


@pytest.mark.parametrize("base", [0, 1, 2, 31, 32, 33, 500, 4095])
@pytest.mark.parametrize("copies", [0, 2, 4, 40])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_parts_are_those_that_were_packed(base: int, copies: int, number: int) -> None:
    bits = encoded(base, copies, number)
    assert PACKED.base(bits) == base
    assert PACKED.copies(bits) == (copies or 1)


def test_flow_sensitive_discriminators_are_one_number() -> None:
    assert Discriminators(flow_sensitive=True).base(0x1234) == 0x1234
    assert Discriminators(flow_sensitive=True).copies(0x1234) == 1


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("_Z3foov", "_Z3foov"), ("_Z3foov.llvm.123", "_Z3foov"), ("_Z3foov.part.0", "_Z3foov"),
        ("_Z3foov.part.0.llvm.9", "_Z3foov"), ("_Z3foov.llvm.9.cold", "_Z3foov.llvm.9.cold"),
        ("_ZL3foov.__uniq.77", "_ZL3foov.__uniq.77"), ("main.cold", "main.cold"),
    ],
)  # fmt: skip
def test_names_lose_what_llvm_appends_to_copies(name: str, plain: str) -> None:
    assert canonical_name(name) == plain
