"""Checks whether an address may be a return address: whether a call instruction precedes it.

Sources: Intel's Software Developer's Manual, volume 2, CALL and its ModR/M forms; Arm's Architecture Reference Manual,
BL, BLR, BLRAA and similar instructions.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from perf2x.base.binaries.elf.elf_file import CodeBlocks, ElfObject
from perf2x.errors import ObjectError

# how many answers are cached
MAX_ANSWERS = 1 << 16
# Maximum size in bytes of a call instruction on x86, without prefixes; on AArch64 all instructions have 4.
_MAX_CALL_SIZE = 7
# opcodes of a direct call, and of a group of instructions to which indirect calls (/2) belong
_CALL_REL32, _GROUP_5 = 0xE8, 0xFF
# possible sizes of an indirect call, in bytes
_INDIRECT_SIZES = (2, 3, 4, 6, 7)


class CallSites:
    """Tells which addresses of one file follow a call instruction.

    ``may_return_to(svma)`` returns whether a call may end at the address, and caches a limited number of answers.
    """

    def __init__(self, elf: ElfObject) -> None:
        self._blocks = CodeBlocks(elf)
        self.may_return_to = lru_cache(MAX_ANSWERS)(partial(_may_return_to, self._blocks, _CHECKS.get(elf.machine)))


def _may_return_to(blocks: CodeBlocks, ends_with_call: Callable[[bytes], bool] | None, svma: int) -> bool:
    """Return whether a call instruction may end at an address; True if unknown, as in a file without code.

    ``ends_with_call`` answers that for the bytes before the address; None for a machine whose calls are not known. x86
    instructions cannot be decoded backwards, so bytes that look like a call count as a call.
    """
    if ends_with_call is None:
        return True
    try:
        segment = blocks.elf.load_segment_at(svma - 1)
        start = svma if segment is None else max(svma - _MAX_CALL_SIZE, segment.address)
        code_before = blocks.read(start, svma)
    except ObjectError:
        return True
    # unknown, too, if bytes are missing, or all are 0: the contents may have been removed
    return len(code_before) < svma - start or not any(code_before) or ends_with_call(code_before)


def _ends_with_x86_call(code_before: bytes) -> bool:
    if len(code_before) >= 5 and code_before[-5] == _CALL_REL32:
        return True
    # the operation, 2 for a call, is in bits 3 to 5 of the byte after the opcode
    return any(
        len(code_before) >= size and code_before[-size] == _GROUP_5 and code_before[1 - size] >> 3 & 7 == 2
        for size in _INDIRECT_SIZES
    )


def _ends_with_arm64_call(code_before: bytes) -> bool:
    word = int.from_bytes(code_before[-4:], "little")
    is_blr = word & 0xFFFFFC1F == 0xD63F0000
    # BL, BLR, or BLRAA and similar ones
    return word >> 26 == 0b100101 or is_blr or word & 0xFEFFF800 == 0xD63F0800


# {machine: function that returns whether bytes end with a call instruction}
_CHECKS: Mapping[str, Callable[[bytes], bool]] = {
    "EM_X86_64": _ends_with_x86_call,
    "EM_386": _ends_with_x86_call,
    "EM_AARCH64": _ends_with_arm64_call,
}
