"""Lengths and operands of instructions, as binutils 2.40 disassembles them; capstone agrees on these very bytes."""

import pytest

from perf2x.base.binaries.elf.x86_instructions import FIXED, INDEXED, decode

SAMPLES = """
55 push rbp|4157 push r15|6aff push -1|68e8030000 push 1000|ff742408 push [rsp+8]|8f4424f8 pop [rsp-8]
4883ec18 sub rsp,24|4881c4a8000000 add rsp,168|488d6424f0 lea rsp,[rsp-16]|4883e4e0 and rsp,-32
488b5c2408 mov rbx,[rsp+8]|48895c2408 mov [rsp+8],rbx|4889e5 mov rbp,rsp|c9 leave|c20800 ret 8
48b8efcdab8967452301 movabs|66b8efcd mov ax|b8efcdab89 mov eax|66c70424efcd mov word|a0efcdab8967452301 mov al,moffs
f6c301 test bl|f7c301000000 test ebx|f7d3 not ebx|66f7c30100 test bx|c8100000 enter|69c0e8030000 imul|6bc003 imul
0f05 syscall|0f8fe2030000 jg|0f1f440000 nop|0f94c0 sete|0fa2 cpuid|0fc8 bswap|660f6f00 movdqa|660f70c0ff pshufd
660f3800c1 pshufb|660f3a0fc101 palignr|f30f1efa endbr64|f3a4 rep movsb|f00fb10f lock cmpxchg
c5f877 vzeroupper|c5fd6f06 vmovdqu|c5f970c0ff vpshufd|c4e27d5806 vpbroadcastd|c4e37d0601aa vperm2f128
c4e2f8f2c1 andn|62f17c48100402 vmovups|62f3fd4839c101 vextracti64x4|48ff2500000000 jmp [rip]|ff24c500000000 jmp
664881c400010000 data16 add rsp,256
"""
PREFIXES = {0x26, 0x2E, 0x36, 0x3E, *range(0x40, 0x50), 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3}
LINES = [line.split(maxsplit=1) for text in SAMPLES.strip().splitlines() for line in text.split("|")]


@pytest.mark.parametrize(("text", "name"), LINES, ids=[name for _, name in LINES])
def test_sizes(text: str, name: str) -> None:
    code = bytes.fromhex(text)
    for rest in (b"", b"\x90" * 15, b"\xff" * 15):
        found = decode(code + rest, is_64=True)
        assert found is not None and found.size == len(code), name
    for size in range(len(code)):
        cut = decode(code[:size], is_64=True)
        assert cut is None or cut.size <= size


def test_operands() -> None:
    found = decode(bytes.fromhex("488b9c2408010000"), is_64=True)
    assert found is not None and (found.register, found.operand, found.displacement) == (3, 4, 0x108)
    found = decode(bytes.fromhex("4d8b6c24f8"), is_64=True)
    assert found is not None and (found.register, found.operand, found.displacement) == (13, 12, -8)
    places = [decode(bytes.fromhex(text), is_64=True) for text in ("ff2500000000", "ff24c500000000", "ff2424")]
    assert [found.operand for found in places if found] == [FIXED, INDEXED, 4]
    found = decode(bytes.fromhex("c20800"), is_64=True)
    assert found is not None and (found.opcode, found.immediate) == (0xC2, 8)


def test_code_of_32_bits() -> None:
    for text, size in (("41", 1), ("c5f877", 3), ("c50424", 3), ("628b0000", 0), ("62a50000", 0), ("a1efcdab89", 5)):
        found = decode(bytes.fromhex(text), is_64=False)
        assert (found.size if found else 0) == size or text.startswith("62")
    assert decode(bytes.fromhex("06"), is_64=True) is None
    assert decode(bytes.fromhex("678b00"), is_64=False) is None
    assert decode(bytes.fromhex("8fe870951d00000000"), is_64=True) is None


def test_sizes_are_capstones() -> None:
    """Two thousand made-up instructions: where capstone finds one, it is as long as ours."""
    capstone = pytest.importorskip("capstone")
    engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    compared = 0
    for opcode in range(256):
        for before in (b"", b"\x48", b"\x66", b"\x0f", b"\x0f\x38", b"\x41\x0f"):
            for after in (b"\xc1", b"\x44\x24\x08", b"\x05\1\2\3\4", b"\x04\x25"):
                code = (before + bytes([opcode]) + after).ljust(20, b"\x01")
                theirs = next(engine.disasm_lite(code, 0), None)
                ours = decode(code, is_64=True)
                # the kernel's moves of control registers, and REX that other prefixes make void
                odd = opcode in range(0x20, 0x24) if before.endswith(b"\x0f") else opcode in PREFIXES
                if theirs and ours and not odd and not theirs[2].startswith("ud"):
                    compared += 1
                    assert ours.size == theirs[1], (code.hex(), theirs)
    assert compared > 2000
