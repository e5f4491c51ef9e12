"""Reads folded stacks, as printed by inferno, FlameGraph, bcc -f, py-spy and others.

A line is a stack, the outermost frame first, and its count: ``main;work;read_[k] 42``.
"""

import re
from operator import methodcaller

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import arange, as_int64, cumsum, offsets_of, repeat, zeros
from perf2x.sources.text.text_tables import TextFrame, TextReader, TextSamples

_SUFFIX_MODES = {"_[k]": CpuMode.KERNEL, "_[i]": CpuMode.UNKNOWN}
"""Kernel code, inlined functions; other suffixes are part of the name."""

# end of a line of difffolded.pl
_TWO_COUNTS = re.compile(rb"[ \t]\d+(?:\.\d*)?[ \t]+\d+(?:\.\d*)?[ \t]*$")
_NOT_COMMENT = re.compile(rb"^[ \t]*[^#\s]", re.MULTILINE)


class Folded(TextReader):
    """Some tools print the thread's name as the outermost frame; it is read as a function."""

    kind = "folded stacks"
    block_ends = (b"\n",)
    # the stack, and the integer part of its count
    _line = re.compile(rb"^([^#\n].*(?<=\S)|[^#\s])[ \t]+(\d{1,18})(?:\.\d*)?[ \t]*$", re.MULTILINE)

    def __init__(self) -> None:
        super().__init__(_folded_frame)

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Return whether three of four lines are stacks with one count, and one of the stacks has a caller.

        Blank lines and comments (``#``) are ignored. difffolded.pl prints two counts.
        """
        stack_lines = [line for line in lines.split(b"\n") if line.strip() and not line.startswith(b"#")]
        matching = [line for line in stack_lines if cls._line.match(line) and not _TWO_COUNTS.search(line)]
        return any(b";" in line for line in matching) and 4 * len(matching) >= 3 * len(stack_lines)

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of some complete lines, one for each distinct stack."""
        matches = self._line.findall(block)
        self.lines_not_read += len(_NOT_COMMENT.findall(block)) - len(matches)
        if not matches:
            return self.summed_samples(zeros(0), zeros(0), ())
        stacks, counts = zip(*matches, strict=True)
        lengths = np.fromiter(map(methodcaller("count", b";"), stacks), np.int64, len(stacks)) + 1
        # lines are frames here
        frames = as_int64(self.stacks.line_codes(b";".join(stacks).split(b";")))
        ends = cumsum(lengths)
        # of lengths [2, 3], rows [1, 0, 4, 3, 2]
        innermost_first = repeat(ends + offsets_of(lengths)[:-1] - 1, lengths) - arange(len(frames))
        return self.summed_samples(frames[innermost_first], lengths, counts)


def _folded_frame(text: bytes) -> TextFrame:
    name = text.decode("utf-8", "surrogateescape")
    mode = _SUFFIX_MODES.get(name[-4:])
    return TextFrame(name) if mode is None else TextFrame(name[:-4], mode=mode, is_inlined=name.endswith("_[i]"))
