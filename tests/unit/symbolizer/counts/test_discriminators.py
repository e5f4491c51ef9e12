"""Compilers' discriminators and names; the encoder follows LLVM's DILocation::encodeDiscriminator."""

import pytest

from perf2x.symbolizer.counts.discriminators import Gcc, Llvm

PACKED = Llvm()


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
    assert Llvm(flow_sensitive=True).base(0x1234) == 0x1234
    assert Llvm(flow_sensitive=True).copies(0x1234) == 1


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("_Z3foov", "_Z3foov"), ("_Z3foov.llvm.123", "_Z3foov"), ("_Z3foov.part.0", "_Z3foov"),
        ("_Z3foov.part.0.llvm.9", "_Z3foov"), ("_Z3foov.llvm.9.cold", "_Z3foov.llvm.9.cold"),
        ("_ZL3foov.__uniq.77", "_ZL3foov.__uniq.77"), ("main.cold", "main.cold"),
    ],
)  # fmt: skip
def test_names_lose_what_llvm_appends_to_copies(name: str, plain: str) -> None:
    assert PACKED.profile_name(name) == plain


@pytest.mark.parametrize(
    ("version", "discriminator", "base", "copies"),
    [
        (12, 7, 0, 1), (13, 0x1234, 0x1234, 1), (15, 0x1FFFF, 0xFFFF, 1), (16, 7, 7, 1), (16, 0x407, 7, 4),
        (16, 3 << 15 | 0x7F << 8 | 0xFF, 0xFF, 127), (16, 5 << 15, 0, 1),
    ],
)  # fmt: skip
def test_gcc_packs_copies_since_16_and_knows_no_discriminators_in_12(
    version: int, discriminator: int, base: int, copies: int
) -> None:
    assert (Gcc(version).base(discriminator), Gcc(version).copies(discriminator)) == (base, copies)


@pytest.mark.parametrize(
    ("name", "before_16", "since_16"),
    [
        ("foo", "foo", "foo"), ("foo.isra.0", "foo", "foo"), ("foo.constprop.0.isra.12", "foo", "foo"),
        ("main._omp_fn.0", "main", "main._omp_fn.0"), ("foo.0", "foo", "foo.0"), ("foo.cold", "foo", "foo.cold"),
        (".hidden", ".hidden", ".hidden"), (".part.0", ".part.0", ".part.0"),
    ],
)  # fmt: skip
def test_names_lose_what_gcc_appends_to_copies(name: str, before_16: str, since_16: str) -> None:
    assert (Gcc(15).profile_name(name), Gcc(16).profile_name(name)) == (before_16, since_16)


@pytest.mark.parametrize(
    ("name", "looked_up"),
    [
        ("_ZN4LineC4Ev", "_ZN4LineC2Ev"), ("_ZN6SquareD4Ev", "_ZN6SquareD2Ev"), ("_ZNSaIcEC4ERKS_", "_ZNSaIcEC2ERKS_"),
        ("_ZNSt6vectorIiSaIiEED4Ev", "_ZNSt6vectorIiSaIiEED2Ev"), ("_ZN1AILj4EEC4Ev", "_ZN1AILj4EEC2Ev"),
        ("_ZN3ABC4EchoEv", "_ZN3ABC4EchoEv"), ("_ZN3DEC4ExitEv", "_ZN3DEC4ExitEv"), ("_ZN2C4D1Ev", "_ZN2C4D1Ev"),
        ("_ZN4LineC1Ev", "_ZN4LineC1Ev"), ("C4Ev", "C4Ev"), ("_Z999C4", "_Z999C4"), ("_Z", "_Z"),
    ],
)  # fmt: skip
def test_gcc_looks_up_constructors_of_base_objects(name: str, looked_up: str) -> None:
    assert (Gcc(14).profile_name(name), Gcc(16).profile_name(name)) == (looked_up, looked_up)
