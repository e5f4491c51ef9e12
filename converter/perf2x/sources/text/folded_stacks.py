"""Folded stacks, outermost frame first: ``main;work;read_[k] 42``, of inferno, FlameGraph, bcc -f, py-spy …."""

import re
from operator import methodcaller

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import arange, as_int64, cumsum, offsets_of, repeat, zeros
from perf2x.sources.text.text_tables import TextFrame, TextReader, TextSamples

_MARKS = {"_[k]": CpuMode.KERNEL, "_[i]": CpuMode.UNKNOWN}
"""Suffixes of folded frames for kernel code and inlined functions. Other suffixes stay part of the name."""

_TWO_COUNTS = re.compile(rb"[ \t]\d+(?:\.\d*)?[ \t]+\d+(?:\.\d*)?[ \t]*$")
_NO_COMMENT = re.compile(rb"^[ \t]*[^#\s]", re.MULTILINE)


class Folded(TextReader):
    """Reads folded stacks; their first frame may be a thread name, which cannot be distinguished."""

    kind = "folded stacks"
    cuts = (b"\n",)
    _line = re.compile(rb"^([^#\n].*(?<=\S)|[^#\s])[ \t]+(\d{1,18})(?:\.\d*)?[ \t]*$", re.MULTILINE)

    def __init__(self) -> None:
        super().__init__(_folded_frame)

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Return whether most lines end in one count (two are a difference), and at least one has a caller."""
        stack_lines = [line for line in lines.split(b"\n") if line.strip() and not line.startswith(b"#")]
        found = [line for line in stack_lines if cls._line.match(line) and not _TWO_COUNTS.search(line)]
        return any(b";" in line for line in found) and 4 * len(found) >= 3 * len(stack_lines)

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of some complete lines."""
        found = self._line.findall(block)
        self.not_read += len(_NO_COMMENT.findall(block)) - len(found)
        if not found:
            return self.counted(zeros(0), zeros(0), ())
        stacks, counts = zip(*found, strict=True)
        lengths = np.fromiter(map(methodcaller("count", b";"), stacks), np.int64, len(stacks)) + 1
        frames = as_int64(self.stacks.lines(b";".join(stacks).split(b";")))
        ends = cumsum(lengths)
        innermost_first = repeat(ends + offsets_of(lengths)[:-1] - 1, lengths) - arange(len(frames))
        return self.counted(frames[innermost_first], lengths, counts)


def _folded_frame(text: bytes) -> TextFrame:
    name = text.decode("utf-8", "surrogateescape")
    mark = _MARKS.get(name[-4:])
    return TextFrame(name) if mark is None else TextFrame(name[:-4], mode=mark, inlined=name.endswith("_[i]"))
