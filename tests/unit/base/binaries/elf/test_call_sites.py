"""Bytes in front of a return address are a call's."""

import gc
import weakref

import pytest

from perf2x.base.binaries.elf import call_sites, elf_file
from perf2x.base.binaries.elf.call_sites import CallSites
from perf2x.base.binaries.elf.elf_file import BLOCK_SIZE, open_elf
from perf2x.base.binaries.elf.x86_code import X86Code
from tests.support.tiny_elf import TinySection, tiny_elf

TEXT = 0x1000
X86, I386, ARM64, RISCV = 62, 3, 183, 243


def told(code: bytes, machine: int = X86) -> bool:
    """Whether a call may return to the byte behind ``code``, in a text of NOPs."""
    text = b"\x90" * 16 + code + b"\x90" * 16
    elf = open_elf(tiny_elf([TinySection(".text", text, TEXT, flags=6)], is_64=machine != I386, machine=machine))
    return CallSites(elf).may_return_to(TEXT + 16 + len(code))


@pytest.mark.parametrize("machine", [X86, I386])
@pytest.mark.parametrize(
    "code",
    [
        "e810000000",  # call rel32
        "ffd0",  # call *%rax
        "41ffd4",  # call *%r12
        "ff10",  # call *(%rax)
        "ff5018",  # call *24(%rax)
        "ff542408",  # call *8(%rsp)
        "ff15f0ff0000",  # call *rel32(%rip)
        "ff942400010000",  # call *256(%rsp)
        "ff9000010000",  # call *256(%rax)
    ],
)
def test_calls_of_x86(machine, code) -> None:
    assert told(bytes.fromhex(code), machine)


@pytest.mark.parametrize(
    "code",
    [
        "c3",  # ret
        "e910000000",  # jmp rel32
        "ffe0",  # jmp *%rax
        "ff2500000000",  # jmp *rel32(%rip)
        "0f1f440000",  # nop
        "c3660f1f440000",  # ret, nop
        "5dc3cccccc",  # pop, ret, int3
    ],
)
def test_what_is_no_call_on_x86(code) -> None:
    assert not told(bytes.fromhex(code))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (0x94000010, True),  # bl
        (0x97FFFFFF, True),  # bl, backwards
        (0xD63F0100, True),  # blr x8
        (0xD73F0908, True),  # blraa x8, x8
        (0xD63F091F, True),  # blraaz x8
        (0x14000010, False),  # b
        (0xD61F0100, False),  # br x8
        (0xD65F03C0, False),  # ret
        (0xD503201F, False),  # nop
    ],
)
def test_calls_of_arm64(word, expected) -> None:
    assert told(word.to_bytes(4, "little"), ARM64) is expected


def test_where_there_is_no_code_to_read_a_call_may_be() -> None:
    assert told(b"\x90", RISCV)
    assert told(bytes(16))  # a bundle without code
    elf = open_elf(tiny_elf([TinySection(".text", b"\x90" * 32, TEXT, flags=6)]))
    assert CallSites(elf).may_return_to(TEXT)
    assert CallSites(elf).may_return_to(TEXT + 33)
    assert not CallSites(elf).may_return_to(TEXT + 1)
    assert not CallSites(elf).may_return_to(TEXT + 32)


def test_code_is_read_once_a_block_and_across_blocks(monkeypatch) -> None:
    """Calls at every 16 bytes, so some lie at the border of two blocks."""
    code = (b"\x90" * 11 + bytes.fromhex("e810000000")) * (3 * BLOCK_SIZE // 16)
    elf = open_elf(tiny_elf([TinySection(".text", code, TEXT, flags=6)]))
    reads, read = [], elf.read
    monkeypatch.setattr(elf, "read", lambda offset, size: reads.append(offset) or read(offset, size))
    sites = CallSites(elf)
    for _ in range(2):
        for at in range(1, len(code) + 1):
            assert sites.may_return_to(TEXT + at) is (at % 16 == 0)
    assert len(reads) == len(set(reads)) <= 5


def test_what_is_kept_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(elf_file, "MAX_BLOCKS", 1)
    monkeypatch.setattr(call_sites, "MAX_ANSWERS", 2)
    code = (b"\x90" * 11 + bytes.fromhex("e810000000")) * (3 * BLOCK_SIZE // 16)
    sites = CallSites(open_elf(tiny_elf([TinySection(".text", code, TEXT, flags=6)])))
    for at in range(16, len(code), 4096):
        assert sites.may_return_to(TEXT + at)
        assert not sites.may_return_to(TEXT + at + 1)
    assert sites._blocks._block.cache_info().currsize == 1
    assert sites.may_return_to.cache_info().currsize == 2


def test_a_file_that_lacks_the_end_of_its_code_tells_nothing() -> None:
    elf = open_elf(tiny_elf([TinySection(".text", b"\x90" * 64, TEXT, flags=6)]))
    elf.size = elf.segments[0].offset + 40
    assert CallSites(elf).may_return_to(TEXT + 41)
    assert not CallSites(elf).may_return_to(TEXT + 40)


@pytest.mark.parametrize("reader", [CallSites, lambda elf: X86Code(elf, None)])
def test_caches_keep_no_file_alive(reader) -> None:
    """Workers collect no garbage: a cache that refers to its owner would keep each file that was ever read."""
    text = TinySection(".text", b"\x90" * 32, TEXT, flags=6)
    elf = open_elf(tiny_elf([text], is_64=True, machine=X86))
    file, code = weakref.ref(elf), reader(elf)
    (code.may_return_to if isinstance(code, CallSites) else code.instruction)(TEXT + 16)
    gc.disable()
    try:
        del elf, code
        assert file() is None
    finally:
        gc.enable()
