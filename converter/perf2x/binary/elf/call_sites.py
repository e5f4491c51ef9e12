"""Instructions in front of an address: a call, where a return address may be, or none.

Sources: Intel's Software Developer's Manual, volume 2, CALL and its ModR/M forms; Arm's Architecture Reference Manual,
BL, BLR, BLRAA and their like.
"""

from collections.abc import Callable, Mapping

from perf2x.binary.elf.file import ElfObject
from perf2x.tables.errors import ObjectError

LONGEST_CALL = 7
"""Bytes of the longest call without prefixes on x86."""
_CALL_REL32, _GROUP_5 = 0xE8, 0xFF
_INDIRECT_SIZES = (2, 3, 4, 6, 7)


def may_return_to(elf: ElfObject, svma: int) -> bool:
    """Return whether a call may end at an address; True where that cannot be told, as in a file without its code.

    On x86 instructions cannot be read backwards, so bytes that look like a call are taken for one.
    """
    ends_with_call = _BY_MACHINE.get(elf.machine)
    if ends_with_call is None:
        return True
    try:
        before = _bytes_before(elf, svma)
    except ObjectError:
        return True
    return not any(before) or ends_with_call(before)


def _bytes_before(elf: ElfObject, svma: int) -> bytes:
    """Up to LONGEST_CALL bytes in front of an address; b"" where the file has none."""
    for segment in elf.segments:
        end = segment.address + segment.file_size
        if segment.type == "PT_LOAD" and segment.address < svma <= end:
            size = min(LONGEST_CALL, svma - segment.address)
            return elf.read(segment.offset + svma - segment.address - size, size)
    return b""


def _is_x86_call(before: bytes) -> bool:
    if len(before) >= 5 and before[-5] == _CALL_REL32:
        return True
    return any(
        len(before) >= size and before[-size] == _GROUP_5 and before[1 - size] >> 3 & 7 == 2 for size in _INDIRECT_SIZES
    )


def _is_arm64_call(before: bytes) -> bool:
    word = int.from_bytes(before[-4:], "little")
    is_blr = word & 0xFFFFFC1F == 0xD63F0000
    return word >> 26 == 0b100101 or is_blr or word & 0xFEFFF800 == 0xD63F0800


_BY_MACHINE: Mapping[str, Callable[[bytes], bool]] = {
    "EM_X86_64": _is_x86_call,
    "EM_386": _is_x86_call,
    "EM_AARCH64": _is_arm64_call,
}
