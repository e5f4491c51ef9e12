"""The function index of ``.sframe``, a format that the kernel can unwind with.

Source of truth: binutils include/sframe.h, versions 1 to 3 of the format.
"""

import numpy as np

from perf2x.base.columnar.arrays import U64
from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import ElfObject

MAGIC = 0xDEE2
HEADER_SIZE = 28
_FROM_THE_FIELD = 0x4
"""Starts are relative to their own field (SFRAME_F_FDE_FUNC_START_PCREL), not to the section."""
_ROWS = {1: ("i4", 17), 2: ("i4", 20), 3: ("i8", 16)}
"""{version: (type of the start, bytes of a row)}; the function's size, 32 bits, follows the start."""


def sframe_ranges(elf: ElfObject) -> tuple[U64, U64] | None:
    """Return (n,) start and end of each function; None without the section, ObjectError when it cannot be read."""
    section = elf.section(".sframe")
    if section is None:
        return None
    data, order = elf.data(section), elf.byte_order
    if len(data) < HEADER_SIZE or int(np.frombuffer(data, order + "u2", 1)[0]) != MAGIC:
        raise ObjectError(f"{elf.name}, .sframe: no SFrame header")
    version, flags, more = data[2], data[3], data[7]
    if version not in _ROWS:
        raise ObjectError(f"{elf.name}, .sframe: version {version} is not known")
    if elf.type == "ET_REL":
        raise ObjectError(f"{elf.name}, .sframe: not linked yet, so it has no addresses")
    count, _, _, first, _ = np.frombuffer(data, order + "u4", 5, 8).tolist()
    code, step = _ROWS[version]
    at = HEADER_SIZE + more + first
    if at + count * step > len(data):
        raise ObjectError(f"{elf.name}, .sframe: {count} functions do not fit in its {len(data)} bytes")
    layout = np.dtype({"names": ["start", "size"], "formats": [order + code, order + "u4"],
                       "offsets": [0, int(code[1])], "itemsize": step})  # fmt: skip
    rows = np.frombuffer(data, layout, count, at)
    start = rows["start"].astype(np.int64).view(np.uint64) + np.uint64(section.address)
    if flags & _FROM_THE_FIELD or version == 3:
        start = start + np.arange(count).astype(np.uint64) * np.uint64(step) + np.uint64(at)
    return start, start + rows["size"].astype(np.uint64)
