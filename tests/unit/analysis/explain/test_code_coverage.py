"""Coverage of an object's code by address ranges."""

import numpy as np
import pytest

from perf2x.analysis.explain.code_coverage import Code, code_of, union
from perf2x.binaries.elf.elf_file import open_elf
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.unit.analysis.explain.forged import EMPTY_TEXT, NOTE, TEXT


def ranges(*pairs) -> tuple[np.ndarray, ...]:
    return tuple(np.array(column, np.uint64) for column in zip(*pairs, strict=True))


def test_overlapping_ranges_count_once() -> None:
    start, end = union(*ranges((30, 40), (0, 10), (5, 20), (20, 25), (50, 50)))
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == [(0, 25), (30, 40)]


def test_the_share_of_the_code_is_measured() -> None:
    code = Code(".text", *ranges((100, 200), (300, 400)))
    assert code.size == 200
    assert code.share(*ranges((0, 1000))) == 1
    assert code.share(*ranges((150, 350))) == 0.5
    assert code.share(*ranges((90, 110), (195, 205), (399, 500))) == (10 + 5 + 1) / 200
    assert code.share(np.zeros(0, np.uint64), np.zeros(0, np.uint64)) == 0
    assert Code("code", *union(*ranges((5, 5)))).share(*ranges((0, 9))) == 0


@pytest.mark.parametrize("seed", range(5))
def test_shares_equal_a_count_of_single_bytes(seed) -> None:
    draw = np.random.default_rng(seed)
    start = draw.integers(0, 180, 12)
    end = start + draw.integers(0, 25, 12)
    code = Code(".text", *union(*ranges((20, 60), (70, 71), (90, 150))))
    held = np.zeros(256, np.bool_)
    for first, last in zip(start, end, strict=True):
        held[first:last] = True
    wanted = held[20:60].sum() + held[70] + held[90:150].sum()
    assert code.share(start.astype(np.uint64), end.astype(np.uint64)) == wanted / 101


def test_code_is_text_else_sections_else_segments() -> None:
    init = TinySection(".init", b"\x90" * 16, 0x800, flags=6)
    assert (code_of(open_elf(tiny_elf([init, TEXT]))).what, code_of(open_elf(tiny_elf([init, TEXT]))).size) == (
        ".text",
        256,
    )
    assert (code_of(open_elf(tiny_elf([init]))).what, code_of(open_elf(tiny_elf([init]))).size) == ("code", 16)
    assert code_of(open_elf(tiny_elf([EMPTY_TEXT]))).size == 256
    bare = bytearray(tiny_elf([TEXT]))
    bare[40:48], bare[60:64] = bytes(8), bytes(4)  # no section headers
    assert code_of(open_elf(bytes(bare))).size == 256
    assert code_of(open_elf(tiny_elf([NOTE]))).size == 0


def test_code_beyond_the_address_space_does_not_count() -> None:
    assert code_of(open_elf(tiny_elf([TinySection(".text", b"\x90" * 64, 2**64 - 16, flags=6)]))).size == 0


def test_code_of_a_relocatable_file_lies_in_several_sections() -> None:
    more = [TinySection(".text.unlikely", b"\x90" * 16, flags=6), TinySection(".init.text", b"\x90" * 16, flags=6)]
    assert code_of(open_elf(tiny_elf([TEXT, *more], kind=1))).size == 0x110
