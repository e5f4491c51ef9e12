"""Address ranges of units from ``.debug_aranges``: one table per unit, without reading the units themselves.

Source of truth: DWARF 5, section 6.1.2.
"""

import struct

import numpy as np

from perf2x.binaries.dwarf.debug_sections import DebugSections


def unit_ranges(sections: DebugSections) -> dict[int, list[tuple[int, int]]]:
    """Return {offset of a unit: [(first address, one past the last)]}, without damaged and empty tables.

    ::

        length, version 2, unit, address size, 0 | aligned to two addresses: (address, length) …, (0, 0)
    """
    data, order = sections.aranges, sections.file.byte_order
    found: dict[int, list[tuple[int, int]]] = {}
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(order + "I", data, at)
        wide = length == 0xFFFFFFFF
        if wide:
            (length,) = struct.unpack_from(order + "Q", data, at + 4)
        header = at + (12 if wide else 4)
        end = header + length
        if end > len(data) or length < 12:
            break
        version, unit, size = struct.unpack_from(f"{order}H{'Q' if wide else 'I'}B", data, header)
        first = at + -(-(header + (12 if wide else 8) - at) // (2 * size or 1)) * (2 * size)
        if version == 2 and size in (4, 8) and first < end:
            count = (end - first) // size
            pairs = np.frombuffer(data, f"{order}u{size}", count // 2 * 2, first).reshape(-1, 2)
            ranges = [(start, start + length) for start, length in pairs.tolist() if length]
            if ranges and unit < len(sections.info):  # larger offsets could be chosen to collide as keys
                found.setdefault(unit, []).extend(ranges)
        at = end
    return found
