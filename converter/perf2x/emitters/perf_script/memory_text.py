"""Words for memory accesses: ``68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A``.

Source of truth: tools/perf/builtin-script.c data_src__fprintf, util/mem-events.c perf_script__meminfo_scnprintf.
"""

import numpy as np

from perf2x.base.abi.data_source import level, operation, snoop, translation
from perf2x.base.columnar.arrays import U64, AnyArray
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.encoding.decimal_text import chunk_array

_MOST = 99


class MemoryText:
    """Each text is padded to the longest one so far."""

    def __init__(self) -> None:
        self._longest = 0

    def column(self, data_src: U64) -> AnyArray:
        """(n,) texts."""
        found, place = unique_inverse(data_src)
        texts = [_text(word) for word in found.tolist()]
        lengths = np.array([self._longest, *map(len, texts)], np.int64)
        widths = np.maximum.accumulate(np.append(self._longest, lengths[1:][place]))[1:]
        self._longest = int(widths[-1])
        rows = zip(place.tolist(), widths.tolist(), strict=True)
        return chunk_array([f"{texts[row]:<{width}}".encode() for row, width in rows])


def _text(word: int) -> str:
    lock = "N/A" if word >> 24 & 1 else "Yes" if word >> 24 & 2 else "No"
    block = word >> 40 & 7
    blocked = " N/A" if not block or block & 1 else " Data" * (block >> 1 & 1) + " Addr" * (block >> 2)
    where = level(word)
    where += " " * (where != "N/A" and not word >> 5 & 6)
    how = "|".join(("OP " + operation(word), "LVL " + where, "SNP " + snoop(word), "TLB " + translation(word),
                    "LCK " + lock, "BLK " + blocked))  # fmt: skip
    return f"{word:16x} |{how}"[:_MOST]
