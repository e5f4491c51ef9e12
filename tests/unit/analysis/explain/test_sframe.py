"""The function index of .sframe sections."""

import pytest

from perf2x.analysis.explain.call_frames import sframe_ranges
from perf2x.binaries.elf.elf_file import open_elf
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.unit.analysis.explain.forged import TEXT, sframe
from tests.unit.analysis.explain.test_call_frames import frames_of


def test_sframe_with_an_auxiliary_header_is_read() -> None:
    data = bytearray(sframe([(0x1000, 0x40)], 0x9000).data)
    data[7] = 4
    data[28:28] = b"\xff" * 4
    found = frames_of(open_elf(tiny_elf([TEXT, TinySection(".sframe", bytes(data), 0x9000, flags=2)])))[".sframe"]
    assert (found.functions, found.share) == (1, 0.25)


@pytest.mark.parametrize(("version", "flags"), [(2, 0), (2, 4), (3, 0)])
def test_entries_of_sframe_are_counted(version, flags) -> None:
    index = sframe([(0x1000, 0x40), (0x1080, 0x40)], 0x9000, version, flags)
    found = frames_of(open_elf(tiny_elf([TEXT, index])))[".sframe"]
    assert (found.functions, found.share, found.broken) == (2, 0.5, "")


def test_sframe_of_binutils_2_47_is_read() -> None:
    """Two functions, of 7 bytes at 0x1000 and 3 bytes at 0x1007, as readelf --sframe says."""
    data = bytes.fromhex(
        "e2de03050300f80002000000050000001c000000000000002000000094efffffffffffff07000000000000008befffffffffffff"
        "03000000140000000400000000000308010510f0040410f0060508f00100000000000308"
    )
    start, end = sframe_ranges(open_elf(tiny_elf([TEXT, TinySection(".sframe", data, 0x2050, flags=2)])))
    assert [(a, b) for a, b in zip(start.tolist(), end.tolist(), strict=True)] == [(0x1000, 0x1007), (0x1007, 0x100A)]


@pytest.mark.parametrize(("index", "said"), [
    (sframe([(0x1000, 1)], 0x9000, count=2**31), "2147483648 functions do not fit in its 48 bytes"),
    (sframe([], 0x9000, version=9), "version 9 is not known"),
    (TinySection(".sframe", b"\xe2\xde\x02", 0x9000, flags=2), "no SFrame header"),
])  # fmt: skip
def test_inconsistent_sframe_is_reported_in_a_sentence(index, said) -> None:
    assert frames_of(open_elf(tiny_elf([TEXT, index])))[".sframe"].broken == said
