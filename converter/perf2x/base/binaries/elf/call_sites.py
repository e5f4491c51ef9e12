"""Checks whether a call instruction precedes an address, so that it may be a return address.

Sources: Intel's Software Developer's Manual, volume 2, CALL and its ModR/M forms; Arm's Architecture Reference Manual,
BL, BLR, BLRAA and similar instructions.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from perf2x.base.binaries.elf.elf_file import CodeBlocks, ElfObject
from perf2x.errors import ObjectError

MAX_ANSWERS = 1 << 16
# Bytes of the longest call instruction on x86, without prefixes; on AArch64, all instructions have 4.
_MAX_CALL_SIZE = 7
# Opcodes of the direct call, and of instruction group 5, which contains the indirect call.
_CALL_REL32, _GROUP_5 = 0xE8, 0xFF
_INDIRECT_CALL_SIZES = (2, 3, 4, 6, 7)


class CallSites:
    """Tells which addresses of one file may be return addresses.

    ``may_return_to(svma)`` returns whether a call instruction may end at the address; answers are cached.
    """

    def __init__(self, elf: ElfObject) -> None:
        self._blocks = CodeBlocks(elf)
        self.may_return_to = lru_cache(MAX_ANSWERS)(partial(_may_return_to, self._blocks, _CHECKS.get(elf.machine)))


def _may_return_to(blocks: CodeBlocks, ends_with_call: Callable[[bytes], bool] | None, svma: int) -> bool:
    """Return whether a call instruction may end at an address; True if unknown.

    x86 instructions cannot be decoded backwards, so bytes that look like a call count as a call.
    """
    if ends_with_call is None:
        return True
    try:
        segment = blocks.elf.load_segment_at(svma - 1)
        start = svma if segment is None else max(svma - _MAX_CALL_SIZE, segment.address)
        code_before = blocks.read(start, svma)
    except ObjectError:
        return True
    # the answer is unknown if bytes are missing, or if all are 0, as in files whose contents were removed
    return len(code_before) < svma - start or not any(code_before) or ends_with_call(code_before)


def _ends_with_x86_call(code_before: bytes) -> bool:
    if len(code_before) >= 5 and code_before[-5] == _CALL_REL32:
        return True
    # bits 3 to 5 of the byte after the opcode select the instruction of the group: 2 is the call
    return any(
        len(code_before) >= size and code_before[-size] == _GROUP_5 and code_before[1 - size] >> 3 & 7 == 2
        for size in _INDIRECT_CALL_SIZES
    )


def _ends_with_arm64_call(code_before: bytes) -> bool:
    word = int.from_bytes(code_before[-4:], "little")
    is_blr = word & 0xFFFFFC1F == 0xD63F0000
    # BL, or BLR, or BLRAA and similar instructions
    return word >> 26 == 0b100101 or is_blr or word & 0xFEFFF800 == 0xD63F0800


_CHECKS: Mapping[str, Callable[[bytes], bool]] = {
    "EM_X86_64": _ends_with_x86_call,
    "EM_386": _ends_with_x86_call,
    "EM_AARCH64": _ends_with_arm64_call,
}
